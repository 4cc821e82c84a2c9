"""The writer's arithmetic by hand, and its writes on a real file."""

import threading

import pytest

from elevatorlab.agent.groups import paced_writer
from elevatorlab.agent.groups.cgroups import _as_qos


def test_a_summary_by_hand():
    ended = [(10.1, 0.001), (10.2, 0.003), (11.9, 0.002)]
    found = paced_writer.summary(ended, 10.0, 4096, 1.0, 2.0)
    assert (found["requests"], found["bytes"]) == (3, 3 * 4096)
    assert found["latency_mean_us"] == pytest.approx(2000)
    assert found["busy_s"] == pytest.approx(0.006)
    assert found["latency_percentile_us"]["50"] == pytest.approx(2000)
    assert found["latency_percentile_us"]["99.9"] == pytest.approx(3000)
    assert [one["requests"] for one in found["series"]] == [2, 1]
    assert found["series"][0]["latency_mean_us"] == pytest.approx(2000)
    assert [one["latency_p99_us"] for one in found["series"]] == pytest.approx([3000, 2000])


def test_a_write_that_ends_late_counts_for_the_last_interval():
    found = paced_writer.summary([(12.4, 0.5)], 10.0, 4096, 1.0, 2.0)
    assert [one["requests"] for one in found["series"]] == [0, 1]


def test_no_write_has_no_latency():
    found = paced_writer.summary([], 10.0, 4096, 1.0, 2.0)
    assert found["requests"] == 0 and found["latency_mean_us"] is None
    assert found["latency_percentile_us"] == {} and found["histogram"] == []


def test_every_latency_is_in_a_bin_that_is_at_most_a_tenth_wider():
    latencies_us = [0.2, 1.0, 1.01, 7.0, 1850.0, 34000.0]
    found = paced_writer.histogram(latencies_us)
    assert sum(count for _, count in found) == len(latencies_us)
    ends = [end for end, count in found for _ in range(count)]
    for latency, end in zip(latencies_us, ends, strict=True):
        assert latency <= end * (1 + 1e-12)
        assert latency <= 1 or end / latency < 2 ** (1 / paced_writer.BINS_PER_OCTAVE) * (1 + 1e-12)


@pytest.fixture
def disk(tmp_path):
    file = tmp_path / "disk"
    file.write_bytes(bytes(64 << 10))
    return str(file)


class Clock:
    """A clock that goes on when it is asked, and when somebody sleeps: not with the machine."""

    def __init__(self):
        self.now_s, self.lock = 1000.0, threading.Lock()
        self.pauses_s = []

    def monotonic(self):
        return self._advanced(20e-6)

    def sleep(self, duration_s):
        self.pauses_s.append(duration_s)
        self._advanced(duration_s)

    def _advanced(self, duration_s):
        with self.lock:
            self.now_s += duration_s
            return self.now_s


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(paced_writer, "time", made)
    return made


def write(disk, request_bytes=4096, **phase):
    plain = {"duration_s": 0.3, "writers": 1, "think_us": 2000, "arrivals_per_s": None}
    try:
        paced_writer.prepare_writes("one", disk, request_bytes, "constant", "1")
    except OSError as problem:
        pytest.skip(f"no direct I/O below the temporary folder: {problem}")
    return paced_writer.paced_writes("one", [{**plain, **phase}], 100)


def test_a_writer_thinks_after_each_write(disk):
    found = write(disk)
    # A cycle is the think time and the write's own.
    cycle_s = 0.002 + found["latency_mean_us"] / 1e6
    assert found["requests"] == pytest.approx(0.3 / cycle_s, rel=0.25)
    assert found["duration_s"] == pytest.approx(0.3)


def test_each_writer_draws_pauses_of_its_own(clock):
    load = paced_writer.Load.__new__(paced_writer.Load)
    load.seed, load.exponential, load._write = "1", True, lambda since_s: None
    first_s = []
    for writer in (0, 1, 0):
        clock.pauses_s.clear()
        load._write_and_think(writer, 0.02, clock.now_s + 0.1)
        first_s.append(clock.pauses_s[0])
    assert first_s[0] == first_s[2] != first_s[1]


def test_open_arrivals_do_not_wait_for_earlier_writes(disk):
    found = write(disk, duration_s=1.5, writers=8, think_us=0, arrivals_per_s=200.0)
    assert 295 <= found["requests"] <= 302


def test_no_writers_write_nothing(disk):
    assert write(disk, writers=0)["requests"] == 0


def test_writes_start_again_at_the_beginning_of_a_full_disk(disk):
    found = write(disk, request_bytes=16 << 10, think_us=0)
    assert found["bytes"] > 64 << 10


@pytest.mark.parametrize("phases_s", [(2.0, 8 / 3, 8 / 3, 8 / 3), (0.1,) * 10, (0.3, 0.7)])
def test_a_sum_of_phases_has_as_many_periods_as_their_whole_time(phases_s):
    end_s = start_s = 12345.678901
    for phase_s in phases_s:
        end_s += phase_s
    series = paced_writer.summary([(end_s, 0.001)], start_s, 4096, 1.0, end_s - start_s)["series"]
    assert len(series) == round(sum(phases_s))
    assert [one["requests"] for one in series] == [0] * (len(series) - 1) + [1]


def test_a_part_of_a_period_counts_as_one():
    assert len(paced_writer.summary([], 0.0, 4096, 1.0, 2.5)["series"]) == 3


def test_latencies_of_the_cost_controller_are_whole_and_its_percents_are_not():
    values = {"wpct": 90, "wlat": 5000.0, "min": 25}
    assert [_as_qos(*pair) for pair in values.items()] == ["90.00", "5000", "25.00"]
