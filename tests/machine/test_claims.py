"""Every claim gets a verdict, and the right one."""

from collections import Counter

import pandas as pd
import pytest

from claims_support import STUDY, verdicts
from elevatorlab.judging.claims import (
    PUBLISHED_DATA,
    summary,
)
from elevatorlab.judging.verdicts import DECIDED, Verdict
from elevatorlab.studies.vm_vs_container.claims import judge
from synthetic import (
    ARMS,
    MACHINE,
    TEST_2,
    as_printed,
    deterministic,
    judged,
)


def test_one_verdict_for_each_machine_and_preset():
    """Never pooled; the arms of a machine are compared; the document is judged once."""
    runs = pd.concat(
        [
            as_printed(arms=ARMS),
            as_printed(arms=ARMS, preset="quick"),
            as_printed(arms=ARMS, machine="fedcba9876543210"),
            deterministic(),
        ]
    )
    found = Counter((claim.testbed, claim.machine, claim.preset) for claim in judge(runs))
    document = found.pop((PUBLISHED_DATA, "", ""))
    everything = "docker+host+vagrant"
    assert found == dict.fromkeys(
        [
            (everything, MACHINE, "full"),
            (everything, MACHINE, "quick"),
            (everything, "fedcba9876543210", "full"),
            ("deterministic", "deterministic", "quick"),
        ],
        241 - document,
    )


def test_a_seed_of_noise_does_not_matter_but_a_lot_does():
    """The same jitter for all cancels in pairs; the shape is still there."""
    paired = verdicts(as_printed(jitter=0.2), "ranking/high_read_latency/vm/dropped")
    assert set(paired.values()) == {Verdict.REPRODUCED}

    spread = {"none": (1, 1.5, 1), "mq-deadline": (1.5, 1, 1), "kyber": (1, 1, 1.5)}

    def unpaired(row):
        return spread.get(row["scheduler"], (1.3, 1.6, 1))[row["repetition"] - 1]

    noisy = verdicts(as_printed(factor=unpaired), "ranking/high_read_latency/vm/dropped")
    assert set(noisy.values()) == {Verdict.UNDECIDED}


def test_the_same_order_with_other_sizes_is_direction_only():
    """Differences several times as large as printed."""
    wider = as_printed(factor=lambda row: 3 if row["scheduler"] == "bfq" else 1)
    assert verdicts(wider, "table-5/bfq/vm/time") == {"table-5/bfq/vm/time": "direction only"}
    slower = as_printed(factor=lambda row: 2 if row["arm"] == "vm" else 1)
    assert verdicts(slower, "table-5/none/improvement") == {
        "table-5/none/improvement": "direction only"
    }


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (["as_published"], Verdict.NOT_TESTABLE),
        (["as_published", "dropped", "direct"], Verdict.CONTRADICTED),
        (["dropped"], Verdict.NOT_TESTABLE),
    ],
)
def test_test_2_is_contradicted_only_where_no_state_of_the_cache_explains_it(states, verdict):
    """bfq as fast as the fastest, in some states."""
    table = as_printed()
    fast = table["variant"].isin(states) & (table["test"] == TEST_2)
    table.loc[fast, "time_s"] = (
        table.loc[fast].groupby(["arm", "repetition"])["time_s"].transform("min")
    )
    name = "table-5/bfq/container/time"
    assert verdicts(table, name) == {name: verdict}


def test_a_measurement_can_contradict():
    """none the slowest, and containers slower than the VM."""
    none_last = as_printed(factor=lambda row: 3 if row["scheduler"] == "none" else 1)
    found = verdicts(none_last, "sentence/none-was-best/high_read_latency")
    printed = {name for name in found if name.endswith("printed")}
    assert {found[name] for name in found if name not in printed} == {Verdict.CONTRADICTED}
    assert verdicts(none_last, "table-5/bfq/vm/time") == {"table-5/bfq/vm/time": "contradicted"}

    containers_slow = as_printed(factor=lambda row: 30 if row["arm"] == "container" else 1)
    improvements = verdicts(containers_slow, "/improvement")
    assert set(improvements.values()) == {Verdict.CONTRADICTED}
    better = verdicts(containers_slow, "sentence/container-was-better")
    assert Verdict.CONTRADICTED in better.values()


def test_schedulers_that_make_no_difference_contradict_the_sentence():
    """All pairs tie, with intervals that exclude a difference."""
    table = as_printed()
    table["time_s"] = table["size_mib"] / 1000
    found = verdicts(table, "sentence/none-was-best/both_tests")
    assert set(found.values()) == {Verdict.CONTRADICTED}
    assert verdicts(table, "ranking/high_read_latency/vm")[
        "ranking/high_read_latency/vm/direct"
    ] == (Verdict.CONTRADICTED)


def test_one_repetition_calls_no_order():
    """Nor a value: one repetition does not say how far off it may be."""
    once = as_printed(repetitions=1)
    assert Verdict.UNDECIDED in verdicts(once, "ranking").values()
    assert not set(verdicts(once, "ranking").values()) & set(DECIDED)
    assert set(verdicts(once, "/vm/time").values()) == {Verdict.UNDECIDED}


def test_arms_of_two_machines_are_not():
    """The VM ran elsewhere."""
    elsewhere = as_printed(arms=("vm",), machine="fedcba9876543210")
    runs = judge(pd.concat([as_printed(arms=("host", "container")), elsewhere]))
    found = {c.testbed: c for c in runs if c.id == f"{STUDY}/table-2/40mb/improvement"}
    assert {claim.verdict for claim in found.values()} == {Verdict.NOT_TESTABLE}
    assert "No VM was measured on the testbeds docker and host" in found["docker+host"].reason
    assert "No container was measured on the testbed vagrant" in found["vagrant"].reason


def test_only_none_below_is_compared():
    """Other schedulers of the physical disk are not pooled with it, however different."""
    slow = as_printed(arms=ARMS, backing_scheduler="bfq", factor=lambda row: row["repetition"])
    both = judge(pd.concat([slow, as_printed(arms=ARMS)]))
    assert both == judged(*ARMS)


def test_a_stable_order_is_told_and_an_unstable_one_is_not_called_one():
    """In the reason of each ranking."""
    name = f"{STUDY}/ranking/high_read_latency/vm/dropped"
    reason = {claim.id: claim for claim in judged("container", "vm")}[name].reason
    assert "100% keep the order none < mq-deadline < kyber < bfq (decided)" in reason
    once = {claim.id: claim for claim in judge(as_printed(repetitions=1))}[name].reason
    assert "One repetition says nothing" in once


def test_the_summary_adds_no_two_runs_up():
    """One sentence each."""
    text = summary(judge(pd.concat([deterministic(), as_printed()])))
    assert text.startswith("241 claims. Measured on ")
    assert "Measured on the testbed deterministic with the preset quick: " in text
    assert (
        "The documents' own arithmetic: arithmetic checks: 56 reproduced (53 independent), " in text
    )
    assert "on the testbeds docker and vagrant with the preset full (machine 01234567): " in text
