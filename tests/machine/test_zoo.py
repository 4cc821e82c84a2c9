"""Each scheduler of environments/kernel/schedulers keeps what its description promises.

The tests of cfq are in test_cfq.py.
"""

import random

import pytest

from decisions import decisions
from dispatch_order import (
    SLOW,
    TICK_MS,
    idle_over_waiting_ms,
    lasting,
    ran,  # noqa: F401
    reader,
    served,
    turns,
)
from elevatorlab.paths import ENVIRONMENTS
from elevatorlab.plugins.scheduler_folders import ZOO
from elevatorlab.results import trace


def arrivals(count=120, every_ms=1.5, seed=3):
    """Return requests for places all over the disk, no two side by side, faster than it serves."""
    places = random.Random(seed).sample(range(0, 16384, 2), count)
    return [
        {"at_us": round(number * every_ms * 1000), "offset_bytes": place * 4096}
        for number, place in enumerate(places)
    ]


@pytest.fixture(scope="module")
def decided(ran):
    """Return the decisions of a scheduler about `arrivals`."""

    def decide(name, **tunables):
        replay = {"kind": "replay", "name": "all", "group": "main", "requests": arrivals()}
        found = list(decisions(trace.read(ran(name, (replay,), **tunables))))
        assert len(found) == len(arrivals())
        # The queue was deep enough for the order to matter.
        assert max(len(one.others) for one in found) > 20
        return found

    return decide


SCHEDULERS = ENVIRONMENTS / "kernel" / "schedulers"


def test_each_is_listed_and_has_its_licence():
    assert {folder.name for folder in SCHEDULERS.iterdir() if folder.is_dir()} == set(ZOO)
    for file in SCHEDULERS.glob("*/*.[ch]"):
        assert "SPDX-License-Identifier: GPL-2.0-only" in file.read_text().partition("\n")[0]


@pytest.mark.image
class TestOrders:
    """Which of those that wait goes next."""

    def test_fifo_takes_the_oldest(self, decided):
        for one in decided("fifo"):
            assert all(one.chosen.since_s <= other.since_s for other in one.others)

    def test_sstf_passes_no_nearer_request(self, decided):
        for one in decided("sstf"):
            way = abs(one.chosen.sector - one.arm)
            assert all(abs(other.sector - one.arm) >= way for other in one.others)

    def test_look_turns_only_at_the_last_request(self, decided):
        up, turns = True, 0
        for one in decided("look"):
            if (one.chosen.sector >= one.arm) != up:
                ahead = [other for other in one.others if (other.sector >= one.arm) == up]
                assert not ahead
                up, turns = not up, turns + 1
            between = sorted((one.arm, one.chosen.sector))
            passed = [other for other in one.others if between[0] <= other.sector < between[1]]
            assert not passed
        assert 2 <= turns < 30

    def test_c_look_goes_up_only_and_returns_to_the_first(self, decided):
        returns = 0
        for one in decided("c-look"):
            above = [other.sector for other in one.others if other.sector >= one.arm]
            if one.chosen.sector >= one.arm:
                assert all(one.chosen.sector < sector for sector in above)
            else:
                returns += 1
                assert not above
                assert all(one.chosen.sector < other.sector for other in one.others)
        assert 2 <= returns < 30

    def test_fscan_freezes_its_batch(self, decided):
        batches = []
        batch = {}
        for one in decided("fscan"):
            if not batch:
                batch = {other.sector for other in (one.chosen, *one.others)}
                batches.append([])
            batch.remove(one.chosen.sector)  # nothing that came later is among them
            batches[-1].append(one.chosen.sector)
        for number, sweep in enumerate(batches):
            assert sweep == sorted(sweep, reverse=number % 2 == 1)
        assert max(map(len, batches)) > 20

    @pytest.mark.parametrize("name", ["look", "c-look"])
    def test_what_has_waited_long_enough_goes_next(self, name, decided):
        expire_ms, overtook = 60, 0
        for one in decided(name, expire_ms=expire_ms):
            oldest = min((one.chosen, *one.others), key=lambda waiting: waiting.since_s)
            waited_ms = 1000 * (one.at_s - oldest.since_s)
            if waited_ms > expire_ms + TICK_MS:
                assert oldest == one.chosen
            overtook += oldest != one.chosen
        assert overtook > 10


#: To get from the near reader to the far one, and to serve that, takes five times as long.
WITH_AN_ARM = {
    **{"kind": "paced_disk", "profile": "arm", "size_mib": 64},
    **{"service_us": 1000, "bandwidth_kib_s": 65536},
}


@pytest.mark.image
class TestAnticipatory:
    """Whether the disk is kept idle for who has just read, and for how long."""

    @pytest.fixture
    def near_and_far(self, ran):
        """Return the requests of one process that reads on, and of another far away."""

        def serve(near, device=WITH_AN_ARM, **tunables):
            far = reader("far", 32, rw="randread", bs="256k", size="32m", **lasting("400ms"))
            jobs = [reader("near", 0, **lasting("400ms"), **near), far]
            return served(ran("anticipatory", jobs, device, **tunables), near=0, far=32)

        return serve

    def test_it_waits_for_the_process_that_has_just_read(self, near_and_far):
        thinks = {"thinktime": "1ms"}
        with_wait = turns(near_and_far(thinks))
        without = turns(near_and_far(thinks, antic_expire_ms=0))
        near, far = (
            found.loc[found["process"] == "near", "requests"].median()
            for found in (with_wait, without)
        )
        assert near >= 5 and far == 1

    def test_it_gives_up_in_time(self, near_and_far):
        found = near_and_far({"thinktime": "40ms", "thinktime_blocks": 8}, expire_ms=0)
        idle_ms = idle_over_waiting_ms(found)
        assert 14 < idle_ms.max() < 15.5  # antic_expire_ms
        # Then the other one is served, not the one that it has waited for.
        assert set(found.loc[idle_ms[idle_ms > 14].index, "process"]) == {"far"}

    def test_it_never_waits_on_a_disk_without_an_arm(self, near_and_far):
        found = near_and_far({"thinktime": "1ms"}, device=SLOW)
        # While both read: the end of one is work for the one processor.
        both = found[: found.groupby("process").tail(1).index.min()]
        # A wait that was worth it would take half a millisecond, the shortest think time.
        assert len(both) > 100 and idle_over_waiting_ms(both).max() < 0.2

    def test_what_has_waited_long_enough_goes_next(self, near_and_far):
        found = near_and_far({"thinktime": "0"}, expire_ms=30)
        waited_ms = 1000 * (found["issued_s"] - found["inserted_s"])
        assert waited_ms.max() < 30 + TICK_MS + 6  # what is at the disk is not stopped
