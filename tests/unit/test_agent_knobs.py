"""Knobs: what was written is read back, and what did not take is named."""

import os
import pathlib

import pytest

from elevatorlab.agent.devices import schedulers
from elevatorlab.agent.errors import AgentError, KnobFailed
from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.lifecycle.proofs import Proofs


@pytest.fixture
def knob(tmp_path):
    (tmp_path / "knob").write_text("8\n")
    return tmp_path / "knob"


def test_a_knob_that_took(knob, tmp_path):
    proofs, journal = Proofs(), Journal(tmp_path / "journal")
    proofs.set(knob, 16, journal)
    assert knob.read_text() == "16\n"
    assert proofs.records == [{"knob": str(knob), "written": "16", "read": "16", "probe": None}]
    assert journal.steps == [["write", str(knob), "8"]]


def test_a_knob_that_did_not_take(knob):
    proofs = Proofs()
    with pytest.raises(KnobFailed) as failure:
        proofs.set(knob, 16, read_as=lambda text: "12")  # as if the kernel had its own idea
    told = failure.value.file, failure.value.written, failure.value.read
    assert told == (str(knob), "16", "12")
    assert proofs.records == []


def test_a_knob_that_the_kernel_refuses():
    # A real file of the kernel, which takes -1000 to 1000.
    with pytest.raises(KnobFailed, match=r"wrote 5000, read back '.*Invalid argument"):
        Proofs().set("/proc/self/oom_score_adj", 5000)


def test_a_knob_that_does_not_exist(tmp_path):
    with pytest.raises(AgentError, match="knob .*nothing does not exist.*expected it to take 5"):
        Proofs().set(tmp_path / "nothing", 5)


@pytest.mark.parametrize(
    "text, name",
    [("mq-deadline [bfq] none\n", "bfq"), ("[none] mq-deadline\n", "none"), ("none\n", "none")],
)
def test_the_selected_scheduler(text, name):
    assert schedulers.selected(text) == name


def make_queue(folder, tunables):
    for tunable in tunables:
        (folder / "iosched").mkdir(parents=True, exist_ok=True)
        (folder / "iosched" / tunable).touch()
    return folder


@pytest.mark.parametrize(
    "name, tunables, said",
    [
        ("bfq", ["slice_idle", "low_latency"], "tunables: low_latency slice_idle"),
        ("none", [], "tunables: none, as expected without a scheduler"),
    ],
)
def test_the_probe_of_a_scheduler(name, tunables, said, tmp_path):
    assert schedulers._probe(make_queue(tmp_path, tunables), name) == said


@pytest.mark.parametrize("name, tunables", [("kyber", ["slice_idle"]), ("none", ["fifo_batch"])])
def test_the_probe_sees_another_scheduler(name, tunables, tmp_path):
    with pytest.raises(KnobFailed, match=f"wrote 'tunables of {name}', read back '{tunables[0]}'"):
        schedulers._probe(make_queue(tmp_path, tunables), name)


def test_scheduler_and_tunables_are_restored(tmp_path):
    queue = make_queue(tmp_path / "queue", ["slice_idle", "low_latency"])
    (queue / "scheduler").write_text("[mq-deadline] bfq none\n")
    (queue / "iosched/slice_idle").write_text("8\n")
    wanted = {"name": "bfq", "tunables": {"slice_idle": 0}}
    with Journal(tmp_path / "journal") as journal:
        schedulers.select(str(tmp_path), wanted, journal, Proofs())  # a path instead of a name
        assert (queue / "iosched/slice_idle").read_text() == "0\n"
    assert (queue / "scheduler").read_text() == "mq-deadline\n"
    assert (queue / "iosched/slice_idle").read_text() == "8\n"


def test_a_kernel_without_the_scheduler(monkeypatch):
    loaded = []
    monkeypatch.setattr(schedulers, "offered", lambda device: ["none", "mq-deadline"])
    monkeypatch.setattr(schedulers, "load_module", lambda name, journal: loaded.append(name))
    with pytest.raises(AgentError, match="scheduler 'kyber' for disk0.* none, mq-deadline"):
        schedulers.select("disk0", {"name": "kyber", "tunables": {}}, None, Proofs())
    assert loaded == ["kyber-iosched"]


def test_a_kernel_without_the_module(tmp_path, monkeypatch):
    (tmp_path / "modprobe").write_text("#!/bin/sh\necho not found >&2; exit 1\n")
    (tmp_path / "modprobe").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(AgentError) as failure:
        schedulers.load_module("no-such-module-as-this")
    release = pathlib.Path("/proc/sys/kernel/osrelease").read_text().strip()
    said = f"kernel {release} has no module no-such-module-as-this (not found)"
    assert said in str(failure.value)
