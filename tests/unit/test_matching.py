"""Which rows are compared: those of one machine and preset, each arm from one testbed."""

import pandas as pd
import pytest

from elevatorlab.judging import matching
from synthetic import ARMS, BARE, MACHINE, NONE_YET, TCG, as_printed, deterministic, emulated


def test_the_arms_of_a_machine_are_one_run():
    (run,) = matching.runs(as_printed(arms=ARMS))
    assert (run.testbed, run.machine, run.preset) == ("docker+host+vagrant", MACHINE, "full")
    assert set(run.rows["arm"]) == set(ARMS)
    assert run.label == "docker+host+vagrant, full, machine 01234567"


def test_machines_presets_and_the_deterministic_testbed_are_apart():
    several = [
        as_printed(arms=ARMS),
        as_printed(arms=ARMS, preset="smoke"),
        as_printed(arms=ARMS, machine="fedcba9876543210"),
        deterministic(),
    ]
    runs = matching.runs(pd.concat(several))
    assert [run.label for run in runs] == [
        "deterministic, quick",
        "docker+host+vagrant, full, machine 01234567",
        "docker+host+vagrant, smoke, machine 01234567",
        "docker+host+vagrant, full, machine fedcba98",
    ]
    assert sum(len(run.rows) for run in runs) == sum(map(len, several))


def test_an_unknown_machine_is_no_machine_of_anybody_else():
    runs = matching.runs(as_printed(arms=ARMS, machine="unknown"))
    assert sorted(run.testbed for run in runs) == ["docker", "host", "vagrant"]


def test_two_testbeds_of_the_same_arm_are_not_pooled():
    """`host`, and ssh:// to the same machine: the container is held against each."""
    table = pd.concat([as_printed(arms=ARMS), as_printed(arms=("host",), testbed="ssh")])
    runs = matching.runs(table)
    assert [run.testbed for run in runs] == ["docker+host+vagrant", "docker+ssh+vagrant"]
    for run in runs:
        assert run.rows.groupby("arm")["testbed"].nunique().max() == 1


def test_without_arms_each_testbed_stands_alone():
    runs = matching.runs(as_printed(arms=ARMS).drop(columns="arm"))
    assert [run.testbed for run in runs] == ["docker", "host", "vagrant"]


@pytest.mark.parametrize(
    ("below", "primary"),
    [
        (("bfq", "none"), "none"),
        (("bfq", None), None),
        (("bfq", "mq-deadline"), "mq-deadline"),
        ((None,), None),
    ],
)
def test_one_scheduler_of_the_physical_disk_is_compared_the_others_are_beside_it(below, primary):
    tables = [as_printed(arms=ARMS, backing_scheduler=name) for name in below]
    (run,) = matching.runs(pd.concat(tables))
    assert run.backing_scheduler == primary
    assert len(run.rows) == len(tables[0])
    assert len(run.crossed) == sum(map(len, tables))
    assert matching.backing_schedulers(run.rows) == [primary]


def test_nothing_measured_is_no_run():
    assert matching.runs(NONE_YET) == []


def test_emulated_beside_real_is_apart_and_alike_is_not():
    table = as_printed(arms=ARMS)
    assert matching.emulated_apart(table, ARMS) == {}
    assert matching.emulated_apart(emulated(table), ARMS) == {"vm": TCG}
    assert matching.emulated_apart(emulated(table), ("vm",)) == {}
    assert matching.emulated_apart(emulated(table), ("host", "container")) == {}
    assert matching.emulated_apart(deterministic(), ARMS) == {}
    assert matching.accelerators(table) == {"container": BARE, "host": BARE, "vm": "KVM"}
