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


def test_the_reason_is_in_the_sentence(said, tmp_path, monkeypatch):
    host = f"unix://{tmp_path}/docker.sock"
    assert said(host) == f"no Docker engine answers at {host}: nothing is there. {START}"
    with socket.socket(socket.AF_UNIX) as left:  # its socket stays
        left.bind(f"{tmp_path}/docker.sock")
    assert f"at {host}: the connection was refused" in said(host)
    assert "at carrier-pigeon://coop: Invalid bind " in said("carrier-pigeon://coop")
    monkeypatch.setattr(engine.getpass, "getuser", lambda: "ada")
    problem = PermissionError(errno.EACCES, "Permission denied")
    assert "ada may not ask it" in str(engine.missing(problem, None))


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
    sentence = f"elevatorlab: no Docker engine answers at unix://{tmp_path}/docker.sock: nothing"
    assert run.stderr.splitlines()[-1].startswith(sentence) and "Traceback" not in run.stderr


def test_the_doctor_says_it_once(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    run = cli("doctor", "--testbed", "docker", "--json")
    (finding,) = json.loads(run.stdout)
    assert run.returncode == 1 and not finding["ready"]
    assert finding["found"].endswith("nothing is there") and finding["remedy"] == START
