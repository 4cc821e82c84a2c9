"""The command line: exit status, one sentence for what went wrong, and what it prints."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from elevatorlab import cache, extras, notebook, paths, testbeds
from elevatorlab.cli.commands import app, main
from elevatorlab.results import references
from elevatorlab.showing import report
from elevatorlab.testbeds.deterministic import image
from helpers import cli, cli_without

STUDY = "vm_vs_container"

KEYS = {
    *("id", "study", "source", "quantity", "published"),
    *("unit", "testbed", "measured", "verdict", "reason"),
}

WRONG = {
    "unknown study": (["run", "cfq"], "study: expected one of container_isolation, innodb_commit"),
    "unknown preset": (
        ["run", STUDY, "--preset", "huge"],
        "preset: expected one of smoke, quick, paper, full; found 'huge'",
    ),
    "unknown parameter": (["run", STUDY, "-p", "arm=host"], "has no parameter 'arm'; expected one"),
    "ill-typed parameter": (
        ["run", STUDY, "-p", "repetitions=many"],
        "repetitions: Input should be a valid integer",
    ),
    "not in the list": (["run", STUDY, "-p", "tests=third"], "tests.0: Input should be"),
    "no value": (["run", STUDY, "-p", "arms"], "-p: expected NAME=VALUE; found 'arms'"),
    "one unknown testbed of two": (
        ["run", STUDY, "--testbed", "host,moon"],
        "testbed: expected one of",
    ),
    "the same testbed twice": (
        ["run", STUDY, "--testbed", "host,host", "--dry-run"],
        "testbed: expected each once; found 'host' twice",
    ),
    "no trial": (
        ["run", STUDY, "-p", "schedulers=[]", "--dry-run"],
        "expected at least one trial; found none with these parameters",
    ),
    "too many trials": (
        ["run", STUDY, "-p", "repetitions=10000000", "--dry-run"],
        "repetitions: Input should be less than or equal to 1000",
    ),
    "a file for results": (["claims", "--results", __file__], f"{__file__} is a file"),
    "trials of another testbed": (
        ["run", STUDY, "--testbed", "host", "-p", "arms=container", "--preset", "smoke"],
        "belong on another testbed than host",
    ),
    "no folder of a scheduler": (
        ["run", "stream_batching", "--scheduler", "/no/such", "--dry-run"],
        "expected the folder of a scheduler",
    ),
    "cleaning what is away": (
        ["clean", "--testbed", "ssh://root@127.0.0.1:1"],
        "root@127.0.0.1:1 cannot be reached",
    ),
    **{
        f"{command} of nothing": ([command, "--results", "/no/such"], "expected /no/such to exist")
        for command in ("results", "claims", "report", "bundle")
    },
}


@pytest.fixture
def cli_here(monkeypatch, capfd):
    """Run the command in this process, which has imported what it needs; return how it ended."""
    kept = signal.getsignal(signal.SIGTERM)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["elevatorlab", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        return SimpleNamespace(returncode=ended.value.code, stdout=said.out, stderr=said.err)

    yield run
    signal.signal(signal.SIGTERM, kept)


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(case, cli_here):
    arguments, sentence = WRONG[case]
    run = cli_here(*arguments)
    assert run.returncode == 1
    assert sentence in run.stderr
    assert run.stderr.startswith("elevatorlab: ")
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""


def test_a_shell_is_told_the_same():
    arguments, sentence = WRONG["no value"]
    run = cli(*arguments)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"elevatorlab: {sentence}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["run", STUDY, "--nope"],
        ["run"],
        ["verify", "--sample", "0"],
        ["verify", "b.zip", "--sample", "0", "--image", "a.tar.xz"],
    ],
)
def test_wrong_usage(arguments, cli_here):
    run = cli_here(*arguments)
    assert run.returncode == 2
    assert "Usage: elevatorlab" in run.stderr and "Traceback" not in run.stderr


def test_claims_of_the_published_data_alone():
    run = cli("claims", STUDY, "--results", "published", "--json")
    assert run.returncode == 0, run.stderr
    claims = json.loads(run.stdout)
    assert len(claims) > 100
    assert [claim["id"] for claim in claims if not set(claim) >= KEYS] == []
    assert [claim["id"] for claim in claims if not claim["verdict"]] == []
    assert {claim["study"] for claim in claims} == {STUDY}


@pytest.mark.parametrize("command", ["claims", "report", "results"])
def test_what_only_reads_takes_the_reference(command, monkeypatch, tmp_path, error_of):
    monkeypatch.setattr(references, "FOLDER", tmp_path)
    # A report that is there as it would be written is not written again, whoever wrote it.
    monkeypatch.setattr(report, "NAMED_REPORTS", {"reference": tmp_path / "report"})
    said = error_of(app, [command], standalone_mode=False)
    assert f"expected {tmp_path / STUDY}.csv" in said and "'published'" in said


def test_doctor():
    run = cli("doctor", "--json")
    findings = json.loads(run.stdout)
    assert {"QEMU", "image", "memory"} <= {finding["what"] for finding in findings}
    for finding in findings:
        assert {"testbed", "what", "sentence", "found", "ready", "remedy", "needed"} < set(finding)
        assert finding["ready"] or finding["remedy"] or "expected" in finding["found"]
    default = [finding for finding in findings if finding["testbed"] == "deterministic"]
    ready = all(finding["ready"] for finding in default if finding["needed"])
    assert run.returncode == (0 if ready else 1)
    shown = cli("doctor").stdout
    assert [one["what"] for one in findings if one["what"] not in shown] == []
    assert [one["testbed"] for one in findings if one["testbed"] not in shown] == []


def test_the_doctor_of_a_notebook_tells_each_testbed_and_all_that_it_lacks():
    names = testbeds.names()
    found = [one for name in names for one in testbeds.findings(name)]
    lacking = {(one.testbed, one.what) for one in found if not one.ready}
    rows = notebook.doctor().itertuples()
    told = {(row.testbed, what) for row in rows for what in row.lacks.split(", ")}
    complete = set(names) - {name for name, _ in lacking}
    assert told == lacking | {(name, "") for name in complete}


def test_doctor_tells_two_machines_of_a_kind_apart():
    addresses = ["ssh://root@127.0.0.1:1", "ssh://root@127.0.0.1:2"]
    run = cli("doctor", "--testbed", ", ".join(addresses), "--json")
    findings = {finding["testbed"]: finding for finding in json.loads(run.stdout)}
    assert run.returncode == 1 and findings.keys() == set(addresses)
    for address, port in zip(addresses, (1, 2), strict=True):
        assert f"127.0.0.1:{port} cannot be reached" in findings[address]["found"]
    shown = cli("doctor", "--testbed", ",".join(addresses)).stdout
    assert [address for address in addresses if address not in shown] == []


#: What takes long to import, and what an extra brings.
LARGE = {"numpy", "pandas", "scipy", "matplotlib", "seaborn", "pandera", "rocrate"}
LARGE |= {"distributed", "docker", "fabric", "invoke", "paramiko", "IPython", "rich"}
LARGE |= {"dask", "jupyterlab", "ipykernel", "papermill", "pytest"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]])
def test_what_a_command_says_of_itself_needs_no_library(arguments):
    """It answers at once: benchmarks/answer_times.py says how soon."""
    run = cli_without(LARGE, *arguments)
    assert run.returncode == 0, run.stderr


def test_verdicts_that_are_kept_need_no_library_either():
    command = "claims", STUDY, "--results", "published"
    assert cli(*command).stdout == cli_without(LARGE, *command).stdout != ""


@pytest.mark.parametrize("group", [[], ["scheduler"], ["drive"], ["image"], ["cache"]])
def test_the_help_breaks_no_summary_off(group):
    _, commands = cli(*group, "--help").stdout.split("Commands:")
    assert "..." not in commands


@pytest.mark.parametrize("code", ["import elevatorlab.cli.commands", "import elevatorlab.notebook"])
def test_dask_is_imported_where_it_is_used(code):
    """It takes half a second, which `--help` and a notebook that only reads do not spend."""
    command = [sys.executable, "-c", f"{code}; import sys; print('distributed' in sys.modules)"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "False\n"


def test_what_starts_a_campaign_is_imported_in_no_time():
    """Dask's workers import it as their main module, each of them."""
    code = (
        "import elevatorlab.cli, sys; print([n for n in ('pandas', 'typer') if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "[]\n"


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "elevatorlab", "--version"]
    assert "elevatorlab" in subprocess.run(command, capture_output=True, text=True).stdout


RUN = ("run", "vm_vs_container", "--preset", "smoke", "--results")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ((*RUN, "/proc/nope"), "results folder: expected /proc/nope/deterministic to be a folder"),
        ((*RUN, "FILE"), "results folder: expected a folder; FILE is a file. Name another"),
        (("tiles", "FILE"), "tiles: expected FILE to be a folder, or a place for a new one"),
        (("schemas", "--out", "FILE"), "schemas: expected FILE to be a folder"),
        (("agent", "FILE/agent.pyz"), "agent: expected FILE/agent.pyz to be a file that can be"),
        (("verify", "FILE.zip"), "FILE.zip: expected a file that can be read; found: No such file"),
        (("verify", "--image", "FILE.xz"), "image FILE.xz: expected a file that can be read"),
        (("verify", "--image", "FILE"), "image FILE: expected a whole file that `elevatorlab"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_path_that_cannot_be_used(command, said, tmp_path, error_of, capsys):
    file = tmp_path / "file"
    file.touch()
    given = [argument.replace("FILE", str(file)) for argument in command]
    assert said.replace("FILE", str(file)) in error_of(app, given, standalone_mode=False)
    if "FILE" in command:
        assert "trials to run" not in capsys.readouterr().out


def test_a_build_folder_that_is_a_file(tmp_path, monkeypatch, error_of):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(image, "BUILD", file)
    said = error_of(app, ["image", "build"], standalone_mode=False)
    assert f"build folder: expected {file} to be a folder" in said


def test_a_cache_that_is_a_file(tmp_path, monkeypatch, error_of):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(cache, "ROOT", file)
    said = error_of(app, ["cache"], standalone_mode=False)
    assert f"cache: expected a folder; {file} is a file" in said
    said = error_of(cache.obtain, "image", "0" * 64, lambda folder: None)
    assert f"cache: expected {file}/image to be a folder" in said


def test_what_is_missing_is_said_with_one_remedy(tmp_path, monkeypatch, testbed):
    monkeypatch.setattr(image, "FOLDER", tmp_path)
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    image.digest.cache_clear()
    findings = {one.what: one for one in testbed.findings()}
    image.digest.cache_clear()
    assert "image build" in findings["image"].remedy
    assert "image build" not in findings["image"].found
    assert "image build" in findings["QEMU"].remedy
    assert "image build" not in findings["QEMU"].found


#: What a `pip install elevatorlab` without extras does not bring.
REMOTE = ("docker", "fabric", "invoke", "paramiko", "tenacity")


@pytest.mark.parametrize(
    ("module", "extra"),
    [("fabric.connection", "remote"), ("distributed", "cluster"), ("IPython", "notebooks")],
)
def test_the_extra_of_a_module_is_named(module, extra):
    said = str(extras.missing(ModuleNotFoundError("no", name=module)))
    assert said.startswith(f"expected the extra `{extra}`, which brings {module.split('.')[0]}; ")
    assert said.endswith(f"Install it: pip install 'elevatorlab[{extra}]'")


def test_what_no_extra_brings_is_not_blamed_on_one():
    assert extras.missing(ModuleNotFoundError("no", name="somebody")) is None
    assert extras.missing(ModuleNotFoundError("no", name="pytest")) is None
    assert extras.missing(ValueError("no")) is None


@pytest.mark.parametrize("testbed", ["host", "docker", "ssh://root@127.0.0.1:1"])
def test_a_testbed_without_its_extra_says_so_in_one_sentence(testbed):
    run = cli_without(REMOTE, "run", STUDY, "--testbed", testbed, "--dry-run")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "expected the extra `remote`" in run.stderr


def test_a_terminal_without_unicode_gets_letters_that_it_has():
    plain = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    for command in (["claims", STUDY], ["doctor"]):
        run = cli(*command, env=plain)
        assert run.stdout.isascii() and "Traceback" not in run.stderr
    assert "Größe" not in (said := cli("claims", "Größe×2", env=plain).stderr)
    assert "'Groessex2'" in said or "'Grossex2'" in said


def test_the_doctor_cuts_nothing():
    wide = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    found = json.loads(cli("doctor", "--testbed", "host", "--json").stdout)

    def solid(text):
        """Return a text without what folding adds, and without figures, which change."""
        return re.sub(r"[\s\d]", "", text)

    for environment in (wide, {**wide, "COLUMNS": "80"}):
        shown = cli("doctor", "--testbed", "host", env=environment).stdout
        assert "…" not in shown
        cells = [[cell.strip() for cell in row.split("│")] for row in shown.splitlines()]
        for column, name in ((2, "what"), (4, "found"), (6, "remedy")):
            told = solid("".join(row[column] for row in cells if len(row) > column))
            assert [one[name] for one in found if solid(one[name]) not in told] == []
    lines = cli("doctor", env=wide).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    told = solid("".join(lines))
    missing = [one["remedy"] for one in found if not one["ready"]]
    assert [remedy for remedy in missing if solid(remedy) not in told] == []


@pytest.mark.parametrize("wrong", [["claims", "cfq"], ["claims", "--no-such-option"]])
def test_who_asks_for_json_gets_it_also_where_it_fails(wrong):
    run = cli(*wrong, "--json")
    assert run.returncode != 0 and run.stderr
    assert json.loads(run.stdout)["error"] in run.stderr


def test_a_printed_command_can_be_pasted(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/home/ada/my lab/.venv/bin/elevatorlab"])
    assert shlex.split(paths.command("claims")) == [sys.argv[0], "claims"]


def test_the_doctor_shows_a_missing_extra():
    run = cli_without(REMOTE, "doctor", "--testbed", "host,docker", "--json")
    findings = json.loads(run.stdout)
    assert run.returncode == 1
    assert [(one["testbed"], one["what"]) for one in findings] == [
        ("host", "extra remote"),
        ("docker", "extra remote"),
    ]
    assert {one["remedy"] for one in findings} == {"Install it: pip install 'elevatorlab[remote]'"}
