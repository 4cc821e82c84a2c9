"""The sampler's arithmetic, on counters whose rates can be worked out by hand."""

from types import SimpleNamespace

import pytest

from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.observe import sampler
from elevatorlab.agent.workloads import fio_points
from helpers import FIXTURES

RECORDED = (FIXTURES / "diskstats.txt").read_text()
NOTHING = dict.fromkeys(sampler.DISKSTATS, 0)


def test_diskstats_of_a_device():
    assert sampler.read_diskstats("elevatorlab", RECORDED) == {
        **{"reads": 24960, "reads_merged": 0, "read_sectors": 199680, "read_ms": 2136},
        **{"writes": 7, "writes_merged": 3, "write_sectors": 80, "write_ms": 21},
        **{"in_flight": 4, "busy_ms": 300, "weighted_ms": 2157},
    }


def test_diskstats_tells_a_disk_from_its_partition():
    assert sampler.read_diskstats("sda", RECORDED)["reads"] == 1043
    assert sampler.read_diskstats("sda1", RECORDED)["reads"] == 900


def test_diskstats_without_the_device():
    with pytest.raises(AgentError, match="no device sdb; expected it to stay"):
        sampler.read_diskstats("sdb", RECORDED)


def test_rates_by_hand():
    before = {**NOTHING, "reads": 100, "read_sectors": 1000, "in_flight": 9}
    after = {
        **before,
        "reads": 300,  # 200 in 2 s
        "read_sectors": 5096,  # 4096 sectors = 2 MiB in 2 s
        "read_ms": 1600,  # 8 ms a read
        "writes": 10,
        "write_sectors": 80,  # 40 KiB in 2 s
        "write_ms": 30,
        "busy_ms": 500,
        "weighted_ms": 3000,
        "in_flight": 0,
    }
    assert sampler.device_rates(before, after, 2) == {
        **{"read_iops": 100, "read_kib_s": 1024, "read_await_ms": 8},
        **{"write_iops": 5, "write_kib_s": 20, "write_await_ms": 3},
        **{"queue_length": 1.5, "utilization_ratio": 0.25},
    }


def test_without_requests_there_is_no_wait():
    rates = sampler.device_rates(NOTHING, NOTHING, 0.1)
    assert rates.pop("read_await_ms") is None
    assert rates.pop("write_await_ms") is None
    assert set(rates.values()) == {0}


def test_rates_of_a_group():
    before = {"rbytes": 0, "wbytes": 1024, "rios": 0, "wios": 1}
    after = {"rbytes": 4096, "wbytes": 1024 + 2048, "rios": 1, "wios": 5}
    found = sampler.group_rates(before, after, 0.5)
    assert found == {"read_iops": 2, "write_iops": 8, "read_kib_s": 8, "write_kib_s": 4}


def test_a_part_is_busy_as_long_as_its_requests_last():
    # The kernel's own busy time is good to a timer tick: 61 % for one writer that never pauses.
    after = {**NOTHING, "writes": 100, "write_ms": 990, "weighted_ms": 990, "busy_ms": 610}
    rates = sampler.partition_rates(NOTHING, after, 1)
    assert rates["utilization_ratio"] == 0.99
    assert rates["queue_length"] == 0.99
    overlapping = {**after, "write_ms": 3000}
    assert sampler.partition_rates(NOTHING, overlapping, 1)["utilization_ratio"] == 1


def test_a_server_is_as_busy_as_it_says():
    before = {"time_s": 10.0, "busy_s": 1.0, "requests": 5}
    after = {"time_s": 14.0, "busy_s": 3.0, "requests": 1005}
    assert sampler.server_rates(before, after) == {"busy_ratio": 0.5, "service_ms": 2.0}


def test_nothing_is_known_of_a_server_without_an_account():
    assert set(sampler.server_rates(None, None).values()) == {None}
    same = {"time_s": 10.0, "busy_s": 1.0, "requests": 5}
    idle = sampler.server_rates(same, {**same, "time_s": 11.0})
    assert idle == {"busy_ratio": 0.0, "service_ms": None}


def test_a_moment_of_requests_is_not_taken_for_fio(monkeypatch):
    """What looks for a signature reads for a look or two: only several in a row are fio's."""
    monkeypatch.setattr(fio_points, "LOOK_MS", 0)
    counted = iter([0, 4, 8, 8, 9, 9, 10, 11, 12, 13])
    counters = SimpleNamespace(requests=lambda: next(counted))
    watcher = fio_points._Watcher(counters, fio_points.Times(0, 0, 0), None)
    assert watcher._wait_for_requests()
    assert next(counted) == 13


def test_a_point_warms_up_and_is_measured_for_at_least_as_long_as_it_asks():
    usual = {"ramp_ms": 5, "counted_ms": 40, "window_ms": 60}
    assert fio_points.Times.of(usual, 1) == (5, 40, 60)
    longer = {**usual, "least_ms": [3, 20, 900]}
    assert [fio_points.Times.of(longer, number) for number in range(3)] == [
        (5, 40, 60),
        (20, 40, 60),
        (900, 40, 900),
    ]
