"""The worker: what it does in a group, and how it says that something failed."""

import io
import json
import os
import signal
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import pytest

from elevatorlab.agent.devices import block_device
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.groups import connection, worker
from elevatorlab.agent.workloads import TimedReads, TimedTreeRead
from elevatorlab.agent.workloads.base import Workload, do
from elevatorlab.testbeds import agent_archive
from helpers import running, wait_until


def of_the_archive(tmp_path):
    """Start a worker as a container has one."""
    (tmp_path / "agent.pyz").write_bytes(agent_archive.agent_archive())
    return connection.Pipes([sys.executable, str(tmp_path / "agent.pyz"), "worker"])


@pytest.fixture(params=[of_the_archive, connection.Copy])
def hand(request, tmp_path):
    """Return a real worker of each kind, in a folder in place of a cgroup."""
    started = connection.Worker("main", request.param(tmp_path))
    yield started
    started.stop()


def test_a_copy_enters_its_cgroup_and_keeps_no_file_of_the_agent(tmp_path):
    with open(tmp_path / "journal", "w") as journal:
        first, second = (connection.Copy(tmp_path) for _ in range(2))
        assert (tmp_path / "cgroup.procs").read_text() == "0"
        hand = connection.Worker("main", second)
        listed = hand.call("run", argv=["ls", "-l", f"/proc/{second.process}/fd"])["output"]
    assert journal.name not in listed and "cgroup.procs" not in listed
    assert first.close() == 0, "it would wait for ever if the second one held its pipe"
    assert second.close() == 0


@pytest.fixture
def listener(tmp_path):
    """Return the path of a socket on which a real worker listens, and the worker's process."""
    (tmp_path / "agent.pyz").write_bytes(agent_archive.agent_archive())
    path = str(tmp_path / "socket")
    process = subprocess.Popen([sys.executable, tmp_path / "agent.pyz", "worker", path])
    yield path, process
    process.kill()
    process.wait()


def hand_on(path):
    return connection.Worker("main", connection.Socket(path))


def test_a_worker_on_a_socket_serves_all_who_come(listener):
    path, process = listener
    first, second = hand_on(path), hand_on(path)
    assert first.call("run", argv=["echo", "1"]) == {"status": 0, "output": "1\n", "errors": ""}
    assert second.call("run", argv=["echo", "2"]) == {"status": 0, "output": "2\n", "errors": ""}
    first.stop()
    assert second.call("timed", argv=["true"])["time_ns"] > 0
    assert process.poll() is None
    second.stop()
    assert process.wait(timeout=300) == 0, "the container's first process ends with the last one"


def test_a_container_that_is_gone(listener):
    path, process = listener
    hand = hand_on(path)
    process.kill()
    process.wait()
    with pytest.raises(AgentError, match="worker of group 'main' ended with its container"):
        hand.call("timed", argv=["true"])
    hand.stop()


def test_a_worker_that_nobody_comes_to_ends(tmp_path):
    worker.listen(str(tmp_path / "socket"), patience_s=0.1)


def test_a_socket_on_which_nobody_listens(tmp_path):
    with pytest.raises(AgentError, match="no worker listens on .*expected one in the container"):
        connection._connected(str(tmp_path / "socket"), patience_s=0.1)


def test_timed(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1 << 20))
    row = worker.timed(["cat", str(tmp_path / "file")])
    assert row["time_ns"] > 0
    assert row["storage_read_bytes"] % 512 == 0


def test_timed_with_a_failing_command():
    with pytest.raises(RuntimeError, match="sh ended with status 7"):
        worker.timed(["sh", "-c", "exit 7"])


def test_a_failure_in_the_group_fails_the_trial(hand):
    with pytest.raises(AgentError, match="group 'main': RuntimeError: false ended with status 1"):
        hand.call("timed", argv=["false"])
    assert hand.call("timed", argv=["true"])["time_ns"] > 0


COMPLAINT = "for line in $(seq 20); do echo complaint $line >&2; done; exit 7"


def test_what_a_command_complains_of_reaches_the_sentence_and_the_log(hand, capfd):
    with pytest.raises(AgentError) as failure:
        hand.call("timed", argv=["sh", "-c", COMPLAINT])
    said = str(failure.value)
    assert "sh ended with status 7. It said:\ncomplaint 9\ncomplaint 10\n" in said
    assert said.endswith("\ncomplaint 20") and "complaint 8\n" not in said
    ran = hand.call("run", argv=["sh", "-c", COMPLAINT])
    assert (ran["status"], ran["output"]) == (7, "")
    assert ran["errors"] == said.partition("It said:\n")[2]
    assert worker.run(["sh", "-c", COMPLAINT]) == ran
    assert capfd.readouterr().err.startswith("complaint 1\ncomplaint 2\n")


def test_lines_that_are_too_long_are_cut_at_a_line(hand):
    script = f"echo {'x' * 3000} >&2; echo end >&2"
    assert hand.call("run", argv=["sh", "-c", script])["errors"] == "end"


def test_a_function_that_the_worker_does_not_have(hand):
    with pytest.raises(
        AgentError, match="no function 'runs'; expected one of make_file, make_tree"
    ):
        hand.call("runs", argv=["true"])


class Breaks(Workload):
    def run(self):
        return {}["nothing"]

    def prepare(self):
        raise AgentError("my own sentence")


def test_what_a_workload_raises_names_it_and_the_line(capsys):
    group = SimpleNamespace(work="/work", device="disk")
    broken = Breaks({"name": "one", "kind": "breaks"}, group, None, 1, "/raw")
    with pytest.raises(AgentError) as failure:
        do(broken, "run")
    said = str(failure.value)
    assert said.startswith("workload 'one' (breaks): run raised KeyError: 'nothing' (line ")
    assert said.endswith(" of unit/test_agent_worker.py)")
    assert "Traceback" in capsys.readouterr().err
    with pytest.raises(AgentError, match="^my own sentence$"):
        do(broken, "prepare")


def test_a_worker_that_is_gone(hand):
    process = hand.channel.process
    os.kill(getattr(process, "pid", process), signal.SIGKILL)
    with pytest.raises(
        AgentError, match=r"worker of group 'main' ended \(status -9; see log.txt\).*timed"
    ):
        hand.call("timed", argv=["true"])


def test_an_endless_loop_ends_with_its_worker(hand):
    loop = hand.call("start_loop", command="sleep 1")
    assert running(loop)
    hand.stop()
    wait_until(lambda: not running(loop))


def content(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(str(file.relative_to(folder)), file.read_bytes()) for file in files]


def test_files_follow_the_seed(tmp_path):
    size = worker.BLOCK_BYTES + 1234
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        worker.make_file(tmp_path / name, size, seed)
        assert (tmp_path / name).stat().st_size == size
    a, b, c = (found for _, found in content(tmp_path))
    assert a == b != c


def test_trees_follow_the_seed(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        worker.make_tree(tmp_path / name, [10, 0, 3000], 2, seed)
    a, b, c = (content(tmp_path / name) for name in "abc")
    assert [name for name, _ in a] == ["00000/000000", "00000/000001", "00001/000002"]
    assert a == b != c


def tree(seed, calls):
    shape = {"files": 50, "files_per_folder": 10, "median_kib": 4, "sigma": 1.8, "largest_kib": 16}
    hand = SimpleNamespace(call=lambda function, **arguments: calls.append(arguments))
    group = SimpleNamespace(work="/work", device="disk")
    specification = {"name": "tree", "cache": "warm", **shape}
    TimedTreeRead(specification, group, hand, seed, "/raw").prepare()


def test_sizes_in_a_tree_follow_the_seed_and_the_largest():
    calls = []
    for seed in (1, 1, 2):
        tree(seed, calls)
    first, again, other = (call["sizes_bytes"] for call in calls if "sizes_bytes" in call)
    assert first == again != other
    assert len(first) == 50
    assert max(first) == 16 << 10  # with this shape some are larger, and cut


@pytest.mark.parametrize(
    "cache, of_device, of_reader, refused",
    [
        ("warm", 0, 0, False),
        ("direct", 0, 0, True),
        ("direct", 1 << 20, 0, True),  # somebody else read from this device
        ("direct", 0, 1 << 20, True),  # the reader read from another one
        ("direct", 1 << 20, 1 << 20, False),
    ],
)
def test_a_read_that_the_cache_answered(cache, of_device, of_reader, refused, monkeypatch):
    counted = iter([7, 7 + of_device])
    monkeypatch.setattr(block_device, "read_bytes", lambda device: next(counted))
    answer = {"time_ns": 5, "storage_read_bytes": of_reader}
    hand = SimpleNamespace(call=lambda function, **arguments: dict(answer))
    specification = {"name": "cat", "sizes_mib": [1], "cache": cache}
    reads = TimedReads(specification, SimpleNamespace(work="/work", device="disk"), hand, 1, "/raw")
    reads.rows = []
    if refused:
        with pytest.raises(AgentError, match="expected at least 1048576 bytes.*found 0"):
            reads.run()
    else:
        reads.run()
        assert reads.measurements()["reads"] == [
            {"size_mib": 1, "bytes_read": 1 << 20, "device_read_bytes": of_device, **answer}
        ]


def test_the_archive_is_the_same_bytes_every_time():
    first = agent_archive.agent_archive()
    agent_archive.agent_archive.cache_clear()
    assert agent_archive.agent_archive() == first


def names(archive):
    """Return the names of the files in an archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as content:
        return set(content.namelist())


def test_only_the_archive_of_operators_has_what_they_alone_use():
    """So a change to the audit changes no result: the digest of trials is of the other one."""
    of_trials = names(agent_archive.agent_archive())
    of_operators = names(agent_archive.operators_archive())
    theirs = {name for name in of_operators if name.startswith("agent/operations/")}
    assert "agent/operations/audit.py" in theirs
    assert of_operators - of_trials == theirs


def test_the_archive_of_operators_does_the_jobs_of_the_agent_too(tmp_path):
    program = tmp_path / "agent.pyz"
    program.write_bytes(agent_archive.operators_archive())
    for job, said in (("regulate", "usage: regulate"), ("apply", "usage: elevatorlab apply")):
        run = [sys.executable, program, job, "--help"]
        assert subprocess.run(run, capture_output=True, text=True).stdout.startswith(said)
    run = [sys.executable, program, "facts", tmp_path]
    assert json.loads(subprocess.run(run, capture_output=True, text=True).stdout)["kernel"]
