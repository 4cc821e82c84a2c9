"""Classes in YAML: read by the command, handed to the agent as JSON."""

import contextlib
import json
import re
import signal
import subprocess

import pytest

from elevatorlab.agent.regulator import classes
from elevatorlab.cli.classes_file import handed_over, read
from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import PROJECT
from helpers import cli, start_cli, wait_until
from regulator_host import blkio_cgroup, loop_devices, needs_blkio

DOCS = PROJECT / "docs/regulator.md"
GOOD = """\
classes:
  database:
    sla: 2
    cgroups: [system.slice/postgresql.service]
    devices: [sdb]
  batch:
    sla: none
    cgroups: ["kubepods.slice/*"]
"""
PARSED = {
    "classes": {
        "database": {
            "sla": 2,
            "cgroups": ["system.slice/postgresql.service"],
            "devices": ["sdb"],
        },
        "batch": {"sla": "none", "cgroups": ["kubepods.slice/*"]},
    }
}


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "regulator.yaml"
    file.write_text(GOOD)
    return file


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


def lines(log, event):
    found = log.read_text().splitlines() if log.exists() else []
    return [line for line in map(json.loads, found) if line["event"] == event]


@contextlib.contextmanager
def regulating(file, log, *options):
    """Run the command over a file's classes; it is ended in the end."""
    process = start_cli("regulate", "--config", file, "--log", log, *options)
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.stdout.close()
        process.stderr.close()


@needs_blkio
def test_yaml_is_read_again_when_the_command_gets_sighup(tmp_path):
    file, log = tmp_path / "regulator.yaml", tmp_path / "log.jsonl"
    options = (
        "--policy=slae",
        "--sla-wait-ms=5",
        "--period-s=0.2",
        f"--state={tmp_path / 'state'}",
    )
    with loop_devices(1) as [loop], blkio_cgroup("pods") as above:
        text = f"classes:\n  pods:\n    cgroups: [{above.name}]\n    devices: [{loop}]\n    sla: "
        file.write_text(f"{text}4\n")
        with regulating(file, log, *options) as process:
            wait_until(lambda: lines(log, "container"))
            file.write_text("classes: [")
            process.send_signal(signal.SIGHUP)
            sentence = process.stderr.readline()
            for sla in ("soon", 3):
                file.write_text(f"{text}{sla}\n")
                before = len(lines(log, "reload"))
                process.send_signal(signal.SIGHUP)
                wait_until(lambda before=before: len(lines(log, "reload")) > before)
            process.terminate()
            assert process.wait(60) == 0
    assert sentence.startswith(f"regulate: expected YAML in {file}; found in line 1: ")
    assert sentence.endswith("; what was read before stays in force\n")
    assert lines(log, "start")[0]["law"]["slas"] == {"": 5.0, "pods": 4.0}
    refused, taken = lines(log, "reload")
    assert refused["refused"].startswith(f"{file}: classes.pods.sla: expected a number above 0")
    assert taken["law"]["slas"] == {"": 5.0, "pods": 3.0}
    assert len(lines(log, "container")) == 1 == len(lines(log, "stop"))
