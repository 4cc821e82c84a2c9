"""The journal: whatever happens, changes are taken back, the last one first."""

import json
import subprocess

import pytest

from elevatorlab.agent.journal import Journal, recover


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


def test_a_failing_step_does_not_stop_the_rest(tmp_path, knob, capsys):
    with Journal(tmp_path / "journal") as journal:
        journal.will_write(knob, "old")
        journal.will("unmount", tmp_path / "never mounted")
        journal.will("write", tmp_path / "no such folder" / "file", "x")
    assert knob.read_text() == "old\n"
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1].split(" [")[0] for line in told] == [
        "could not undo write",
        "could not undo unmount",
    ]


@pytest.fixture
def dead_pid():
    ended = subprocess.Popen(["true"])
    ended.wait()
    return ended.pid


def test_what_a_killed_agent_left(tmp_path, knob, dead_pid):
    folder = tmp_path / "journal"
    folder.mkdir()
    steps = [["write", str(knob), "first"], ["write", str(knob), "second"]]
    text = "".join(json.dumps(step) + "\n" for step in steps) + '["write", "/never/made", "ha'
    (folder / f"{dead_pid}.jsonl").write_text(text)
    recover(folder)
    assert knob.read_text() == "first\n"
    assert list(folder.iterdir()) == []


def test_a_running_agent_is_left_alone(tmp_path, knob):
    folder = tmp_path / "journal"
    running = Journal(folder)
    running.will_write(knob, "old")
    recover(folder)
    assert knob.read_text() == "new\n"
    assert len(list(folder.iterdir())) == 1


def test_nothing_to_recover(tmp_path):
    recover(tmp_path / "there never was a journal")
