"""Rules of the house that a reader relies on and that no other test would notice."""

import ast
import doctest
import functools
import graphlib
import importlib
import inspect
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from urllib.parse import urlsplit

import grimp
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import commit_message
import elevatorlab
from commit_message import problem
from elevatorlab.paths import PROJECT
from elevatorlab.plugins import studies

AGENT = PROJECT / "lib/elevatorlab/agent"
GUEST = PROJECT / "environments/deterministic"


@pytest.fixture(scope="module")
def committed():
    """Return the text of every file in git, and of those about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip(f"not a git checkout: {listed.stderr.strip()}")
    files = [PROJECT / name for name in listed.stdout.split("\0") if name]
    return {file: file.read_text(errors="replace") for file in files if file.is_file()}


def holding(committed, text):
    return [
        str(file.relative_to(PROJECT)) for file, content in committed.items() if text in content
    ]


@pytest.mark.programs("git")
def test_no_path_of_this_machine(committed):
    if len(PROJECT.parts) > 2:  # a folder right below the root has too common a name
        assert holding(committed, f"{PROJECT}") == []
    home = Path.home()
    if home != Path("/root"):  # which the guest has, too
        assert holding(committed, f"{home}/") == []


def registry_hosts():
    """Return the hosts from which this machine gets its packages."""
    sources = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    texts = [file.read_text() for file in sources if file.is_file()]
    pip = [sys.executable, "-m", "pip", "config", "list"]
    texts.append(subprocess.run(pip, capture_output=True, text=True).stdout)
    # Without any setting pip asks its own default.
    default = (
        "from pip._internal.models.index import PyPI as i; print(i.url, i.file_storage_domain)"
    )
    built_in = subprocess.run([sys.executable, "-c", default], capture_output=True, text=True)
    texts.append(built_in.stdout.replace(" ", " https://"))
    addresses = re.findall(r"https?://[^\s'\"\]]+", "\n".join(texts))
    return sorted({host for address in addresses if (host := urlsplit(address).hostname)})


@pytest.mark.programs("git")
def test_no_host_of_a_package_registry(committed):
    hosts = registry_hosts()
    assert hosts, "expected at least pip's default"
    assert {host: found for host in hosts if (found := holding(committed, host))} == {}


NOTEBOOKS = sorted((PROJECT / "notebooks").rglob("*.ipynb"))
EXPERIMENTS = [path for path in NOTEBOOKS if path.parent.name == "experiments"]
LECTURES = [path for path in NOTEBOOKS if "lectures" in path.parts]


def name_of(path):
    return str(path.relative_to(PROJECT))


def code_cells(path):
    cells = json.loads(path.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def code(cell):
    lines = "".join(cell["source"]).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))


def test_there_are_notebooks():
    assert EXPERIMENTS and len(NOTEBOOKS) > len(EXPERIMENTS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_no_notebook_defines_anything(path):
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    nodes = [node for cell in code_cells(path) for node in ast.walk(ast.parse(code(cell)))]
    assert [node.lineno for node in nodes if isinstance(node, definitions)] == []


@pytest.mark.parametrize("path", EXPERIMENTS, ids=name_of)
def test_an_experiment_has_parameters(path):
    tags = [cell["metadata"].get("tags", ()) for cell in code_cells(path)]
    assert sum("parameters" in some for some in tags) == 1


@pytest.mark.parametrize("path", [*EXPERIMENTS, *LECTURES], ids=name_of)
def test_what_readers_run_is_stored_without_outputs(path):
    cells = code_cells(path)
    assert [code(cell) for cell in cells if cell["outputs"] or cell["execution_count"]] == []


def texts(file):
    """Yield every text of a program that is no docstring, with its line."""
    tree = ast.parse(file.read_text())
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, holders))
    docstrings = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docstrings:
                yield node.lineno, node.value


#: Said where nobody knows how the reader will call it: of a trial, on a page, in another program.
FOR_ANYBODY = {
    "running/provenance.py": "elevatorlab run",
    "sharing/bundles/writing.py": "elevatorlab report",
    "showing/artifact.py": "elevatorlab run",
}


def test_a_printed_command_names_the_program_as_it_was_called():
    """By `paths.command`; a name in backticks is no command to copy."""
    library = PROJECT / "lib/elevatorlab"
    bare = re.compile(r"(?<!`)\belevatorlab (?!is )[a-z]")
    found = {
        f"{name}:{line}"
        for file in library.rglob("*.py")
        if (name := str(file.relative_to(library))).split("/")[0] != "agent"
        for line, text in texts(file)
        if bare.search(text.replace(FOR_ANYBODY.get(name, "\0"), ""))
    }
    assert found == set()


def imports(file):
    """Yield (level, module) of every import in a file; level 0 is absolute."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


@pytest.mark.parametrize(
    "file", [*sorted(AGENT.rglob("*.py")), *sorted(GUEST.glob("*.py"))], ids=name_of
)
def test_what_travels_needs_the_standard_library_alone(file):
    own = {"agent", "boot", "outer"}  # the archive's own package, and the guest's own modules
    depth = len(file.relative_to(AGENT).parts) if file.is_relative_to(AGENT) else 0
    for level, module in imports(file):
        assert level <= depth, f"{module} lies outside of the agent"
        if level == 0:
            assert module.split(".")[0] in sys.stdlib_module_names | own


@pytest.mark.parametrize("file", sorted(AGENT.rglob("*.py")), ids=name_of)
def test_the_agent_is_python_3_9(file):
    ast.parse(file.read_text(), feature_version=(3, 9))


def lint_imports(folder):
    """Hold a copy of the project to the contracts of its pyproject.toml; return the report."""
    program = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [program, "--no-cache", "--config", "pyproject.toml"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "lib")},
        capture_output=True,
        text=True,
    )
    plain = re.sub(r"\x1b\[\d*m", "", run.stdout)  # some versions colour what no terminal shows
    return " ".join(plain.split()), run.returncode


GROUND_PLAN = (PROJECT / "CONTRIBUTING.md").read_text().partition("\n## To add")[0]


def test_the_rooms_are_told_as_they_lie():
    """CONTRIBUTING.md has each room of the contract, from the top down."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [layer.split(" : ") for layer in contracts["contracts"][0]["layers"]]
    place = {room: place for place, rooms in enumerate(layers) for room in rooms}
    page = GROUND_PLAN.partition("| room, top first |")[2].partition("\n\n")[0]
    told = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)))
    assert sorted([*told, "agent"]) == sorted(place)
    assert [place[room] for room in told] == sorted(place[room] for room in told)


def test_the_ground_plan_names_what_is_there():
    """Each file that a row of CONTRIBUTING.md names lies in the row's room, or where it says."""
    lib = PROJECT / "lib"
    for rooms, said in re.findall(r"^\| (`.*?) \| (.*) \|$", GROUND_PLAN, re.MULTILINE):
        places = [lib, lib / "elevatorlab"]
        for room in re.findall(r"`(\w+)`", rooms):
            places += [place for place in lib.glob(f"elevatorlab/**/{room}/**") if place.is_dir()]
        for name in re.findall(r"`([\w/]+)`", said):
            found = [place for place in places if [*place.glob(f"{name}.py"), *place.glob(name)]]
            assert found, f"{rooms}: {name}"


def test_an_import_that_points_up_is_found(tmp_path):
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    package = shutil.copytree(PROJECT / "lib/elevatorlab", tmp_path / "lib/elevatorlab")
    (package / "analysis/upward.py").write_text("def late():\n    from ..trial import Trial\n")
    (package / "running/shipped.py").write_text("from .. import agent\n")
    (package / "showing/by_name.py").write_text("from ..studies import iozone_ranking\n")
    (package / "agent/needy.py").write_text("from ..errors import ElevatorLabError\n")
    (package / "agent/groups/early.py").write_text("from ..operations import audit\n")
    (package / "studies/there.py").write_text("from ..testbeds import base\n")
    (package / "running/here.py").write_text("from ..testbeds import docker\n")
    (package / "attic.py").write_text("")
    report, status = lint_imports(tmp_path)
    assert status == 1
    for found in (
        "elevatorlab.analysis.upward -> elevatorlab.trial",
        "elevatorlab.running.shipped -> elevatorlab.agent",
        "elevatorlab.showing.by_name -> elevatorlab.studies.iozone_ranking",
        "elevatorlab.agent.needy -> elevatorlab.errors",
        "elevatorlab.agent.groups.early -> elevatorlab.agent.operations",
        "elevatorlab.studies.there -> elevatorlab.testbeds.base",
        "elevatorlab.running.here -> elevatorlab.testbeds.docker",
        "not listed as layers: - elevatorlab.attic",
    ):
        assert found in report


def imported_files(package):
    """Return the modules that each module imports, wherever it does: in a function, for types."""
    graph = grimp.build_graph(package, cache_dir=None)
    return {
        name: {
            outer
            for found in graph.find_modules_directly_imported_by(name)
            # A package that is entered from outside runs its own file first.
            for outer in itertools.accumulate(found.split("."), "{}.{}".format)
            if not f"{name}.".startswith(f"{outer}.")
        }
        for name in graph.modules
    }


def test_no_circle_of_files():
    graph = imported_files("elevatorlab")
    assert sum(map(len, graph.values())) > 1000
    graphlib.TopologicalSorter(graph).prepare()  # a CycleError names the circle


def test_a_circle_of_files_is_found(tmp_path, monkeypatch):
    (tmp_path / "round/inner").mkdir(parents=True)
    (tmp_path / "round/__init__.py").write_text("")
    (tmp_path / "round/one.py").write_text("def late():\n    from .inner import two\n")
    (tmp_path / "round/inner/__init__.py").write_text("from ..one import late\n")
    (tmp_path / "round/inner/two.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(graphlib.CycleError, match=r"round\.one.*round\.inner'"):
        graphlib.TopologicalSorter(imported_files("round")).prepare()


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]


def test_the_lock_file_has_what_the_project_needs(project):
    lock = (PROJECT / "requirements.lock").read_text()
    locked = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE))
    locked = {canonicalize_name(name): version for name, version in locked.items()}
    extras = {**project["optional-dependencies"], "all": ()}.values()
    wanted = [*project["dependencies"], *itertools.chain(*extras)]
    for requirement in map(Requirement, wanted):
        assert locked[canonicalize_name(requirement.name)] in requirement.specifier
    entries = re.findall(r"^[A-Za-z0-9].*?(?=^[A-Za-z0-9]|\Z)", lock, re.MULTILINE | re.DOTALL)
    assert len(entries) == len(re.findall(r"^[A-Za-z0-9]", lock, re.MULTILINE))
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_conda_agrees(project):
    content = yaml.safe_load((PROJECT / "environment.yml").read_text())
    *plain, pip = content["dependencies"]
    assert pip == {"pip": ["-r requirements.lock"]}
    python = next(Requirement(line) for line in plain if line.startswith("python"))
    said = [re.fullmatch(r"Programming .*:: 3\.(\d+)", one) for one in project["classifiers"]]
    minors = sorted(int(one[1]) for one in said if one)
    assert python.specifier == SpecifierSet(f">=3.{minors[0]},<3.{minors[-1] + 1}")
    assert project["requires-python"] == f">=3.{minors[0]}"


@pytest.mark.parametrize(
    ("file", "commands"),
    [
        (".github/workflows/ci.yml", ["check", "test", "test-real", "test-release"]),
        (".ci/run", ["test", "test-real"]),
    ],
)
def test_ci_runs_the_makefiles_commands_and_nothing_else(file, commands):
    said = (PROJECT / file).read_text()
    targets = re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    assert re.findall(r"^[^#\n]*\bmake ([a-z-]+)", said, re.MULTILINE) == commands
    assert set(commands) <= set(targets)
    assert re.findall(r"^[^#\n]*\b(apt-get|pip|docker|virsh|environments/\S+)", said, re.M) == []


#: What tests of a folder must not need.
BEYOND = {"machine": {"docker", "root", "ssh", "vagrant"}}
BEYOND["unit"] = BEYOND["machine"] | {"browser", "image"}


@pytest.mark.parametrize("tier", BEYOND)
def test_a_tier_needs_no_more_than_its_folder_says(tier):
    files = sorted((PROJECT / "tests" / tier).glob("*.py"))
    marks = {
        (file.name, found)
        for file in files
        for found in re.findall(r"\bmark\.(\w+)", file.read_text())
    }
    assert len(files) > 30 and {one for one in marks if one[1] in BEYOND[tier]} == set()


PARTS = {"claims", "columns", "document", "figures", "measures", "published", "tables", "trials"}


@pytest.mark.parametrize("study", studies.STUDIES.names())
def test_a_study_has_the_parts_that_every_study_has(study):
    folder = PROJECT / "lib/elevatorlab/studies" / study
    parts = {one.stem for one in folder.iterdir() if not one.name.startswith("__")}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    entries = [one for group in project["entry-points"].values() for one in group.values()]
    registered = {name for name in parts if f"{study}.{name}:" in " ".join(entries)}
    # A large part has a second file, such as `figures_regulation` beside `figures`.
    further = {name for name in parts - registered - PARTS if name.split("_")[0] in PARTS & parts}
    assert parts - registered - further - {"beside_disk"} == PARTS
    assert len([*folder.glob("*.py")]) <= 12
    said = (PROJECT / "CONTRIBUTING.md").read_text()
    assert [name for name in PARTS if f"`{name}`" not in said] == []


MAKEFILE = (PROJECT / "Makefile").read_text()
LINTED = re.search(r"^LINTED +:= (.*)$", MAKEFILE, re.MULTILINE)[1].split()

#: The tools of `make check`, with their arguments.
TOOLS = [
    line.replace("$(LINTED)", " ".join(LINTED)).split()
    for line in re.findall(r"^\t\$\(BIN\)/((?:ruff|mypy)\b.*)$", MAKEFILE, re.MULTILINE)
]


def test_git_asks_the_same_tools_before_a_commit():
    assert {tool[0] for tool in TOOLS} == {"ruff", "mypy"} and len(TOOLS) == 4
    (local,) = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())["repos"]
    files = {hook["id"]: hook.get("files") for hook in local["hooks"]}
    assert files["ruff-format"] == f"^({'|'.join(LINTED)})/"
    assert files["ruff-check"] == f"^({'|'.join([*LINTED, 'notebooks'])})/"


#: The extras that may be installed where the files of a folder run.
EXTRAS = {
    "lib": {"remote", "cluster", "notebooks", "docs"},  # docs: of commands for a checkout alone
    "tests": {"remote", "cluster", "notebooks", "docs", "test"},
    "docs": {"docs"},
    "benchmarks": {"remote", "cluster", "test"},
    "environments": set(),
}

#: What the agent's archive calls the agent, in which files beside it run.
OF_THE_ARCHIVE = "agent"


def imported(source):
    """Return the top-level modules that a file imports by their whole names."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"elevatorlab", OF_THE_ARCHIVE}


def declared(extras):
    """Return the names of the packages that the project and these of its extras declare."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return {canonicalize_name(Requirement(one).name) for one in wanted}


#: The packages that bring each module. It reads the metadata of all packages, which takes seconds.
distributions = functools.cache(packages_distributions)


def undeclared(modules, extras):
    """Return those of some modules that no declared package brings."""
    known, bringing = declared(extras), distributions()
    return {
        module
        for module in modules
        if not known & {canonicalize_name(name) for name in bringing.get(module, [module])}
    }


@pytest.mark.parametrize("folder", EXTRAS)
def test_each_import_is_declared(folder):
    files = sorted((PROJECT / folder).rglob("*.py"))
    assert files
    ours = {file.stem for place in EXTRAS for file in (PROJECT / place).rglob("*.py")}
    ours |= {file.parent.name for file in (PROJECT / "benchmarks").rglob("*.py")}
    found = {
        str(file.relative_to(PROJECT)): names
        for file in files
        if (names := undeclared(imported(file.read_text()) - ours, EXTRAS[folder]))
    }
    assert found == {}


def test_a_package_that_only_comes_along_is_found():
    source = "import os, numpy.linalg\nfrom PIL import Image\nfrom . import here\nimport pytest"
    assert imported(source) == {"numpy", "PIL", "pytest"}
    assert undeclared(imported(source), set()) == {"pytest"}
    assert undeclared({"cycler", "kiwisolver"}, {"test"}) == {"cycler", "kiwisolver"}


BODY = "\n\nIt was missing.\n"

GOOD = [
    "Add the sampler" + BODY,
    "x" * 72 + BODY,
    "Merge branch 'other'\n",
    "\n# all of it is a comment\n",
    "Add the sampler" + BODY + "# a comment\n" + commit_message.SCISSORS + "\ndiff --git a b\n",
]

WRONG = {
    "x" * 73 + BODY: "subject: expected at most 72 letters; found 73. Say the rest in the body",
    "Add it\n\n# a comment\n": "body: expected one that says why; found none",
    f"Add it\n{commit_message.SCISSORS}\ndiff\n": "body: expected one that says why; found none",
    "Add it\nand more\n\nWhy.\n": "line 2: expected an empty line below the subject; found",
}


@pytest.mark.parametrize("message", GOOD)
def test_a_good_message_passes(message):
    assert problem(message) == ""


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_message_is_refused_in_one_sentence(message):
    assert problem(message).startswith(WRONG[message])


def test_the_hook_is_git_s_and_its_status_says_no(tmp_path):
    config = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())
    (hook,) = [one for one in config["repos"][0]["hooks"] if one["id"] == "commit-message"]
    program = hook["entry"].split()[-1]
    assert hook["stages"] == ["commit-msg"] and (PROJECT / program).exists()
    for message, status in ((GOOD[0], 0), ("Add it\n", 1)):
        (tmp_path / "message").write_text(message)
        command = [sys.executable, PROJECT / program, tmp_path / "message"]
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.returncode, run.stderr.count("\n")) == (status, status)


def test_the_public_interface_names_each_once():
    assert len(set(elevatorlab.__all__)) == len(elevatorlab.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = elevatorlab.no_such_name


def with_examples():
    """Return the names of the modules whose docstrings have examples."""
    library = PROJECT / "lib"
    files = (file for file in library.rglob("*.py") if ">>> " in file.read_text())
    return sorted(".".join(file.relative_to(library).with_suffix("").parts) for file in files)


@pytest.mark.parametrize("name", elevatorlab.__all__)
def test_a_public_name_has_an_example(name):
    (found,) = doctest.DocTestFinder(recurse=False).find(getattr(elevatorlab, name), name)
    assert found.examples


@pytest.mark.parametrize("module", with_examples())
def test_the_examples_of_a_module_are_true(module):
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    assert doctest.testmod(importlib.import_module(module), optionflags=flags).failed == 0


@pytest.mark.parametrize("name", elevatorlab.__all__)
def test_a_public_name_says_what_it_takes(name):
    said = inspect.getdoc(getattr(elevatorlab, name)) or ""
    assert said
    if inspect.isfunction(found := getattr(elevatorlab, name)):
        taken = inspect.signature(found).parameters
        table = said.partition("Parameters\n----------\n")[2]
        named = {
            one.strip("* ") for line in table.splitlines() for one in line.split(":")[0].split(",")
        }
        assert set(taken) <= named, f"{name}: {sorted(set(taken) - named)} not described"
