"""Capabilities: what each is for and what to do about it, the doctor's words for them, results'."""

import json

import pytest

from elevatorlab.testbeds.base import Readiness, requirements
from elevatorlab.testbeds.capabilities import capabilities
from elevatorlab.trial.capabilities import Capability, sentence_of
from helpers import cli
from test_schedulers import facts


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


def test_every_finding_of_a_machine_says_what_it_is_for():
    silent = [one.what for one in capabilities("host", facts()) if not one.sentence]
    assert silent == ["accelerator"]


def test_what_is_missing_has_the_capability_s_remedy():
    found = {one.what: one for one in capabilities("host", {**facts(), "tracefs": False})}
    assert found["tracepoints"].remedy == Capability.TRACEPOINTS.remedy


def test_a_testbed_s_own_needs_are_none():
    assert Readiness("deterministic", "QEMU", "7.2", True).sentence == ""


def test_the_doctor_says_what_each_is_for():
    found = json.loads(cli("doctor", "--testbed", "host", "--json").stdout)
    by_name = {one["what"]: one["sentence"] for one in found}
    assert by_name["page-cache drop"] == "The page cache is emptied before a read."
