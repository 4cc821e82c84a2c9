"""The regulator in the deterministic machine, with an SLA that no throttling can meet."""

import pytest

from elevatorlab.agent.regulator.control import DEFAULTS
from elevatorlab.results import store
from elevatorlab.running import campaign
from elevatorlab.studies.container_isolation import trials_containers as disks
from helpers import result_of

pytestmark = pytest.mark.image

DISK = disks.disk("write_behind", 1)
PERIOD_S, FLOOR_KIB_S, DURATION_S = 0.2, 128, 4.5
REGULATOR = {
    "policy": "slae",
    # Half of what the disk takes for a write of a container that has it to itself.
    "sla_wait_ms": DISK.accept_us / 1000 / 2,
    "period_s": PERIOD_S,
    "floor_kib_s": FLOOR_KIB_S,
    "start_s": 0.2,
}


def writes(name, **load):
    phase = {"duration_s": DURATION_S, **load}
    plain = {"kind": "paced_writes", "name": name, "group": name, "report_ms": 500}
    return {**plain, "request_bytes": 8192, "phases": (phase,)}


@pytest.fixture(scope="module")
def found(testbed, make_trial, tmp_path_factory):
    """Return the result of a trial in which a container waits longer than is promised, always."""
    trial = make_trial(
        device=DISK,
        divided=True,
        groups=({"name": "normal"}, {"name": "overload"}),
        workloads=(writes("normal", think_us=disks.THINK_US), writes("overload", writers=3)),
        regulator=REGULATOR,
    )
    results = tmp_path_factory.mktemp("results")
    campaign.run([campaign.Share(testbed, [trial])], results)
    return result_of(store.folder(results, testbed) / trial.hash)


def limits(found):
    """Return (when, limit in KiB/s) of each decision about the overload."""
    return [
        (one["time_s"], one["limit_bytes_s"] / 1024)
        for one in found["regulator"]
        if one["container"] == "overload"
    ]


def report(found):
    """Return the one line in which the regulator says that it has given up."""
    [only] = [one for one in found["regulator"] if one["action"] == "report"]
    return only


def test_the_log_says_after_so_many_periods_that_the_sla_cannot_be_met(found):
    periods = DEFAULTS.give_up_after
    cause = report(found)["cause"]
    assert cause.startswith("wait_ms of normal is ") and "SLA 0.2" in cause
    assert f"after {periods} periods at the floor: throttling cannot meet it" in cause
    at_floor_s = next(time_s for time_s, limit in limits(found) if limit == FLOOR_KIB_S)
    # The decision that reaches the floor is the last one before the periods there, or the first.
    # A decision comes a few milliseconds after its period's end, now more, now less.
    took_s = report(found)["time_s"] - at_floor_s
    assert took_s == pytest.approx(periods * PERIOD_S, abs=1.1 * PERIOD_S)


def test_the_overload_is_not_left_at_the_floor(found):
    given_up_s = report(found)["time_s"]
    after = [limit for time_s, limit in limits(found) if time_s > given_up_s]
    assert after == sorted(after) and after[0] > FLOOR_KIB_S
    series = found["workloads"]["overload"]["series"]
    throttled = [one["requests"] for one in series if given_up_s - 1 < one["time_s"] < given_up_s]
    in_the_end = [one["requests"] for one in series[-2:]]
    assert min(in_the_end) > 2 * max(throttled)
