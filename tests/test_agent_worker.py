"""The worker: what it does in a group, and how it says that something failed."""

import hashlib
import sys
from types import SimpleNamespace

import pytest

from elevatorlab.agent import devices, worker
from elevatorlab.agent.errors import TrialFailed
from elevatorlab.agent.workloads import TimedReads, TimedTreeRead
from elevatorlab.testbeds import pyz
from helpers import running, wait_until


@pytest.fixture
def hand(tmp_path):
    """Return a real worker, started from the archive as in a trial."""
    (tmp_path / "agent.pyz").write_bytes(pyz.agent_archive())
    python = SimpleNamespace(name="main", command=lambda argv: [sys.executable, *argv[1:]])
    started = worker.Worker(python, str(tmp_path / "agent.pyz"))
    yield started
    started.stop()


def test_timed(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1 << 20))
    row = worker.timed(["cat", str(tmp_path / "file")])
    assert row["time_ns"] > 0
    assert row["storage_read_bytes"] % 512 == 0


def test_timed_with_a_failing_command():
    with pytest.raises(RuntimeError, match="sh ended with status 7"):
        worker.timed(["sh", "-c", "exit 7"])


def test_a_failure_in_the_group_fails_the_trial(hand):
    with pytest.raises(TrialFailed) as failure:
        hand.call("timed", argv=["false"])
    assert str(failure.value) == ("timed in group 'main': RuntimeError: false ended with status 1")
    assert hand.call("timed", argv=["true"])["time_ns"] > 0


def test_a_worker_that_is_gone(hand):
    hand.process.kill()
    hand.process.wait()
    with pytest.raises(TrialFailed, match=r"worker of group 'main' ended \(status -9\).*timed"):
        hand.call("timed", argv=["true"])


def test_an_endless_loop_ends_with_its_worker(hand):
    loop = hand.call("start_loop", command="sleep 1")
    assert running(loop)
    hand.stop()
    wait_until(lambda: not running(loop))


def sha256(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        (str(file.relative_to(folder)), hashlib.sha256(file.read_bytes()).hexdigest())
        for file in files
    ]


def test_files_follow_the_seed(tmp_path):
    size = worker.BLOCK_BYTES + 1234
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        worker.make_file(tmp_path / name, size, seed)
        assert (tmp_path / name).stat().st_size == size
    a, b, c = (content for _, content in sha256(tmp_path))
    assert a == b != c


def test_trees_follow_the_seed(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        worker.make_tree(tmp_path / name, [10, 0, 3000], 2, seed)
    a, b, c = (sha256(tmp_path / name) for name in "abc")
    assert [name for name, _ in a] == ["00000/000000", "00000/000001", "00001/000002"]
    assert a == b != c


def tree(seed, calls):
    shape = {"files": 50, "files_per_folder": 10, "median_kib": 4, "sigma": 1.8, "largest_kib": 16}
    hand = SimpleNamespace(call=lambda function, **arguments: calls.append(arguments))
    group = SimpleNamespace(work="/work")
    specification = {"name": "tree", "cache": "warm", **shape}
    TimedTreeRead(specification, group, hand, "disk", seed, "/raw").prepare()


def test_sizes_in_a_tree_follow_the_seed_and_the_largest():
    calls = []
    for seed in (1, 1, 2):
        tree(seed, calls)
    first, again, other = (call["sizes_bytes"] for call in calls)
    assert first == again != other
    assert len(first) == 50
    assert max(first) == 16 << 10  # with this shape some are larger, and cut


@pytest.mark.parametrize("cache, refused", [("warm", False), ("direct", True)])
def test_a_read_that_the_cache_answered(cache, refused, monkeypatch):
    monkeypatch.setattr(devices, "read_bytes", lambda device: 0)
    answer = {"time_ns": 5, "storage_read_bytes": 0}
    hand = SimpleNamespace(call=lambda function, **arguments: dict(answer))
    specification = {"name": "cat", "sizes_mib": [1], "cache": cache}
    reads = TimedReads(specification, SimpleNamespace(work="/work"), hand, "disk", 1, "/raw")
    reads.rows = []
    if refused:
        with pytest.raises(TrialFailed, match="expected at least 1048576 bytes.*found 0"):
            reads.run()
    else:
        reads.run()
        assert reads.figures()["reads"] == [
            {"size_mib": 1, "bytes_read": 1 << 20, "device_read_bytes": 0, **answer}
        ]


def test_the_archive_is_the_same_bytes_every_time():
    first = pyz.agent_archive()
    pyz.agent_archive.cache_clear()
    assert pyz.agent_archive() == first
