"""The scheduler cfq keeps what its description promises."""

import pytest

from decisions import decisions
from dispatch_order import (
    SERVICE_MS,
    SLOW,
    TICK_MS,
    idle_over_waiting_ms,
    lasting,
    ran,  # noqa: F401
    reader,
    served,
    turns,
)
from elevatorlab.results import trace


def begins(requests):
    """Return the first request of each turn, and when the oldest one of its process came."""
    is_first = requests["process"] != requests["process"].shift()
    oldest_s = requests[::-1].groupby("process")["inserted_s"].cummin()[::-1]
    return requests.assign(oldest_s=oldest_s)[is_first]


def at_once(depth):
    """Return fio's options for a process that has so many requests under way."""
    return {"ioengine": "libaio", "iodepth": depth}


#: More servers than any process has requests: only the scheduler holds these back.
DEEP = {**SLOW, "parallelism": 32}


@pytest.mark.image
class TestCfq:
    """Slices, priorities, and the wait for a process."""

    def test_slices_are_as_long_as_priorities_say(self, ran):
        high, low = reader("high", 0, prioclass=2, prio=0), reader("low", 32, prioclass=2, prio=7)
        jobs = [{**job, "options": {**job["options"], **lasting("1500ms")}} for job in (high, low)]
        found = served(ran("cfq", jobs, low_latency=0), high=0, low=32)
        both = turns(found)[1:-1]  # the last one is alone, the first one was
        lasted_ms = 1000 * (both["end_s"] - both["begin_s"]).groupby(both["process"]).median()
        assert lasted_ms["high"] == pytest.approx(180, abs=2 * SERVICE_MS)
        assert lasted_ms["low"] == pytest.approx(40, abs=2 * SERVICE_MS)
        # It was waited for each reader: nobody else was served in its slice.
        assert both["requests"].min() > 10

    def test_idle_is_served_when_nobody_else_is(self, ran):
        jobs = [
            reader("normal", 0, **lasting("300ms")),
            reader("idle", 32, prioclass=3, size="256k"),
        ]
        found = served(ran("cfq", jobs), normal=0, idle=32)
        normal, idle = (found[found["process"] == name] for name in ("normal", "idle"))
        both = idle[idle["issued_s"] < normal["issued_s"].max()]
        assert len(idle) == 64 and len(both) <= 1  # it may have come first

    def test_real_time_goes_first(self, ran):
        jobs = [
            reader("normal", 0, ioengine="libaio", iodepth=16, **lasting("300ms")),
            reader("urgent", 32, prioclass=1, thinktime="20ms", **lasting("300ms")),
        ]
        found = served(ran("cfq", jobs), normal=0, urgent=32)
        urgent = found[found["process"] == "urgent"]
        waited_ms = 1000 * (urgent["issued_s"] - urgent["inserted_s"])
        # One request is at the disk, and one the block layer has taken already.
        assert len(urgent) >= 10 and waited_ms.max() <= 2 * SERVICE_MS + 0.5

    def test_without_slice_idle_it_waits_for_nobody(self, ran):
        jobs = [reader("one", 0, **lasting("200ms")), reader("other", 32, **lasting("200ms"))]
        waiting = idle_over_waiting_ms(served(ran("cfq", jobs), one=0, other=32))
        never = idle_over_waiting_ms(served(ran("cfq", jobs, slice_idle=0), one=0, other=32))
        assert (waiting > 0.01).sum() > 50 and waiting.max() < 8 + 1
        assert never.max() < 0.2

    def test_a_long_break_is_soon_forgotten(self, ran):
        jobs = [
            reader("pauses", 0, thinktime="100ms", thinktime_blocks=20, **lasting("900ms")),
            reader("other", 32, **lasting("900ms")),
        ]
        found = turns(served(ran("cfq", jobs), pauses=0, other=32))
        own = found.loc[found["process"] == "pauses", "requests"]
        # It is waited for each of the requests between two breaks.
        assert len(own) >= 4 and set(own[:-1]) == {20}

    def test_who_thinks_long_is_not_waited_for(self, ran):
        jobs = [
            reader("thinks", 0, thinktime="12ms", **lasting("400ms")),
            reader("other", 32, **lasting("400ms")),
        ]
        found = served(ran("cfq", jobs, slice_sync=10), thinks=0, other=32)
        idle_ms, own = idle_over_waiting_ms(found), found.index[found["process"] == "thinks"]
        # It takes a few requests to find out how long it thinks, and that it is alone with that.
        assert idle_ms[own[0] : own[5]].max() > 7 and idle_ms[own[8] : own[-2]].max() < 0.2

    @pytest.mark.parametrize("direct", [True, False])
    def test_a_journal_waits_for_direct_writes_and_not_for_synchronised_ones(self, ran, direct):
        def writer(name, at_mib, direct):
            options = {"direct": int(direct), "fdatasync": int(not direct)}
            return reader(name, at_mib, rw="write", **options, **lasting("200ms"))

        jobs = [writer("log", 0, direct), writer("journal", 32, direct=False)]
        found = turns(served(ran("cfq", jobs), log=0, journal=32))
        # The kernel says of a direct write that another one will follow: so does MariaDB's log.
        in_a_turn = found.loc[found["process"] == "log", "requests"].median()
        assert in_a_turn > 10 if direct else in_a_turn == 1

    @pytest.mark.parametrize("quantum", [3, 64])
    def test_no_process_has_more_than_quantum_in_the_disk(self, ran, quantum):
        depth, places = 16, {"one": 0, "other": 32}
        options = {"rw": "randread", **at_once(depth), **lasting("60ms")}
        jobs = [reader(name, at_mib, **options) for name, at_mib in places.items()]
        found = served(ran("cfq", jobs, DEEP, slice_sync=10, quantum=quantum), **places)
        for _, own in found.groupby("process"):
            ended = own["completed_s"]
            in_disk = [n + 1 - (ended <= at_s).sum() for n, at_s in enumerate(own["issued_s"])]
            assert max(in_disk) == min(quantum, depth)

    @pytest.mark.parametrize(
        ("latency", "together_ms"),
        [({"target_latency": 100}, 100), ({"target_latency": 60}, 60), ({"low_latency": 0}, 160)],
    )
    def test_all_slices_together_last_target_latency(self, ran, latency, together_ms):
        places = {"first": 0, "second": 16, "third": 32, "fourth": 48}
        # Who has requests under way at the end of its slice is one of those that wait.
        options = {**at_once(4), **lasting("400ms")}
        jobs = [reader(name, at_mib, **options) for name, at_mib in places.items()]
        found = turns(served(ran("cfq", jobs, slice_sync=40, **latency), **places))
        round_ms = 1000 * found["begin_s"].groupby(found["process"]).diff().median()
        # A slice ends with a request.
        assert round_ms == pytest.approx(together_ms, abs=4 * SERVICE_MS)

    @pytest.fixture
    def read_and_written(self, ran):
        """Return the requests of one process that reads, and of one that writes asynchronously."""

        def serve(prio=4, **tunables):
            # fio asks the kernel to write back, and does not wait for that.
            # After 200 ms the kernel's own throttle (wbt) lets fewer writes reach the scheduler.
            writes = {"rw": "randwrite", "direct": 0, "sync_file_range": "write:4"}
            jobs = [
                reader("reads", 0, **at_once(4), **lasting("180ms")),
                reader("writes", 32, prioclass=2, prio=prio, **writes, **lasting("180ms")),
            ]
            tunables = {"slice_sync": 20, "quantum": 1, **tunables}
            found = served(ran("cfq", jobs, DEEP, **tunables), reads=0, writes=32)
            # Before the reads begin, their process opens the disk, and may have it synchronised.
            begun_s = found.loc[found["process"] == "reads", "issued_s"].min()
            both = found[found["issued_s"] >= begun_s]
            assert set(both["operation"]) == {"R", "W"}  # a synchronous write is WS
            return both

        return serve

    @pytest.mark.parametrize(
        ("prio", "tunables", "expected"),
        [(4, {}, 2), (4, {"slice_async_rq": 8}, 8), (0, {}, 3), (7, {}, 1)],
    )
    def test_so_many_writes_go_in_a_slice(self, read_and_written, prio, tunables, expected):
        found = turns(read_and_written(prio, **tunables))[:-1]  # then nobody reads
        # In the first turn, the program that reads has only begun.
        writes = found.loc[found["process"] == "writes", "requests"][1:]
        assert len(writes) > 5 and set(writes) == {expected}

    @pytest.mark.parametrize("kind", ["sync", "async"])
    def test_what_has_expired_is_first_in_its_slice(self, ran, read_and_written, kind):
        def is_the_oldest(expire_ms):
            """Tell for each slice whether it begins with the oldest, if that waited for 60 ms."""
            tunables = {f"fifo_expire_{kind}": expire_ms}
            if kind == "async":
                found = read_and_written(**tunables)
            else:
                options = {"rw": "randread", **at_once(16), **lasting("400ms")}
                jobs = [reader("one", 0, **options), reader("other", 32, **options)]
                found = served(ran("cfq", jobs, slice_sync=20, **tunables), one=0, other=32)
            first = begins(found)[:-2]  # then few are left
            first = first[first["process"] != "reads"]
            waited_ms = 1000 * (first["issued_s"] - first["oldest_s"])
            late = first[waited_ms > 60 + TICK_MS + SERVICE_MS]
            return late["inserted_s"] == late["oldest_s"]

        with_expiry, without = is_the_oldest(60), is_the_oldest(10_000)
        assert len(with_expiry) >= 3 and with_expiry.all()
        assert len(without) >= 3 and without.mean() < 0.5  # by chance, the oldest is the nearest

    def test_the_way_back_is_dearer_and_only_so_long(self, ran):
        def passed(found, back_seek_penalty=2, back_seek_max=16384):
            """Count the choices that passed what these tunables put before it."""

            def way(arm, waiting):
                back = arm - waiting.sector
                if back <= 0:
                    return 0, -back
                # From too far above, the first one is next.
                allowed = back <= 2 * back_seek_max
                return (0, back * back_seek_penalty) if allowed else (1, waiting.sector)

            return sum(
                any(way(one.arm, other) < way(one.arm, one.chosen) for other in one.others)
                for one in found
            )

        rules = ({}, {"back_seek_penalty": 8}, {"back_seek_max": 1024})
        jobs = [reader("one", 0, rw="randread", size="64m", **at_once(24), **lasting("250ms"))]
        for rule in rules:
            found = list(decisions(trace.read(ran("cfq", jobs, **rule))))
            assert passed(found, **rule) == 0
            assert all(passed(found, **other) > 2 for other in rules if other != rule)
