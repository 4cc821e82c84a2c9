"""The policy ``share``: what it learns of the disk, and how it divides the disk's time."""

import pytest

from elevatorlab.agent.regulator.control import DEFAULTS
from elevatorlab.agent.regulator.guard import Guard
from elevatorlab.agent.regulator.observation import Disk
from elevatorlab.agent.regulator.share import FALL, RISE, Costs, Memory, Point, Share, Victim
from regulator_loads import LOADS, SLA_MS, simulated
from regulator_observations import observe, run, usage

SHARE = Share({"": SLA_MS})
AT_WORK = (usage("a", 800, 3.3, request_kib=5), usage("b", 840, 3.4, request_kib=5))
LATE = tuple(one._replace(wait_ms=50.0) for one in AT_WORK)
IDLE = usage("new", 0)
#: A disk that takes 1 ms for a request and 0.1 ms for a KiB.
REQUEST_S, KIB_S = 1e-3, 1e-4


def disk(*rates, has_counters=True):
    """Return what a disk's counters say while it serves requests/s of so many KiB each."""
    iops, kib_s = sum(rate for rate, _ in rates), sum(rate * kib for rate, kib in rates)
    busy_ratio = iops * REQUEST_S + kib_s * KIB_S
    return Disk("sda", busy_ratio, 1.0, kib_s * 1024, iops, has_counters)


def learnt(*disks):
    costs = Costs()
    for one in disks:
        costs = costs.after(one)
    return costs.model()


def limits_of(decisions):
    return {one.name: one.limit_bytes_s for one in decisions}


# The cost model


def test_it_learns_from_the_disks_counters_what_a_request_and_a_kib_cost():
    model = learnt(*[disk((400, 5)), disk((200, 5), (10, 256)), disk((300, 5), (8, 32))] * 4)
    assert model == pytest.approx((REQUEST_S, KIB_S), rel=0.1)


def test_requests_of_one_size_do_not_tell_their_parts_but_what_they_cost():
    request_s, kib_s = learnt(*[disk((400, 5))] * 10)
    assert request_s + 5 * kib_s == pytest.approx(REQUEST_S + 5 * KIB_S, rel=0.01)
    assert request_s / kib_s == pytest.approx(64)


def test_a_disk_without_counters_teaches_nothing():
    assert learnt(disk((400, 5), has_counters=False), None) == learnt()


# The line, and the total that it bears


def point(x, excess):
    return Point().after(100, excess, x / REQUEST_S, 0.0)


def borne(resting, working, total=0.2):
    memory = Memory(victims={"a": Victim(resting, working, (1.0,))})
    return SHARE._borne(memory, (REQUEST_S, KIB_S), total)


def test_the_line_through_rest_and_work_meets_the_target_at_the_total():
    meets = 0.2 * (1 / 0.7 - 1 / SHARE.target) / (1 / 0.7 - 1 / 0.9)
    assert borne(point(0.0, 0.7), point(0.2, 0.9)) == pytest.approx(meets)


def test_periods_that_differ_much_give_the_same_line():
    working = point(0.1, 1 / 1.25).after(100, 1 / 1.0, 0.2 / REQUEST_S, 0.0)
    x, inverse = working.at((REQUEST_S, KIB_S))
    assert inverse == pytest.approx(1.5 - 2.5 * x)


def test_the_total_falls_in_proportion_where_the_sla_is_missed_at_rest_too():
    assert borne(point(0.0, 2.0), point(0.2, 4.0)) == pytest.approx(0.2 * SHARE.target / 4)


# Who is under the cap, and what the limit is


def test_a_container_that_writes_in_its_first_period_is_a_newcomer_too():
    born = usage("born", 300, 3.0)
    _, (_, second) = run(SHARE, observe(*AT_WORK), observe(*AT_WORK, born))
    assert limits_of(second).keys() == {"born"}
    assert (
        limits_of(run(Guard({"": SLA_MS}), observe(*AT_WORK), observe(*AT_WORK, born))[1][1]) == {}
    )


def test_without_anybody_at_work_there_is_nothing_to_protect():
    assert run(SHARE, observe(IDLE), observe(usage("new", 500)))[1] == [[], []]


def test_equal_disk_time_is_more_bytes_for_larger_requests():
    both = (usage("small", 400), usage("large", 600, request_kib=256))
    state, _ = run(SHARE, observe(*AT_WORK, IDLE), *[observe(*AT_WORK, *both)] * 9)
    limits = {key: one.limit_bytes_s for key, one in state["sda"].throttled.items()}
    assert limits["large"] > 5 * limits["small"]


def test_nobody_has_less_than_one_of_its_own_requests_a_second():
    large = usage("new", 1024, request_kib=1024)
    state, _ = run(SHARE, observe(*AT_WORK, IDLE), *[observe(*LATE, large)] * 30)
    assert state["sda"].throttled["new"].limit_bytes_s == 1024 * 1024


def test_nothing_winds_up_while_all_under_the_cap_rest():
    beside = tuple(one._replace(wait_ms=4.5) for one in AT_WORK)
    state, _ = run(SHARE, observe(*AT_WORK, IDLE), *[observe(*beside, usage("new", 700))] * 20)
    total = state["sda"].memory.total
    state, _ = run(SHARE, *[observe(*AT_WORK, IDLE)] * 200, state=state)
    assert state["sda"].memory.total == total


def test_a_limit_changes_by_steps_and_does_not_fall_when_a_container_begins_to_press():
    state, [made, _] = run(SHARE, *[observe(*AT_WORK, IDLE)] * 2)
    limit = limits_of(made)["new"]
    for period in range(6):
        pressing = observe(*LATE, usage("new", limit / 1024))
        state, _ = run(SHARE, pressing, state=state)
        limit, before = state["sda"].throttled["new"].limit_bytes_s, limit
        assert round(FALL * before) <= limit <= RISE * before
        assert (limit < before) == (period > 0 and before > DEFAULTS.floor_bytes_s)


# The closed loop, over the disk of study 3


@pytest.mark.parametrize("load", LOADS)
def test_nearly_nobody_misses_the_sla_after_the_first_quarter_of_a_second(load):
    missed = sum(simulated(load, seed, SHARE)[0] for seed in range(1, 6))
    assert missed <= (5 if load == "mixed" else 2)  # of 60 seconds
