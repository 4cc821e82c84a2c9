"""A run that nobody watches: started, followed, fetched, stopped, forgotten, cleaned up after."""

import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from elevatorlab.agent.lifecycle import supervisor
from elevatorlab.agent.lifecycle.run import REQUEST
from helpers import children, running, wait_until

#: Stands where the agent's archive does: the supervisor's own jobs are the real ones, the trial is
#: a short program that says something, waits for a file, and writes a result.
AGENT = """
import sys
sys.path.insert(0, {lib!r})
if sys.argv[1] == "trial":
    import json, pathlib, signal, time
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    wanted = json.loads(pathlib.Path("trial.json").read_text())
    for line in wanted.get("says", ["started"]):
        print(line, flush=True, file=sys.stderr)
    while wanted.get("waits") and not pathlib.Path("go").exists():
        time.sleep(0.01)
    pathlib.Path("result").mkdir()
    pathlib.Path("result/result.json").write_text("{{}}")
    sys.exit(wanted.get("status", 0))
from elevatorlab.agent.lifecycle import supervisor
sys.exit(getattr(supervisor, sys.argv[1])(*sys.argv[2:]))
"""

LIB = str(Path(supervisor.__file__).parents[3])


@pytest.fixture
def agent(tmp_path):
    (tmp_path / "agent.py").write_text(AGENT.format(lib=LIB))

    def do(job, *arguments):
        command = [sys.executable, str(tmp_path / "agent.py"), job, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    return do


@pytest.fixture
def run(tmp_path):
    """Return a function that makes a run's folder; what still runs there is ended afterwards."""
    made = []

    def make(**trial):
        folder = tmp_path / "runs" / f"run{len(made)}"
        folder.mkdir(parents=True)
        (folder / "trial.json").write_text(json.dumps(trial))
        (folder / "site.json").write_text("{}")
        made.append(folder)
        return folder

    yield make
    for folder in made:
        if folder.exists() and supervisor.state(folder) == "running":
            supervisor.stop(folder)


@pytest.fixture
def started(agent, run):
    """Return a function that makes a run's folder and starts the run."""

    def start(**trial):
        folder = run(**trial)
        agent("start", folder)
        return folder

    return start


@pytest.fixture
def finished(started):
    """Return a function that does the same, and waits until the run has ended."""

    def start_and_wait(**trial):
        folder = started(**trial)
        ended(folder)
        return folder

    return start_and_wait


def pid_of(folder):
    return int(wait_until((folder / "agent.pid").exists) and (folder / "agent.pid").read_text())


def ended(folder):
    wait_until(lambda: supervisor.state(folder) != "running")
    return supervisor.state(folder)


def test_a_run_goes_from_new_to_finished(agent, run):
    folder = run(waits=True)
    assert supervisor.state(folder) == "new"
    assert agent("start", folder).returncode == 0
    assert supervisor.state(folder) == "running"
    (folder / "go").touch()
    assert ended(folder) == "finished"
    assert (folder / "log.txt").read_text() == "started\n"


def test_a_started_run_belongs_to_nobody(started):
    folder = started(waits=True)
    trial = pid_of(folder)
    parent = parent_of(trial)
    assert os.getsid(parent) == parent != os.getsid(0)
    assert parent not in children(os.getpid())


def test_who_starts_a_run_twice_starts_it_once(agent, started):
    folder = started(waits=True)
    first = pid_of(folder)
    agent("start", folder)
    assert pid_of(folder) == first and running(first)
    (folder / "go").touch()
    assert ended(folder) == "finished"
    before = (folder / "status").stat().st_mtime_ns
    agent("start", folder)
    assert supervisor.state(folder) == "finished"
    assert (folder / "status").stat().st_mtime_ns == before


def test_two_who_start_a_run_at_the_same_moment_start_it_once(agent, run):
    for _ in range(5):
        folder = run(waits=True)
        both = [threading.Thread(target=agent, args=("start", folder)) for _ in range(2)]
        for one in both:
            one.start()
        for one in both:
            one.join()
        (folder / "go").touch()
        assert ended(folder) == "finished"
        assert (folder / "log.txt").read_text() == "started\n"


@pytest.mark.parametrize("status", [1, 3])
def test_a_failed_run_is_started_anew(agent, status, started):
    folder = started(status=status)
    assert ended(folder) == "failed"
    (folder / "trial.json").write_text(json.dumps({"says": ["again"]}))
    agent("start", folder)
    assert ended(folder) == "finished"
    assert (folder / "log.txt").read_text() == "again\n", "nothing of the first attempt is left"


def test_a_killed_agent_is_a_failed_run(started):
    folder = started(waits=True)
    os.kill(pid_of(folder), signal.SIGKILL)
    assert ended(folder) == "failed"
    assert (folder / "status").read_text() == "137"


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_an_agent_that_outlives_its_supervisor_still_runs(agent, started):
    folder = started(waits=True)
    trial = pid_of(folder)
    os.kill(parent_of(pid_of(folder)), signal.SIGKILL)
    wait_until(lambda: parent_of(trial) == 1)
    assert supervisor.state(folder) == "running"
    agent("start", folder)
    assert pid_of(folder) == trial and running(trial), "nobody started a second one beside it"
    (folder / "go").touch()
    assert ended(folder) == "lost"


def test_a_run_of_which_all_were_killed_is_lost_and_started_anew(agent, started):
    folder = started(waits=True)
    both = [parent_of(pid_of(folder)), pid_of(folder)]
    for pid in both:
        os.kill(pid, signal.SIGKILL)
    assert ended(folder) == "lost"
    agent("start", folder)
    assert supervisor.state(folder) == "running"
    assert pid_of(folder) not in both


def followed(said):
    lines = [json.loads(line) for line in said.splitlines()]
    return [line["text"] for line in lines if line.get("text")], lines[-1]


def test_following_ends_with_the_state(agent, finished):
    folder = finished(says=["one", "two", "drei \N{EN DASH} \udcff"[:6]])
    texts, last = followed(agent("follow", folder).stdout)
    assert texts == ["one", "two", "drei \N{EN DASH}"]
    assert last == {"state": "finished"}


def test_following_goes_on_where_it_was(agent, finished):
    folder = finished(says=["one", "two", "three"])
    first = json.loads(agent("follow", folder).stdout.splitlines()[0])
    texts, _ = followed(agent("follow", folder, first["offset"]).stdout)
    assert texts == ["two", "three"]


def test_following_a_running_run_sees_what_comes(tmp_path, started):
    folder = started(says=["started"], waits=True)
    with subprocess.Popen(
        [sys.executable, tmp_path / "agent.py", "follow", folder], stdout=subprocess.PIPE, text=True
    ) as follower:
        assert json.loads(follower.stdout.readline())["text"] == "started"
        (folder / "go").touch()
        assert json.loads(follower.stdout.readlines()[-1]) == {"state": "finished"}


def test_a_follower_is_told_once_which_containers_the_agent_wants(capsys, started):
    """By the record alone: a trial may say the same in its log."""
    wanted = {"disk": "loop0", "groups": {"main": "loop0"}}
    folder = started(says=[json.dumps({"containers": {}})], waits=True)
    (folder / REQUEST).write_text(json.dumps(wanted))
    threading.Timer(1, (folder / "go").touch).start()
    supervisor.follow(folder)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["containers"] for line in lines if "containers" in line] == [wanted]


def test_a_line_is_told_when_it_is_whole(tmp_path):
    (tmp_path / "log").write_bytes(b"whole\nhal")
    assert supervisor._lines(tmp_path / "log", 0) == [b"whole\n"]
    (tmp_path / "log").write_bytes(b"whole\nhalf\n")
    assert supervisor._lines(tmp_path / "log", 6) == [b"half\n"]


def test_a_silent_run_has_a_heartbeat(capsys, monkeypatch, started):
    folder = started(says=[], waits=True)
    monkeypatch.setattr(supervisor, "HEARTBEAT_S", 0.2)
    threading.Timer(1, (folder / "go").touch).start()
    supervisor.follow(folder)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"offset": 0, "text": ""} in lines[:-1]
    assert lines[-1] == {"state": "finished"}


def test_a_result_is_packed(agent, finished):
    folder = finished()
    agent("fetch", folder)
    with tarfile.open(folder / "result.tar") as archive:
        names = set(archive.getnames())
    assert {"status", "log.txt", "result/result.json"} <= names
    assert (folder / "result.tar").stat().st_mode & 0o777 == 0o644


def test_stopping_waits_for_the_end(agent, started):
    folder = started(waits=True)
    trial = pid_of(folder)
    agent("stop", folder)
    assert not running(trial)
    assert (folder / "status").read_text() == "143"


def test_stopping_what_does_not_run_is_harmless(agent, run):
    folder = run()
    assert agent("stop", folder).returncode == 0
    assert supervisor.state(folder) == "new"


def test_a_run_that_runs_is_not_forgotten(agent, started):
    folder = started(waits=True)
    agent("forget", folder)
    assert folder.exists() and running(pid_of(folder))
    (folder / "go").touch()
    ended(folder)
    agent("forget", folder)
    assert not folder.exists()


def test_cleaning_leaves_what_runs(agent, run, tmp_path):
    kept, finished, new = run(waits=True), run(), run()
    for folder in (kept, finished):
        agent("start", folder)
    ended(finished)
    old = tmp_path / "agent-0123456789ab.pyz"
    old.touch()
    said = agent("clean", tmp_path / "runs").stdout
    assert "killed trials were cleaned up after" in said and "killed regulators" in said
    assert kept.exists() and running(pid_of(kept))
    assert not finished.exists() and not new.exists() and not old.exists()


def test_the_state_is_never_lost_between_lock_and_status(started):
    """The status is written before the lock is let go, whoever looks in between."""
    folder = started(waits=True)
    seen = [supervisor.state(folder)]
    (folder / "go").touch()
    wait_until(lambda: seen.append(supervisor.state(folder)) or seen[-1] == "finished", pause_s=0)
    assert set(seen) == {"running", "finished"}
