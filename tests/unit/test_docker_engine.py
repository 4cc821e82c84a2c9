"""Where no Docker engine answers, one sentence says why, and what to do."""

import errno
import json
import socket

import pytest

from elevatorlab.testbeds.docker import engine
from elevatorlab.testbeds.remote.shell import Unreachable
from helpers import cli

START = "Start one (environments/start-docker.sh can), or name another in DOCKER_HOST"


@pytest.fixture
def said(monkeypatch):
    """Return a function that says what a user of this DOCKER_HOST is told."""

    def sentence(host):
        monkeypatch.setenv("DOCKER_HOST", host)
        with pytest.raises(Unreachable) as refusal:
            engine.connect()
        return str(refusal.value)

    return sentence


def test_no_engine_is_there(said, tmp_path):
    host = f"unix://{tmp_path}/docker.sock"
    assert said(host) == f"no Docker engine answers at {host}: nothing is there. {START}"


def test_an_engine_that_has_ended(said, tmp_path):
    with socket.socket(socket.AF_UNIX) as left:  # its socket stays
        left.bind(f"{tmp_path}/docker.sock")
    host = f"unix://{tmp_path}/docker.sock"
    assert said(host) == f"no Docker engine answers at {host}: the connection was refused. {START}"


def test_an_address_of_another_kind(said):
    sentence = said("carrier-pigeon://coop")
    assert sentence.startswith("no Docker engine answers at carrier-pigeon://coop: Invalid bind ")
    assert sentence.endswith("expected unix:///PATH, tcp://HOST:PORT or ssh://USER@HOST")


def test_a_user_who_may_not_ask(monkeypatch):
    monkeypatch.setattr(engine.getpass, "getuser", lambda: "ada")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    problem = PermissionError(errno.EACCES, "Permission denied")
    assert str(engine.missing(problem, None)) == (
        "no Docker engine answers at unix:///var/run/docker.sock: ada may not ask it. Use sudo, or "
        "join the group docker and log in again: sudo usermod -aG docker ada"
    )


def test_an_engine_of_another_machine_is_started_there():
    problem = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    assert engine.missing(problem, "ssh://root@there").remedy == "Start one on that machine"


@pytest.mark.parametrize(
    "command", [["run", "vm_vs_container", "--preset", "smoke"], ["clean"]], ids=["run", "clean"]
)
def test_the_command_says_it_and_nothing_else(command, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    if command[0] == "run":
        command = [*command, "--results", tmp_path / "results"]
    run = cli(*command, "--testbed", "docker")
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        f"elevatorlab: no Docker engine answers at unix://{tmp_path}/docker.sock: nothing is "
        f"there. {START}"
    )
    assert "Traceback" not in run.stderr


def test_the_doctor_says_it_once(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    run = cli("doctor", "--testbed", "docker", "--json")
    (finding,) = json.loads(run.stdout)
    assert run.returncode == 1 and not finding["ready"]
    assert finding["found"].endswith("nothing is there") and finding["remedy"] == START
