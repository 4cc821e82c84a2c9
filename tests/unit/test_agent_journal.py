"""The journal: whatever happens, changes are taken back, the last one first."""

import json
import re
import subprocess
import sys

import pytest

from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.lifecycle.journal import Journal, sole_trial
from elevatorlab.agent.lifecycle.recovery import recover
from elevatorlab.paths import PROJECT
from helpers import ended

LIB = PROJECT / "lib/elevatorlab"


@pytest.fixture
def knob(tmp_path):
    (tmp_path / "knob").write_text("new\n")
    return tmp_path / "knob"


def test_last_change_first(tmp_path):
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    with Journal(tmp_path / "journal") as journal:
        for folder in (outer, inner):  # `outer` can only go after `inner`
            journal.will("remove_folder", folder)
            folder.mkdir()
    assert not outer.exists()
    assert list((tmp_path / "journal").iterdir()) == []


def test_a_step_is_on_disk_before_the_change(tmp_path, knob):
    with Journal(tmp_path / "journal") as journal:
        journal.will_write(knob, "old")
        assert json.loads(journal.path.read_text()) == ["write", str(knob), "old"]


def test_changes_are_taken_back_when_the_trial_fails(tmp_path, knob):
    with pytest.raises(RuntimeError), Journal(tmp_path / "journal") as journal:
        journal.will_write(knob, "old")
        raise RuntimeError
    assert knob.read_text() == "old\n"


def test_a_failing_step_stops_no_other_and_is_tried_again_by_the_next_start(tmp_path, knob, capsys):
    folder, full = tmp_path / "journal", tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    with Journal(folder) as journal:
        journal.will_write(knob, "old")
        journal.will("remove_folder", full)
    assert knob.read_text() == "old\n"
    (told,) = capsys.readouterr().err.splitlines()
    assert "could not undo remove_folder" in told and "Directory not empty" in told
    assert recover(folder) == 0
    assert full.exists()
    (full / "file").unlink()
    assert recover(folder) == 1
    assert not full.exists()
    assert list(folder.iterdir()) == []
    assert capsys.readouterr().err.count("could not undo remove_folder") == 1


def test_what_could_not_be_undone_keeps_its_owner(tmp_path, capsys):
    folder, owner = tmp_path / "journal", ["owner", "regulate --policy ute", "2026-11-27"]
    with Journal(folder) as journal:
        journal.will(*owner)
        journal.will("mend", "it")
    (left,) = folder.iterdir()
    assert [json.loads(line) for line in left.read_text().splitlines()] == [owner, ["mend", "it"]]


def test_what_was_never_done_needs_no_undoing(tmp_path, capsys):
    with Journal(tmp_path / "journal") as journal:
        journal.will("remove_file", tmp_path / "never made")
        journal.will("remove_folder", tmp_path / "never made")
        journal.will("remove_tree", tmp_path / "never made")
        journal.will("remove_cgroup", tmp_path / "never made")
        journal.will("kill_group", tmp_path / "never made")
        journal.will("unmount", tmp_path / "never mounted")
        journal.will("write", tmp_path / "never there", "x")
        journal.will("detach_loop", tmp_path / "never attached")
    assert capsys.readouterr().err == ""
    assert [path.name for path in tmp_path.iterdir()] == ["journal"]


def test_what_a_killed_agent_left(tmp_path, knob):
    folder = tmp_path / "journal"
    folder.mkdir()
    steps = [["write", str(knob), "first"], ["write", str(knob), "second"]]
    text = "".join(json.dumps(step) + "\n" for step in steps) + '["write", "/never/made", "ha'
    (folder / f"{ended()}.jsonl").write_text(text)
    assert recover(folder) == 1
    assert knob.read_text() == "first\n"
    assert list(folder.iterdir()) == []


def test_a_running_agent_is_left_alone(tmp_path, knob):
    folder = tmp_path / "journal"
    running = Journal(folder)
    running.will_write(knob, "old")
    assert recover(folder) == 0
    assert knob.read_text() == "new\n"
    assert len(list(folder.iterdir())) == 1


def test_an_action_of_a_later_agent_is_told_and_kept(tmp_path, knob, capsys):
    folder = tmp_path / "journal"
    folder.mkdir()
    steps = [["write", str(knob), "old"], ["mend", "it"]]
    (folder / "1.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    assert recover(folder) == 0
    assert knob.read_text() == "old\n", "what it knows is undone"
    assert "could not undo mend ['it']: this agent does not know how" in capsys.readouterr().err
    [left] = folder.iterdir()
    assert json.loads(left.read_text()) == ["mend", "it"]


def test_nothing_to_recover(tmp_path):
    assert recover(tmp_path / "there never was a journal") == 0


def test_every_action_is_known_where_a_killed_agent_is_cleaned_up():
    """That is: known to a process that imports what recovers, and nothing else of the agent."""
    files = [*LIB.glob("agent/**/*.py"), *LIB.glob("studies/**/beside_disk/*.py")]
    text = "\n".join(file.read_text() for file in files)
    registered = set(re.findall(r'^@undoes\("(\w+)"\)', text, re.MULTILINE))
    noted = set(re.findall(r'\.will\(\s*"(\w+)"', text))
    program = (
        "from elevatorlab.agent.lifecycle.recovery import journal; print(*sorted(journal.UNDO))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert len(noted) > 10 and noted <= registered
    assert set(run.stdout.split()) == registered


def test_one_trial_at_a_time(tmp_path):
    lock = sole_trial(tmp_path / "run" / "trial.lock")
    with pytest.raises(AgentError) as refusal:
        sole_trial(tmp_path / "run" / "trial.lock")
    assert "another trial runs on this machine; expected none" in str(refusal.value)
    assert "elevatorlab clean" in str(refusal.value)
    lock.close()
    sole_trial(tmp_path / "run" / "trial.lock").close()


IMPATIENT = """
import os, signal, sys
from elevatorlab.agent.lifecycle.journal import Journal, UNDO

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in some shells' background
UNDO["interrupted"] = lambda: os.kill(os.getpid(), signal.SIGINT)
with Journal() as journal:
    for _ in range(3):
        journal.will("write", sys.argv[1], "old")
        journal.will("interrupted")
"""


def test_a_forgotten_step_is_never_undone(tmp_path, knob):
    folder = tmp_path / "journal"
    journal = Journal(folder)
    journal.will_write(knob, "first")
    journal.will_write(knob, "second")
    knob.write_text("changed")
    journal.forget("write", knob, "second")
    assert json.loads(journal.path.read_text()) == ["write", str(knob), "first"]
    assert recover(folder) == 0  # the new file is locked, as the old one was
    journal.file.close()  # as a kill would
    assert recover(folder) == 1 and knob.read_text() == "first\n"
    assert list(folder.iterdir()) == []


def test_ctrl_c_in_the_middle_of_undoing_takes_effect_afterwards(tmp_path, knob):
    script = IMPATIENT.replace("Journal()", f"Journal(pathlib.Path({str(tmp_path / 'j')!r}))")
    run = subprocess.run(
        [sys.executable, "-c", f"import pathlib{script}", str(knob)], capture_output=True, text=True
    )
    assert knob.read_text() == "old\n"
    assert "KeyboardInterrupt" in run.stderr
    assert list((tmp_path / "j").iterdir()) == []
