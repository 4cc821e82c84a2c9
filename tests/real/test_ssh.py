"""Trials over a real SSH connection: detached, followed, fetched, whatever happens to it."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import clients
import sshd
from elevatorlab import testbeds
from elevatorlab.testbeds import agent_archive
from elevatorlab.testbeds.remote import ssh_shell
from elevatorlab.testbeds.remote.real_testbed import RealTestbed
from helpers import fio, result_of, wait_until
from sshd import run, server  # noqa: F401  (fixtures)

pytestmark = [
    pytest.mark.ssh,
    pytest.mark.root,
    pytest.mark.programs("fio", "losetup", "mkfs.ext4", "ps"),
]


def test_a_trial_from_beginning_to_end(server, run, make_real_trial):
    told = []
    folder = run(server.address, make_real_trial(backing_scheduler="none"), told.append)
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["testbed"] == "ssh"
    assert result_of(folder)["outcome"] == "finished"
    assert any("measured" in line for line in told)
    everything = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    for secret in (str(server.key), server.address, server.key.read_text().splitlines()[1]):
        assert secret not in everything


def test_ssh_and_host_on_one_machine_are_one_machine(server):
    far, here = testbeds.get(server.address), testbeds.get("host")
    assert far.machine() == here.machine()
    assert far.identity() != here.identity(), "results of two testbeds are never pooled"
    far.close()


def test_progress_comes_back_while_it_runs(server, run, make_real_trial):
    told = []
    trial = make_real_trial(workloads=(fio(runtime="2s", time_based=1, iodepth=1),))
    run(server.address, trial, lambda text: told.append((time.monotonic(), text)))
    when = {text.rpartition("] ")[2]: at_s for at_s, text in told}
    assert when["measured"] - when["files are ready"] > 1.5


@pytest.mark.parametrize("where", ["this machine", "another one"])
def test_the_last_words_of_what_is_held_are_told(server, where):
    """A machine that served a trial may not get everything restored: that fails no trial."""
    testbed = testbeds.get("host" if where == "this machine" else server.address)
    told, job = [], "echo ready; cat >/dev/null; echo restored all but one >&2"
    with testbed.shell.held(["sh", "-c", job], told.append) as line:
        assert (line, told) == ("ready\n", [])
    assert told == [f"{testbed.shell.name}: restored all but one"]
    testbed.close()


def test_what_does_not_end_when_it_is_let_go_is_told(server, monkeypatch):
    monkeypatch.setattr(ssh_shell, "LET_GO_S", 0.2)
    testbed, told = testbeds.get(server.address), []
    with testbed.shell.held(["sh", "-c", "echo ready; sleep 5"], told.append):
        pass
    (sentence,) = told
    assert "did not end within 0.2 s; see: elevatorlab clean" in sentence
    testbed.close()


def test_two_addresses_of_one_machine_take_turns_or_say_so(server, make_real_trial, tmp_path):
    """Two clients that do not know of each other: the second one is told, nothing is mixed."""
    long, short = (
        make_real_trial(workloads=(fio(runtime=runtime, time_based=1),)) for runtime in ("8s", "1s")
    )
    with sshd.running(folder_for_a_server(tmp_path)) as other:
        first = clients.start(server.address, long, tmp_path / "1", tmp_path / "log1")
        wait_until(
            lambda: (tmp_path / "log1").exists() and "start" in (tmp_path / "log1").read_text()
        )
        assert clients.run(other.address, short, tmp_path / "2", tmp_path / "log2") == 1
        said = (tmp_path / "log2").read_text()
        assert "another trial runs on this machine; expected none" in said
        first.join()
        assert first.exitcode == 0, (tmp_path / "log1").read_text()


def folder_for_a_server(tmp_path):
    (tmp_path / "sshd").mkdir()
    return tmp_path / "sshd"


class TestPython:
    """Any Python from 3.9 on, and nothing but its standard library."""

    def test_the_oldest_python_here_runs_a_trial(self, tmp_path, run, make_real_trial):
        version = min(pythons())
        with far_python(tmp_path, pythons()[version]) as server:
            assert testbeds.get(server.address).facts["python"].startswith(f"3.{version[1]}.")
            folder = run(server.address, make_real_trial())
        assert result_of(folder)["outcome"] == "finished"


def pythons():
    """Return the interpreters of this machine that the agent may run on: version -> path."""
    places = [
        *(Path(folder) for folder in os.environ["PATH"].split(":")),
        *Path.home().glob(".pyenv/versions/*/bin"),
        Path(sys.executable).parent,
    ]
    found = {}
    for minor in range(9, 20):
        for place in places:
            python = place / f"python3.{minor}"
            if works(python):
                found.setdefault((3, minor), python.resolve())
    return found


def works(python):
    if not python.exists():
        return False
    return subprocess.run([python, "-I", "-c", "import json"], capture_output=True).returncode == 0


def far_python(folder, python):
    """Run a server on whose machine python3 is `python`."""
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to(python)
    (folder / "sshd").mkdir()
    path = f"{folder}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return sshd.running(folder / "sshd", sshd.environment(path, folder))


class TestConfiguration:
    """The user's own ~/.ssh counts when it is asked to."""

    @pytest.fixture
    def home(self, server, tmp_path, monkeypatch):
        """Return a home whose SSH configuration has a name for the server."""
        (tmp_path / ".ssh").mkdir(mode=0o700)
        (tmp_path / ".ssh/config").write_text(
            f"Host laboratory\n HostName 127.0.0.1\n Port {server.port}\n"
            f" IdentityFile {server.key}\n"
        )
        shutil.copy(server.known_hosts, tmp_path / ".ssh/known_hosts")
        monkeypatch.setenv("HOME", str(tmp_path))
        return tmp_path

    def test_it_is_honoured_when_asked_for(self, home):
        testbed = testbeds.get("ssh://laboratory?config=yes")
        assert testbed.machine() == testbeds.get("host").machine()
        testbed.close()

    def test_it_is_ignored_otherwise(self, home, error_of):
        testbed = testbeds.get("ssh://laboratory")
        assert "laboratory" in error_of(testbed.machine)


class TestClock:
    """A difference of the clocks is said, and nothing depends on it."""

    @pytest.mark.parametrize(
        "skew_s, said", [(0.4, []), (90, ["is 90 s ahead"]), (-3600.2, ["is 3600 s behind"])]
    )
    def test_skew(self, skew_s, said, server):
        told = []
        testbed = testbeds.get(server.address, say=told.append)
        testbed.facts["clock_skew_s"] = skew_s
        RealTestbed.prepare(testbed, [])
        testbed.close()
        assert len(told) == len(said)
        assert all(part in line for part, line in zip(said, told, strict=True)), told


def test_the_agent_is_brought_once(server):
    digest = agent_archive.agent_digest()[:12]
    testbed = testbeds.get(server.address)
    testbed.far.install()
    (agent,) = Path("/var/tmp/elevatorlab-0").glob(f"agent-{digest}.pyz")
    before = agent.stat().st_mtime_ns
    testbed.close()
    again = testbeds.get(server.address)
    again.far.install()
    again.close()
    assert agent.stat().st_mtime_ns == before


def test_a_damaged_agent_is_brought_again(server):
    testbed = testbeds.get(server.address)
    testbed.far.install()
    agent = Path(testbed.far.agent)
    agent.write_bytes(b"half of it")
    again = testbeds.get(server.address)
    again.far.install()
    assert agent.read_bytes() == agent_archive.agent_archive()
    testbed.close()
    again.close()
