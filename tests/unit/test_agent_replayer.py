"""Requests from a list: each is sent when it is due, moves what it asks for, or fails the trial."""

import os
import threading

import pytest

from elevatorlab.agent.groups import replayer

#: What a request asks for, in bytes.
BLOCK = 4096


@pytest.fixture
def disk(tmp_path):
    """Return the path of a disk of 16 blocks."""
    file = tmp_path / "disk"
    file.write_bytes(bytes(16 * BLOCK))
    try:
        os.close(os.open(file, os.O_RDWR | os.O_DIRECT))
    except OSError as problem:
        pytest.skip(f"no direct I/O below the temporary folder: {problem}")
    return str(file)


def request(number, at_us=0, write=False):
    return {"at_us": at_us, "offset_bytes": number * BLOCK, "size_bytes": BLOCK, "write": write}


class Counted:
    """`os.preadv`, which also knows in which order it is called, and how often at once."""

    def __init__(self):
        self.read, self.lock = os.preadv, threading.Lock()
        self.places, self.under_way, self.most = [], 0, 0

    def __call__(self, file, buffers, offset):
        with self.lock:
            self.places.append(offset // BLOCK)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        done_bytes = self.read(file, buffers, offset)
        with self.lock:
            self.under_way -= 1
        return done_bytes


@pytest.fixture
def counted(monkeypatch):
    made = Counted()
    monkeypatch.setattr(os, "preadv", made)
    return made


def test_each_request_has_its_own_times(disk):
    requests = [request(0), request(1, write=True), request(2, at_us=50_000)]
    found = replayer.replay(disk, requests)
    assert len(found) == 3
    assert all(one["late_us"] >= 0 and one["latency_us"] > 0 for one in found)


@pytest.mark.parametrize("in_flight", [1, 3])
def test_no_more_are_under_way_than_may_be(disk, counted, in_flight):
    requests = [request(number % 16) for number in range(600)]
    assert len(replayer.replay(disk, requests, in_flight)) == 600
    assert counted.most <= in_flight
    assert sorted(counted.places) == sorted(number % 16 for number in range(600))
    if in_flight == 1:
        assert counted.places == [number % 16 for number in range(600)]


def serially(disk, *numbers):
    return replayer.replay_serially(disk, [(0, 0, 8 * number, 8) for number in numbers])


def at_times(disk, *numbers):
    return replayer.replay(disk, [request(number) for number in numbers])


@pytest.mark.parametrize("replay", [serially, at_times])
def test_a_disk_that_ends_before_a_request_is_refused_before_the_first_one(disk, counted, replay):
    with pytest.raises(OSError, match="at least the 69632 bytes .* found 65536"):
        replay(disk, 0, 1, 16)
    assert counted.places == []


@pytest.mark.parametrize("replay", [serially, at_times])
def test_a_request_that_moves_less_than_it_asked_for_is_no_result(disk, monkeypatch, replay):
    monkeypatch.setattr(os, "preadv", lambda file, buffers, offset: 512)
    with pytest.raises(OSError, match="at byte 4096 moved 512 of its 4096 bytes"):
        replay(disk, 1)


def test_a_failure_ends_a_replay_at_once_though_others_are_due_in_a_day(disk, monkeypatch):
    monkeypatch.setattr(os, "preadv", lambda file, buffers, offset: 0)
    with pytest.raises(OSError, match="moved 0 of its 4096 bytes"):
        replayer.replay(disk, [request(0), request(1, at_us=86_400_000_000)])
