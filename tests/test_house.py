"""Rules of the house that a reader relies on and that no other test would notice."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from elevatorlab.paths import PROJECT

AGENT = PROJECT / "lib/elevatorlab/agent"
GUEST = PROJECT / "environments/deterministic/guest.py"


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


def test_no_host_of_a_package_registry(committed):
    hosts = registry_hosts()
    assert hosts, "expected at least pip's default"
    assert {host: found for host in hosts if (found := holding(committed, host))} == {}


NOTEBOOKS = sorted((PROJECT / "notebooks").rglob("*.ipynb"))
EXPERIMENTS = [path for path in NOTEBOOKS if path.parent.name == "experiments"]


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
def test_an_experiment_has_parameters_and_no_outputs(path):
    cells = code_cells(path)
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", ())]
    assert len(tagged) == 1
    assert [code(cell) for cell in cells if cell["outputs"] or cell["execution_count"]] == []


def imports(file):
    """Yield (level, module) of every import in a file; level 0 is absolute."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


@pytest.mark.parametrize("file", [*sorted(AGENT.rglob("*.py")), GUEST], ids=name_of)
def test_what_travels_needs_the_standard_library_alone(file):
    own = {"agent"}  # the archive's own package
    depth = len(file.relative_to(AGENT).parts) if file != GUEST else 0
    for level, module in imports(file):
        assert level <= depth, f"{module} lies outside of the agent"
        if level == 0:
            assert module.split(".")[0] in sys.stdlib_module_names | own


def test_nobody_imports_the_agent():
    package = PROJECT / "lib/elevatorlab"
    others = [file for file in package.rglob("*.py") if not file.is_relative_to(AGENT)]
    assert [
        name_of(file)
        for file in others
        for _, module in imports(file)
        if re.search(r"(^|\.)agent(\.|$)", module)
    ] == []


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]


def test_the_lock_file_has_what_the_project_needs(project):
    lock = (PROJECT / "requirements.lock").read_text()
    locked = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE))
    locked = {canonicalize_name(name): version for name, version in locked.items()}
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
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
    assert str(python.specifier) == project["requires-python"]


def test_ruff():
    folders = ["lib", "tests", "environments", "benchmarks", "notebooks"]
    there = [folder for folder in folders if (PROJECT / folder).exists()]
    run = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", *there],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout
