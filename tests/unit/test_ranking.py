"""How stable an order of schedulers is."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elevatorlab.analysis.ranking import DECIDED, rank
from elevatorlab.studies.vm_vs_container.measures import ranking
from elevatorlab.studies.vm_vs_container.tables import drive_table, stability_table
from synthetic import ARMS, NONE_YET, as_printed, deterministic


def table(**columns):
    return pd.DataFrame(columns)


def test_the_same_order_in_every_repetition_is_decided_where_these_are_enough():
    apart = {"slow": [3.0, 3.1, 2.9, 3.2], "fast": [1.0, 1.1, 0.9, 1.2], "middle": [2.0] * 4}
    found = rank(table(**apart))
    assert found.order == ("fast", "middle", "slow")
    assert (found.order_stays, found.winner_stays) == (1, 1)
    assert found.order_says == found.winner_says == "decided"


def test_what_chance_does_is_not_decided():
    """Two columns agree in both of two repetitions every other time."""
    found = rank(table(a=[1.0, 1.1], b=[2.0, 2.1]))
    assert found.order_stays == 1
    assert found.order_says == found.winner_says == "too few repetitions"
    four = {name: [float(place), place + 0.1, place + 0.2] for place, name in enumerate("abcd", 1)}
    found = rank(table(**four))
    assert (found.order_says, found.winner_says) == ("decided", "too few repetitions")


def test_a_winner_may_be_decided_where_the_order_is_not():
    a, b = [2.0, 3.0, 2.0, 3.0, 2.0, 3.0], [3.0, 2.0, 3.0, 2.0, 3.0, 2.1]
    found = rank(table(a=a, b=b, first=[1.0] * 6))
    assert found.order[0] == "first"
    assert found.winner_says == "decided"
    assert found.order_says == "undecided"
    assert found.order_stays < DECIDED


def test_the_share_is_the_one_of_all_resamples():
    """b is first wherever the third repetition was drawn: in 19 of 27 resamples."""
    found = rank(table(a=[1.0, 1.0, 8.0], b=[2.0, 2.0, 1.0]), draws=100_000)
    assert found.order == ("b", "a")
    assert found.order_stays == found.winner_stays == pytest.approx(19 / 27, abs=0.01)


def test_a_tie_keeps_no_order():
    found = rank(table(a=[1.0, 2.0, 3.0], b=[1.0, 2.0, 3.0]))
    assert (found.order_stays, found.winner_stays) == (0, 0)
    assert found.order_says == "undecided"


def test_one_repetition_says_nothing():
    found = rank(table(a=[1.0], b=[2.0]))
    assert math.isnan(found.order_stays)
    assert found.winner_says == "one repetition: cannot be told"
    assert found.text() == "One repetition says nothing about how stable the order is."


def test_what_all_columns_share_in_a_repetition_does_not_matter():
    """A repetition in which everything took ten times as long."""
    noise = np.array([1, 10, 0.1, 3, 7])
    found = rank(table(a=1.0 * noise, b=1.1 * noise))
    assert found.order_stays == 1


@given(st.integers(0, 1000))
def test_the_same_seed_gives_the_same_shares(seed):
    noisy = table(a=[1.0, 3.0, 2.0], b=[2.0, 1.0, 2.5])
    assert rank(noisy, seed=seed, draws=50) == rank(noisy, seed=seed, draws=50)


def test_where_nothing_can_be_ranked():
    assert rank(table(a=[1.0, 2.0])) is None
    assert rank(table(a=[1.0, None], b=[None, 2.0])) is None
    with pytest.raises(ValueError, match="positive times, found 0.0"):
        rank(table(a=[1.0, 0.0], b=[1.0, 1.0]))


def test_only_sizes_that_every_scheduler_read_are_added_up():
    """A scheduler is not faster for having read less."""
    rows = as_printed(arms=("vm",)).query(
        "test == 'writes_starving_reads' and variant == 'dropped'"
    )
    less = rows[(rows["scheduler"] != "kyber") | (rows["published_size_mb"] <= 20)]
    small = rows[rows["published_size_mb"] <= 20]
    assert ranking(less) == ranking(small)
    assert ranking(less).order[0] == "none"
    assert ranking(rows[rows["scheduler"] == "bfq"]) is None


def test_the_table_has_a_row_for_each_arm_test_and_variant():
    """And columns for machine and physical disk only where there are several."""
    one = stability_table(as_printed(arms=ARMS))[1]
    assert len(one) == 3 * 2 * 3
    assert not {"machine", "physical disk"} & set(one)
    below = [as_printed(arms=ARMS, backing_scheduler=name) for name in ("none", "bfq")]
    two = stability_table(pd.concat([*below, as_printed(arms=ARMS, machine="another one")]))[1]
    assert len(two) == 3 * len(one)
    assert set(two["physical disk"]) == {"none", "bfq"}
    assert set(two["machine"]) == {"01234567", "another "}
    once = stability_table(as_printed(repetitions=1))[1]
    assert set(once["order kept"]) == {"one repetition: cannot be told"}
    assert stability_table(NONE_YET)[1].empty


def test_a_drive_s_times_stand_beside_those_without_an_arm():
    table = deterministic()
    armed = table[(table["variant"] == "dropped") & (table["arm"] == "host")].assign(
        variant="dropped_drive", device="drive, desktop-7200"
    )
    slower = armed["time_s"].where(armed["scheduler"] == "none", 2 * armed["time_s"])
    (caption, rows), *more = drive_table(pd.concat([table, armed.assign(time_s=slower)]))
    assert "relative to the scheduler none" in caption and not more and len(rows) == 2 * 3
    bfq = rows[rows["scheduler"] == "bfq"].iloc[0]
    without, with_arm = (float(bfq[name].split()[0]) for name in ("SSD", "hard disk"))
    assert with_arm == pytest.approx(2 * without, rel=0.01)
    assert drive_table(table) == []
