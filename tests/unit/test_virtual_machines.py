"""Virtual machines inside the deterministic one: what may be asked for, and what is said."""

import json
import os
import socket
import threading

import pandas as pd
import pytest

from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.groups import inside, virtual_machine
from elevatorlab.agent.groups.virtual_machine import Monitor
from elevatorlab.judging import matching
from elevatorlab.plugins import testbeds
from elevatorlab.plugins.schedulers import SCHEDULERS, SchedulerRecord
from elevatorlab.running.expansion import parameters
from elevatorlab.studies import vm_vs_container
from elevatorlab.studies.vm_vs_container import columns
from elevatorlab.testbeds.base import requirements
from elevatorlab.testbeds.deterministic import our_qemu, qemu
from elevatorlab.testbeds.deterministic.testbed import DeterministicTestbed
from elevatorlab.trial import parse
from elevatorlab.trial.capabilities import Capability
from guests import guest, make_guest  # noqa: F401  (fixtures)
from helpers import fio


def test_the_defaults_are_in_the_trial(make_guest):
    trial = make_guest(groups=({"name": "main", "isolation": "virtual_machine"},))
    told = json.loads(trial.canonical_json())["groups"][0]["virtual_machine"]
    defaults = {"memory_mib": 512, "scheduler": None, "cache": "none"}
    assert told == {**defaults, "aio": "native", "queues": 1}
    assert parse(json.loads(trial.canonical_json())) == trial


def test_every_parameter_makes_another_trial(make_guest):
    changes = [{"memory_mib": 513}, {"cache": "directsync"}, {"aio": "threads"}, {"queues": 2}]
    changes += [
        {"scheduler": {"name": "bfq", "tunables": some}} for some in ({}, {"slice_idle": 0})
    ]
    assert len({make_guest(machine).hash for machine in ({}, *changes)}) == 1 + len(changes)


NO_GUEST = {"name": "main", "virtual_machine": {}}


def test_other_trials_do_not_mention_it(make_trial):
    assert "virtual_machine" not in json.loads(make_trial().canonical_json())["groups"][0]


@pytest.mark.parametrize(
    ("changes", "place", "found"),
    [
        ({"machine": {"memory_mib": 1300}}, "main.virtual_machine.memory_mib", "1088 of its 1536"),
        ({"groups": (guest(), {"name": "other"})}, "groups", "found main, other"),
        ({"groups": (NO_GUEST,)}, "virtual_machine", "found with process"),
        ({"machine": {"cache": "writeback"}}, "aio: expected threads or io_uring", "found native"),
        ({"machine": {"scheduler": {"name": "sbq"}}}, "virtual_machine.scheduler", "found 'sbq'"),
        ({"workloads": [fio(name=f"{one}") for one in "abcde"]}, "workloads", "at most 4"),
    ],
)
def test_what_cannot_be_is_refused_by_its_place(changes, place, found, make_guest):
    with pytest.raises(ValueError, match="expected") as refusal:
        make_guest(**changes)
    assert place in str(refusal.value) and found in str(refusal.value)


def test_a_plug_in_that_says_it_is_of_linux_is_no_scheduler_of_the_inner_machine(make_guest):
    SCHEDULERS.register("adios", SchedulerRecord("adios", module="adios", source="linux"))
    try:
        with pytest.raises(ValueError, match="only the kernel's own schedulers; found 'adios'"):
            make_guest({"scheduler": {"name": "adios"}})
    finally:
        SCHEDULERS.unregister("adios")


def test_a_workload_that_looks_at_the_outer_machine_is_refused(make_guest):
    iostat = {"kind": "iostat", "name": "watch", "group": "main", "count": 2}
    with pytest.raises(ValueError, match="watch: expected one that can run in a virtual machine"):
        make_guest(workloads=(fio(), iostat))


def test_another_qemu_has_no_machine_inside(make_guest, monkeypatch, error_of):
    monkeypatch.setenv(our_qemu.OTHER, "/usr/bin/true")
    trial = make_guest({"scheduler": {"name": "bfq"}})
    assert {str(Capability.VIRTUAL_MACHINES), "scheduler bfq"} <= requirements(trial)
    testbed = DeterministicTestbed(say=None, emulator=qemu.usual())
    found = [one for one in testbed.findings() if one.what == Capability.VIRTUAL_MACHINES]
    assert [(one.ready, one.remedy) for one in found] == [(False, f"unset {our_qemu.OTHER}")]


def test_templates_of_other_machines_have_other_names():
    machines = (qemu.Emulator(inner_mib=size_mib) for size_mib in (0, 512, 768))
    names = {emulator.template_name(1536) for emulator in machines}
    assert names == {"1536", "1536+512", "1536+768"}


def test_a_trial_says_what_is_inside(make_guest, make_trial):
    testbed = DeterministicTestbed(say=None)
    assert testbed._emulator_of(make_guest({"memory_mib": 640})).inner_mib == 640
    assert testbed._emulator_of(make_trial()).inner_mib == 0


def test_the_monitor_says_why_qemu_refuses(tmp_path):
    path = tmp_path / "monitor"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        answers = [{"return": {}}, {"event": "STOP"}, {"error": {"desc": "no such file"}}]
        thread = threading.Thread(target=answer, args=(server, answers))
        thread.start()
        monitor = Monitor(path)
        with pytest.raises(AgentError, match="QEMU refused blockdev-add: no such file"):
            monitor.do("blockdev-add", driver="host_device")
        thread.join()
    with pytest.raises(AgentError, match="QEMU ended at query-kvm"):
        monitor.do("query-kvm")


def answer(server, answers):
    """Greet; answer each request with what comes next, and any event before it."""
    connection, _ = server.accept()
    with connection, connection.makefile("rw") as lines:
        lines.write('{"QMP": {}}\n')
        lines.flush()
        while answers:
            lines.readline()
            while answers:
                lines.write(json.dumps(answers[0]) + "\n")
                lines.flush()
                if "event" not in answers.pop(0):
                    break


def test_no_machine_that_waits(tmp_path):
    with pytest.raises(AgentError, match="no virtual machine waits here .*expected the one that"):
        Monitor(tmp_path / "monitor")


def test_a_machine_that_has_ended(tmp_path):
    for end in ("in", "out"):
        os.mkfifo(tmp_path / f"port3.{end}")
    with pytest.raises(AgentError, match="the virtual machine has ended .*Run the trial again"):
        virtual_machine.Port(tmp_path / "port3")


def test_a_port_reaches_both_ways(tmp_path):
    ends = [tmp_path / f"port3.{end}" for end in ("in", "out")]
    for end in ends:
        os.mkfifo(end)
    requests, answers = (os.open(end, os.O_RDWR) for end in ends)  # as QEMU has them
    port = virtual_machine.Port(tmp_path / "port3")
    port.requests.write("a request\n")
    port.requests.flush()
    assert os.read(requests, 100) == b"a request\n"
    os.write(answers, b"an answer\n")
    assert port.answers.readline() == "an answer\n"
    port.close()
    os.close(requests)
    os.close(answers)


def test_a_disk_that_never_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(inside, "BLOCK", tmp_path)
    with pytest.raises(AgentError, match="saw no disk within 0.05 s of its time; expected the one"):
        inside.virtio_disk(patience_s=0.05)
    (tmp_path / "vda").mkdir()
    assert inside.virtio_disk(patience_s=0.05) == "vda"


def trials_of(preset="paper", **more):
    given = parameters(vm_vs_container, preset, {"arms": ["host", "container", "vm"], **more})
    return vm_vs_container.trials(given)


def test_a_testbed_has_of_a_presets_arms_those_that_it_offers():
    offers = {"deterministic": ("container", "vm"), "docker": ("container",), "host": ("host",)}
    for name, arms in offers.items():
        there = testbeds.TESTBEDS.get(name).defaults
        found = vm_vs_container.trials(parameters(vm_vs_container, "quick", None, there))
        assert {trial.labels["arm"] for trial in found} == set(arms)


def test_the_third_arm_stands_beside_the_others():
    default = trials_of(repetitions=3, arms=["host", "container"])
    found = trials_of(repetitions=3)
    assert {trial.hash for trial in default} < {trial.hash for trial in found}
    arms = {trial.labels["arm"] for trial in found}
    assert arms == {"host", "container", "vm"}
    guests = [trial for trial in found if trial.labels["arm"] == "vm"]
    pairs = [trial for trial in guests if trial.scheduler.name != "none"]
    assert {trial.labels["variant"] for trial in pairs} == {"dropped"}
    assert len(pairs) == 2 * 12 * 3  # both tests, the other pairs of 16, repetitions
    guests = [trial for trial in guests if trial not in pairs]
    assert len(guests) == len(found) - len(default) - len(pairs) == 2 * 3 * 4 * 3
    inside = {trial.groups[0].virtual_machine.scheduler.name for trial in guests}
    assert inside == {"none", "mq-deadline", "bfq", "kyber"}
    assert {trial.scheduler.name for trial in guests} == {"none"}
    assert {(trial.memory_mib, trial.machine) for trial in guests} == {(6528, "host")}


def test_both_schedulers_are_in_the_table():
    pairs = trials_of(guest_below=["none", "bfq"], schedulers=["kyber"], arms=["vm"])
    read = {"bytes_read": 1 << 20, "time_ns": 1, "device_read_bytes": 1, "storage_read_bytes": 1}
    found = set()
    for trial in pairs:
        result = {"workloads": {"tree": {"reads": [read]}}}
        rows = columns.rows(trial.model_dump(mode="json"), result)
        found |= {(row["arm"], row["scheduler"], row["backing_scheduler"]) for row in rows}
    assert found == {("vm", "kyber", None), ("vm", "kyber", "bfq")}


@pytest.mark.parametrize("preset", ["paper", "full"])
def test_a_guest_caches_all_files_of_the_articles_sizes(preset):
    trials = trials_of(preset, repetitions=1, arms=["vm"], variants=["as_published"])
    read_mib = [sum(trials[0].workloads[1].sizes_mib)]
    assert read_mib == [550]
    assert {trial.groups[0].virtual_machine.memory_mib for trial in trials} == {2048}


def test_arms_of_one_emulated_machine_are_compared():
    told = "TCG, instruction counting (1 instruction = 1 ns)"
    where = {"accelerator": told, "testbed": "deterministic", "machine": "5d3", "preset": "quick"}
    rows = pd.DataFrame([{"arm": arm, **where} for arm in ("host", "container", "vm")])
    rows = rows.assign(backing_scheduler=None)
    (run,) = matching.runs(rows)
    assert run.deterministic and not matching.emulated_apart(run.rows, ("vm", "container"))
    (real,) = matching.runs(rows.assign(accelerator="KVM"))
    assert not real.deterministic
