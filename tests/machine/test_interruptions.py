"""A campaign that is stopped in the middle: nothing runs on, and it goes on where it was."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from helpers import cli, machines, running, start_cli, wait_until
from image_campaigns import digests, one_by_one, trials, workers  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.image, pytest.mark.anew]

#: Five short trials, one after the other.
CAMPAIGN = [
    *("run", "vm_vs_container", "--preset", "smoke", "--workers", "1"),
    *("-p", "memory_mib=512", "-p", "device_mib=128", "-p", "arms=host", "-p", "schedulers=none"),
    *("-p", "tests=writes_starving_reads", "-p", "variants=dropped", "-p", "sizes_mb=10"),
    *("-p", "repetitions=5"),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("interrupted") / "results"


@pytest.fixture(scope="module", autouse=True)
def scratch():
    """A folder for what machines need, and for nobody else's: other tests kill theirs meanwhile."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        yield Path(folder)


def finished(results):
    """Return what is finished, and when each of it was written."""
    files = results.glob("deterministic/*/result.json")
    return {
        file.parent.name: file.stat().st_mtime_ns for file in files if "." not in file.parent.name
    }


def interrupt(results, how):
    """Run the campaign until one more trial is finished and the next one runs; then stop it."""
    before = finished(results)
    client = start_cli(*CAMPAIGN, "--results", results)
    wait_until(lambda: len(finished(results)) > len(before) or client.poll() is not None)
    (machine,) = wait_until(lambda: machines(client.pid))
    client.send_signal(how)
    _, said = client.communicate()
    wait_until(lambda: not running(machine))
    now = finished(results)
    assert {name: now[name] for name in before} == before
    assert 0 < len(now) < 5
    return client.returncode, said


@pytest.mark.parametrize(
    "how, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_stopped(results, scratch, how, status):
    code, said = interrupt(results, how)
    assert code == status
    assert "Traceback" not in said, said
    if how != signal.SIGKILL:  # nobody has a last word after that
        assert list(results.glob("deterministic/*.part")) == []
        assert list(scratch.glob("elevatorlab-*")) == []


def test_the_same_command_goes_on(results, scratch):
    assert list(scratch.glob("elevatorlab-*")), "what the killed client left"
    before = finished(results)
    assert before, "the tests above leave finished trials"
    run = cli(*CAMPAIGN, "--results", results)
    assert run.returncode == 0, run.stderr
    assert f"{5 - len(before)} trials to run, {len(before)} finished already" in run.stdout
    now = finished(results)
    assert len(now) == 5
    assert {name: now[name] for name in before} == before
    assert list(results.glob("deterministic/*.part")) == []
    assert list(scratch.glob("elevatorlab-*")) == []


@pytest.mark.timeout(600)
def test_ctrl_c_in_a_terminal_reaches_every_process_and_stops_cleanly(tmp_path):
    """The client alone heeds it: nobody leaves a traceback, a machine or a temporary folder."""
    options = ("--preset", "smoke", "-p", "memory_mib=512", "-p", "device_mib=192")
    options = (*options, "-p", "variants=dropped", "-p", "sizes_mb=10")
    client = start_cli("run", "vm_vs_container", *options, "--workers", "2", "--results", tmp_path)
    busy = wait_until(lambda: workers(client))
    inside = [*busy, *(machine for some in busy.values() for machine in some)]
    for process in (*busy, client.pid):
        os.kill(process, signal.SIGINT)
    _, said = client.communicate()
    assert client.returncode == 130
    assert "Traceback" not in said, said
    wait_until(lambda: not any(map(running, inside)))
    assert list(tmp_path.glob("deterministic/*.part")) == []
    scratch = Path(tempfile.gettempdir())
    mine = [client.pid, *busy]
    assert [left for pid in mine for left in scratch.glob(f"elevatorlab-{pid}-*")] == []
