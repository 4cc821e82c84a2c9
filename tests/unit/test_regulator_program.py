"""The regulator as the operator runs it: its options, and classes in YAML, handed on as JSON."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import pytest

from elevatorlab.agent.operations import classes
from elevatorlab.cli.classes_file import handed_over, read
from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import PROJECT
from helpers import cli
from regulator_program import (  # noqa: F401  (fixtures)
    SLAE,
    file,  # noqa: F401  (fixtures)
    program,
    refused,
)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ((), "the following arguments are required: --policy"),
        (("--policy", "slae"), "expected one of --sla-wait-ms, .* found none"),
        ((*SLAE, "--sla-queue", "2"), "found --sla-wait-ms and --sla-queue"),
        ((*SLAE, "--class", "db=fast"), "expected --class CLASS=SLA .* found 'db=fast'"),
        ((*SLAE, "--class", "=2"), "expected --class CLASS=SLA .* found '=2'"),
        (("--policy", "slae", "--sla-wait-ms", "0"), "expected a number above 0, found 0"),
        (("--policy", "pi"), "--policy pi judges one metric"),
        (("--policy", "ute-paper", "--options", '{"step": "huge"}'), "step is one of mild, sharp"),
        ((*SLAE, "--options", '{"loud": 1}'), "expected --options that the policy slae takes"),
        (("--policy", "ute", "--threshold", "75"), "between 0 and 1, found 75"),
        (("--policy", "ute", "--period-s", "0.001"), "expected 0.05 to 60 seconds"),
        (("--policy", "ute", "--cgroup", "/x", "--container", "y"), "not allowed with"),
    ],
)
def test_options_that_make_no_sense(program, options, sentence):
    assert re.search(sentence, refused(program, *options))


@contextlib.contextmanager
def commanding():
    """Start the command over a program that puts back on SIGTERM: yield the command, and its pid.

    The program goes on after that.
    """
    program = (
        "import os, signal, time\n"
        "def put_back(*_):\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "    print('back', flush=True)\n"
        "signal.signal(signal.SIGTERM, put_back)\n"
        "print(os.getpid(), flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    command = (
        "import sys; from elevatorlab.cli import main\n"
        "from elevatorlab.testbeds import agent_archive\n"
        f"agent_archive.operators_archive = lambda: {program.encode()!r}\n"
        "sys.argv[1:] = ['regulate']; main()"
    )
    run = [sys.executable, "-c", command]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        pid = int(process.stdout.readline())
        try:
            yield process, pid
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_second_signal_after_everything_was_put_back_is_no_failure():
    """A group of processes is signalled at once: the program, and the command that passes it on."""
    with commanding() as (process, pid):
        os.kill(pid, signal.SIGTERM)
        assert process.stdout.readline() == "back\n"
        process.terminate()
        assert process.wait(60) == 0


def test_a_command_that_is_killed_leaves_no_program_that_goes_on():
    with commanding() as (process, _):
        process.kill()
        assert process.stdout.readline() == "back\n"


DOCS = PROJECT / "docs/regulator.md"

DATABASE = {"sla": 2, "cgroups": ["system.slice/postgresql.service"], "devices": ["sdb"]}
BATCH = {"sla": "none", "cgroups": ["kubepods.slice/*"]}
PARSED = {"classes": {"database": DATABASE, "batch": BATCH}}


@pytest.mark.parametrize("form", ["{}", "--config={}"])
def test_the_agent_gets_a_copy_and_the_name_of_the_original(file, tmp_path, form):
    given = ["--config"] * (form == "{}") + [form.format(file)]
    arguments, copy = handed_over(["--policy", "slae", *given, "--once"], tmp_path)
    beginning, copied, name = arguments[:3], *arguments[3:]
    assert beginning == ["--policy", "slae", "--once"]
    assert (copied, name) == (f"--config={copy.copy}", f"--config-name={file}")
    assert json.loads(copy.copy.read_text()) == PARSED == read(file)


def test_the_files_in_the_docs_are_some_that_the_agent_takes(tmp_path):
    texts = re.findall(r"^```yaml\n(.*?)^```$", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    slas, patterns = [], []
    for text in texts:
        file = tmp_path / "regulator.yaml"
        file.write_text(text)
        _, copy = handed_over([f"--config={file}"], tmp_path)
        found = classes.read(copy.copy, str(file))
        slas.append(classes.slas_of(found))
        patterns.append(len(classes.patterns_of(found, [])))
    assert slas == [
        {"database": 2.0, "batch": None},
        {"batch": None},
        {"guaranteed": 2.0, "besteffort": None},
        {"database": 2.0, "backup": None},
    ]
    assert patterns == [3, 4, 6, 2]


@pytest.mark.parametrize("arguments", [["audit", "--json"], ["--config", "classes.json"]])
def test_what_is_no_yaml_is_passed_on(arguments, tmp_path):
    assert handed_over(arguments, tmp_path) == (arguments, None)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("classes:\n  a: {\n", "expected YAML in FILE; found in line 3: "),
        ("classes:\n  a: {}\n  b: {}\n  a: {}\n", "in line 4: a a second time"),
        ("classes:\n  2026-01-01: {}\n", "expected text, numbers, lists and mappings in FILE"),
        ("classes: &a\n  b: *a\n", "expected text, numbers, lists and mappings in FILE"),
        ("classes: \x00", "expected text, numbers, lists and mappings in FILE"),
        ("- !!python/object:os.system {}\n", "found in line 1: could not determine a constructor"),
    ],
)
def test_each_bad_file_gets_a_sentence(file, text, sentence):
    file.write_text(text)
    with pytest.raises(ElevatorLabError, match=sentence.replace("FILE", str(file))) as refusal:
        read(file)
    assert "\n" not in str(refusal.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ElevatorLabError, match="a file with classes; found .*: No such file"):
        read(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ElevatorLabError, match="expected text in .*binary.yaml; found"):
        read(tmp_path / "binary.yaml")


def test_a_bad_file_leaves_the_copy_as_it_was(file, tmp_path):
    _, copy = handed_over(["--config", str(file)], tmp_path)
    before = copy.copy.read_text()
    file.write_text("classes: [")
    with pytest.raises(ElevatorLabError):
        copy.renew()
    assert copy.copy.read_text() == before


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("classes: [", "expected YAML in FILE; found in line 1"),
        ("classes: {db: {slo: 5}}", "FILE: classes.db: expected sla, cgroups, devices; found slo"),
    ],
)
def test_the_command_names_the_operators_own_file(file, text, sentence):
    file.write_text(text)
    ended = cli("regulate", "--policy", "slae", "--sla-wait-ms", "5", "--config", str(file))
    assert ended.returncode == 2 and ended.stdout == ""
    assert ended.stderr.startswith("regulate: ") and ended.stderr.count("\n") == 1
    assert sentence.replace("FILE", str(file)) in ended.stderr
