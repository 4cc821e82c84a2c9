"""Where no Docker engine answers, one sentence says why, and what to do."""

import contextlib
import errno
import http.server
import json
import socket
import socketserver
import threading

import pytest
from docker.context import Context

from elevatorlab.agent.operations import engine as of_operators
from elevatorlab.errors import NotReady
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


def test_an_engine_of_another_machine_is_started_there(monkeypatch):
    monkeypatch.setattr(engine, "_asked_there", lambda address: None)
    problem = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    assert engine.missing(problem, "ssh://root@there").remedy == "Start one on that machine"


@pytest.fixture
def answering(tmp_path):
    """Return a function that serves one answer to every request, and returns its address."""
    with contextlib.ExitStack() as stack:

        def serve(answer):
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)

                do_HEAD = do_GET  # noqa: N815

                def log_message(self, *_):
                    pass

            server = socketserver.ThreadingUnixStreamServer(f"{tmp_path}/web", Handler)
            stack.enter_context(server)
            stack.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return f"{tmp_path}/web"

        yield serve


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}", b'{"ApiVersion": "1.47"}', b""])
def test_what_answers_there_is_no_engine(answer, answering, said):
    path = answering(answer)
    assert "what answers there is no engine" in said(f"unix://{path}")


@pytest.mark.parametrize("answer", [b"<html>", b"7", b'[{"Name": "x"}]'])
def test_the_regulator_hears_that_it_is_no_engine(answer, answering):
    with pytest.raises(of_operators.EngineGone, match="is no Docker engine"):
        of_operators.Engine(answering(answer)).running()


def test_dockers_context_counts_and_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONTEXT", "moon")
    with pytest.raises(NotReady) as refusal:
        engine.connect()
    assert "no context 'moon'" in str(refusal.value)
    here = Context("moon", host=f"unix://{tmp_path}/moon")
    monkeypatch.setattr(engine.ContextAPI, "get_context", lambda name: {"moon": here}[name])
    with pytest.raises(Unreachable) as refusal:
        engine.connect()
    assert f"unix://{tmp_path}/moon (Docker's context moon): nothing is" in str(refusal.value)


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
    (said,) = run.stderr.splitlines()[-1:]
    assert said.startswith(sentence) and START in said and "Traceback" not in run.stderr


def test_the_doctor_says_it_once(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    run = cli("doctor", "--testbed", "docker", "--json")
    (finding,) = json.loads(run.stdout)
    assert run.returncode == 1 and finding["needed"] and not finding["ready"]
    assert finding["found"].endswith("nothing is there") and finding["remedy"] == START
