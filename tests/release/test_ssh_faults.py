"""What goes wrong on the way to a machine, or there: one sentence, or a result after all."""

import pwd
import random
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

import clients
import sshd
from accounts import guest, open_server, sudo  # noqa: F401  (fixtures)
from elevatorlab import testbeds
from elevatorlab.errors import ElevatorLabError, NotReady, TrialFailed
from elevatorlab.running import campaign
from helpers import fio
from sshd import run, server  # noqa: F401  (fixtures)
from state import assert_restored, machine_state, run_and_restore

pytestmark = [
    pytest.mark.ssh,
    pytest.mark.root,
    pytest.mark.programs("fio", "losetup", "mkfs.ext4", "ps", "sudo"),
]

#: What the agent's installation needs of a machine, besides Python.
TOOLS = ("bash", "env", "id", "ls", "mkdir", "mv", "rm", "sh", "sha256sum", "sudo", "test", "true")


@pytest.fixture
def refused(tmp_path, make_real_trial):
    """Return a function that runs a trial and returns the one sentence it is refused with."""

    def sentence(address, trial=None, kind=ElevatorLabError):
        before = machine_state()
        testbed = testbeds.get(address, say=lambda _: None)
        share = campaign.Share(testbed, [trial or make_real_trial()])
        with pytest.raises(kind) as refusal:
            campaign.run([share], tmp_path / "results")
        testbed.close()
        assert machine_state() == before
        assert list(tmp_path.rglob("result.json")) == []
        assert "Traceback" not in str(refusal.value)
        return str(refusal.value)

    return sentence


def one_sentence(text):
    """Tell whether a refusal says what was expected, in one line."""
    return "expected" in text and text.count("\n") == 0


class TestTheWay:
    """Keys, host keys, and a server that is not there."""

    def test_a_wrong_key(self, server, refused, tmp_path):
        sshd.make_key(tmp_path / "other")
        said = refused(server.address_of("root", key=tmp_path / "other"), kind=NotReady)
        assert f"root@127.0.0.1:{server.port} did not accept a key" in said
        assert "ssh-copy-id" in said and one_sentence(said)

    @pytest.mark.parametrize("option", ["key", "known_hosts"])
    def test_a_file_that_is_not_there(self, server, refused, tmp_path, option):
        missing = tmp_path / "nothing"
        said = refused(server.address_of("root", **{option: missing}), kind=NotReady)
        assert f"{missing} does not exist" in said
        assert option != "key" or "; expected a key" in said

    def test_a_key_that_is_none(self, server, refused, tmp_path):
        (tmp_path / "notes").write_text("no key\n")
        said = refused(server.address_of("root", key=tmp_path / "notes"), kind=NotReady)
        assert one_sentence(said)

    def test_an_unknown_host_key(self, server, refused, tmp_path):
        (tmp_path / "known").touch()
        said = refused(server.address_of("root", known_hosts=tmp_path / "known"), kind=NotReady)
        assert f"the host key of root@127.0.0.1:{server.port} is unknown" in said
        assert "compare its fingerprint" in said and one_sentence(said)
        assert (tmp_path / "known").read_text() == "", "nothing is accepted unseen"

    def test_a_server_that_is_away(self, refused):
        said = refused(f"ssh://root@127.0.0.1:{sshd.free_port()}", kind=NotReady)
        assert "cannot be reached" in said and "Check name, port and network" in said
        assert one_sentence(said)

    def test_a_name_that_does_not_exist(self, refused):
        assert "cannot be reached" in refused("ssh://no-such-host.invalid", kind=NotReady)

    def test_a_server_that_is_no_ssh_server(self, refused):
        with subprocess.Popen(
            ["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as web:
            port = web.stdout.readline().split("port ")[1].split()[0]
            try:
                said = refused(f"ssh://root@127.0.0.1:{port}", kind=NotReady)
            finally:
                web.terminate()
        assert "no SSH connection" in said and one_sentence(said)


class TestRights:
    """Root is needed there, by login or by sudo that asks for nothing."""

    def test_a_user_without_sudo(self, open_server, guest, refused):
        name, folder = guest
        said = refused(open_server.address_of(name), kind=NotReady)
        assert "root is needed for devices and schedulers" in said
        assert "NOPASSWD: ALL" in said and one_sentence(said)
        assert not folder.exists(), "nothing is brought before that is known"

    def test_a_user_with_sudo_runs_a_trial(
        self, open_server, guest, sudo, tmp_path, make_real_trial
    ):
        name, folder = guest
        run_and_restore(open_server.address_of(name), make_real_trial(), tmp_path / "results")
        assert len(list(tmp_path.rglob("result.json"))) == 1
        assert folder.stat().st_uid == pwd.getpwnam(name).pw_uid
        assert folder.stat().st_mode & 0o077 == 0, "nobody else looks into it"

    def test_a_folder_that_is_somebody_elses(self, open_server, guest, sudo, refused):
        name, folder = guest
        (folder / "runs").mkdir(parents=True)
        folder.chmod(0o777)
        said = refused(open_server.address_of(name), kind=NotReady)
        assert f"{folder} on 127.0.0.1 cannot be used" in said
        assert "expected a folder of our own" in said


class TestPython:
    """No Python there, or one that is too old."""

    def server(self, tmp_path, python=None):
        """Run a server on whose machine there is nothing but the tools, and `python`."""
        (tmp_path / "bin").mkdir()
        for tool in TOOLS:
            (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
        if python:
            (tmp_path / "bin/python3").write_text(f"#!/bin/sh\n{python}\n")
            (tmp_path / "bin/python3").chmod(0o755)
        (tmp_path / "sshd").mkdir()
        return sshd.running(tmp_path / "sshd", sshd.environment(f"{tmp_path}/bin", tmp_path))

    def test_no_python(self, tmp_path, refused):
        with self.server(tmp_path) as server:
            said = refused(server.address, kind=NotReady)
        assert "127.0.0.1 has no python3" in said and "expected 3.9 or newer" in said
        assert "environments/provision.sh" in said and one_sentence(said)

    @pytest.mark.parametrize("version", ["2.7", "3.6", "3.8"])
    def test_a_python_that_is_too_old(self, tmp_path, refused, version):
        real = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        command = f'exec {real[0]} "$@"' if real else f"echo {version}"
        with self.server(tmp_path, command) as server:
            said = refused(server.address, kind=NotReady)
        assert f"127.0.0.1 has Python {version}; expected 3.9 or newer" in said
        assert one_sentence(said)

    def test_a_python_that_is_broken(self, tmp_path, refused):
        with self.server(tmp_path, "echo segmentation fault >&2; exit 139") as server:
            said = refused(server.address, kind=NotReady)
        assert "segmentation fault" in said


class TestRoom:
    """A disk that is full there."""

    def server(self, tmp_path, size):
        """Run a server in whose view of the machine /var/tmp is a small disk of its own."""
        mount = f"mount -t tmpfs -o size={size} tmpfs /var/tmp && exec " + '"$@"'
        (tmp_path / "sshd").mkdir()
        return sshd.running(
            tmp_path / "sshd", below=("unshare", "--mount", "sh", "-c", mount, "sh")
        )

    def test_no_room_for_the_agent(self, tmp_path, refused):
        with self.server(tmp_path, "8k") as server:
            said = refused(server.address, kind=NotReady)
        assert "free disk space" in said and "Free some" in said and one_sentence(said)

    def test_no_room_for_a_device(self, tmp_path, refused):
        with self.server(tmp_path, "1m") as server:
            said = refused(server.address, kind=NotReady)
        assert "device file_backed: loop device" in said and "0 MiB free" in said
        assert "512 MiB of disk space" in said

    def test_no_room_for_this_device(self, tmp_path, refused, make_real_trial):
        trial = make_real_trial(device={"kind": "file_backed", "size_mib": 700})
        with self.server(tmp_path, "600m") as server:
            said = refused(server.address, trial, TrialFailed)
        assert "MiB free; expected 764 MiB for the file of the device under test" in said

    def test_a_disk_that_fills_up_before_the_start(self, tmp_path, refused, make_real_trial):
        with self.server(tmp_path, "600m") as server:
            testbed = testbeds.get(server.address, say=lambda _: None)
            testbed.prepare([make_real_trial()])
            full = "dd if=/dev/zero of=/var/tmp/full bs=1M 2>/dev/null; true"
            testbed.shell.run(["sh", "-c", full])
            with pytest.raises(ElevatorLabError) as refusal:
                testbed.run(make_real_trial(), lambda _: None)
            testbed.close()
        said = str(refusal.value)
        assert "free" in said or "room" in said or "No space left" in said, said
        assert "Traceback" not in said


def test_a_connection_that_breaks_again_and_again(server, run, make_real_trial):
    """The trial goes on there, once, and its result arrives."""
    trial = make_real_trial(workloads=(fio(runtime="4s", time_based=1, iodepth=2),))
    moments, begun, ended = random.Random(4), threading.Event(), threading.Event()
    cuts, told = 0, []

    def note(text):
        told.append(text)
        begun.set()

    def cut():
        nonlocal cuts
        begun.wait()
        while not ended.wait(moments.uniform(0.1, 1.2)):
            cuts += len(server.sessions())
            server.cut_connections()

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        folder = run(server.address, trial, note)
    finally:
        begun.set()
        ended.set()
        cutter.join()
    assert cuts >= 3
    assert sum("was lost" in line for line in told) >= 1
    log = (folder / "log.txt").read_text()
    assert log.count("start\n") == log.count("measured\n") == 1
    heard = [line.rpartition("] ")[2] for line in told if "lost" not in line]
    assert heard.count("measured") == 1, "no line of the log comes twice"


def test_a_killed_client_finds_its_trial_again(server, make_real_trial, tmp_path):
    before = machine_state()
    trial = make_real_trial(workloads=(fio(runtime="4s", time_based=1, iodepth=2),))
    results, log = tmp_path / "results", tmp_path / "log"
    clients.kill_one_that_runs(server.address, trial, results, log)
    assert list(results.rglob("result.json")) == []
    assert clients.run(server.address, trial, results, log) == 0, log.read_text()
    (said,) = results.rglob("log.txt")
    assert said.read_text().count("start\n") == 1, "the trial was not run twice"
    assert_restored(before)
