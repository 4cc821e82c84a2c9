"""Capabilities: what each is for and what to do about it, the doctor's words for them, results'."""

import json

import pytest

from elevatorlab.plugins.trial_parts import DEVICES
from elevatorlab.testbeds.base import refuse_what_is_missing, requirements
from elevatorlab.testbeds.deterministic import DeterministicTestbed, image
from elevatorlab.testbeds.remote.capabilities import DRIVERS, PROGRAMS, capabilities
from elevatorlab.trial.capabilities import FAMILIES, Capability, remedy_of, sentence_of
from helpers import cli
from machine_facts import facts
from scheduler_copy import adios  # noqa: F401  (fixture)


@pytest.mark.parametrize("capability", Capability)
def test_each_has_a_sentence_and_a_remedy(capability):
    assert capability.sentence.endswith(".") and capability.remedy
    assert sentence_of(str(capability)) == capability.sentence


def test_what_a_trial_requires_is_spelled_as_in_results(make_trial):
    trial = make_trial(
        io_cost={"model": {"rbps": 1}},
        trace=True,
        groups=({"name": "main", "limits": {"read_iops": 5, "weight": 10}},),
    )
    required = requirements(trial)
    assert required == {
        *("device null_blk", "io.cost", "limits", "program fio", "scheduler none"),
        *("tracepoints", "weights"),
    }
    assert {type(one) for one in required} == {str}
    by_weight_alone = make_trial(groups=({"name": "main", "limits": {"weight": 10}},))
    assert requirements(by_weight_alone) & {"weights", "limits"} == {"weights"}


def test_every_finding_of_a_machine_says_what_it_is_for():
    silent = [one.what for one in capabilities("host", facts()) if not one.sentence]
    assert silent == ["accelerator"]


def test_what_is_missing_has_the_capability_s_remedy():
    found = {one.what: one for one in capabilities("host", {**facts(), "tracefs": False})}
    assert found["tracepoints"].remedy == Capability.TRACEPOINTS.remedy


NAMED = [
    *("device disk", "device drive", "device file_backed", "device null_blk", "device nvme_tcp"),
    *("device paced_disk", "driver stock", "driver one_send", "program iozone", "program fio"),
    *("scheduler bfq", "scheduler sbq", "scheduler nobody_has_it"),
]


@pytest.mark.parametrize("what", NAMED)
def test_what_contains_a_name_has_a_sentence_and_a_remedy(what):
    assert sentence_of(what).endswith(f"{what.split()[1]}.")
    assert remedy_of(what) not in ("", "use another testbed")


def test_devices_drivers_and_programs_of_ours_are_named_in_the_table():
    ours = {kind for kind, model in DEVICES.items() if not model.agent}
    assert ours == set(FAMILIES["device "].remedies)
    assert set(DRIVERS) == set(FAMILIES["driver "].remedies)
    assert set(FAMILIES["program "].remedies) < set(PROGRAMS)


def lacking_everything():
    """Return facts about a machine that has nothing."""
    found = facts()
    nothing = dict.fromkeys(("loop", "fuse", "null_blk", "io_cost", "drop_caches", "tracefs"))
    for name in "modules", "programs":
        nothing[name] = dict.fromkeys(found[name], False)
    return {**found, **nothing, "cgroup": None, "schedulers": []}


def test_no_testbed_words_a_remedy_of_its_own(adios, monkeypatch):
    testbed = DeterministicTestbed(say=None)
    findings = [one for one in testbed.findings() if not one.needed]
    monkeypatch.setattr(image, "manifest", lambda: {"packages": {}})
    findings += [*capabilities("host", lacking_everything()), testbed._iozone()]
    missing = [one for one in findings if one.sentence and not one.ready]
    named = {one.what for one in missing}
    assert {"scheduler adios", "scheduler bfq", "program iozone", "device null_blk"} <= named
    # How to build a testbed may follow the remedy that names it.
    assert [one for one in missing if not one.remedy.startswith(remedy_of(one.what))] == []


def test_a_strangers_module_is_never_in_the_image(adios):
    remedy = remedy_of("scheduler adios")
    assert remedy.startswith("install it with DKMS") and "--testbed host" in remedy


def test_where_iozone_is_missing_fio_can_do_the_same(make_trial, monkeypatch, testbed, error_of):
    monkeypatch.setattr(image, "manifest", lambda: {"packages": {"fio": "3.33"}})
    workload = {"kind": "iozone", "name": "iozone", "group": "main", "threads": [1], "size_mib": 2}
    trial = make_trial(filesystem="ext4", workloads=[{**workload, "record_kib": 256}])
    for findings in ([testbed._iozone()], capabilities("host", lacking_everything())):
        said = error_of(refuse_what_is_missing, "here", findings, [trial])
        assert "program iozone: not " in said
        assert "Add Debian's component non-free" in said and "-p tool=fio" in said


def test_the_doctor_says_what_each_is_for():
    found = json.loads(cli("doctor", "--testbed", "host", "--json").stdout)
    by_name = {one["what"]: one["sentence"] for one in found}
    assert by_name["page-cache drop"] == "The page cache is emptied before a read."
