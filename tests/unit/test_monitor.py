"""Conversations with QEMU's monitor, and what becomes of them when the machine is not there."""

import asyncio
import gc
import json
import socket
import subprocess
import sys
import threading

import pytest

from elevatorlab.errors import TrialFailed
from elevatorlab.testbeds.deterministic.monitor import Monitor, converse

VERSION = {"qemu": {"major": 7, "minor": 2, "micro": 0}, "package": ""}
GREETING = {"QMP": {"version": VERSION, "capabilities": []}}
STOP = {"event": "STOP", "timestamp": {"seconds": 1, "microseconds": 0}}


@pytest.fixture
def machine():
    """Return a process that stands for QEMU; it lives until it is ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read(); print('on fire', file=sys.stderr)"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stderr.close()


@pytest.fixture
def answering(tmp_path, machine):
    """Return a function that starts a monitor with given answers, and returns its path.

    An answer is what is sent for one command, [] is silence, "end" the end of the machine.
    """
    threads, path = [], tmp_path / "monitor"

    def start(*answers, greeting=GREETING):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=serve, args=(listening, greeting, answers), daemon=True)
        thread.start()
        threads.append(thread)
        return path

    def serve(listening, greeting, answers):
        with listening, listening.accept()[0] as connection:
            if greeting:
                say(connection, greeting)
            for answer in [{"return": {}}, *answers]:
                said = connection.recv(4096)  # the next command waits for this one's answer
                if not said:
                    return
                asked = json.loads(said)
                if answer == "end":
                    machine.stdin.close()
                    return
                which = {"id": asked["id"]} if "id" in asked else {}
                for one in answer if isinstance(answer, list) else [answer]:
                    say(connection, one if "event" in one else {**one, **which})
            connection.recv(4096)  # until it is closed

    def say(connection, message):
        connection.sendall(json.dumps(message).encode() + b"\r\n")

    yield start
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def ask(path, machine, name="query-status", timeout_s=60, **arguments):
    async def conversation():
        async with Monitor(path, machine, timeout_s) as monitor:
            return await monitor.do(name, **arguments)

    return converse(conversation())


def wait_for_stop(path, machine, timeout_s=60):
    async def conversation():
        async with Monitor(path, machine, timeout_s) as monitor:
            await monitor.do("query-status")
            await monitor.stopped()
            return "stopped"

    return converse(conversation())


def test_an_answer(answering, machine):
    path = answering({"return": {"status": "running"}})
    assert ask(path, machine) == {"status": "running"}


def test_an_event_before_the_answer_is_not_lost(answering, machine):
    assert wait_for_stop(answering([STOP, {"return": {}}]), machine) == "stopped"


def test_a_socket_that_comes_late(answering, machine, tmp_path):
    later = threading.Timer(0.3, answering, [{"return": "here"}])
    later.start()
    assert ask(tmp_path / "monitor", machine) == "here"


def test_a_command_that_is_refused(answering, machine):
    path = answering({"error": {"class": "GenericError", "desc": "no such file"}})
    with pytest.raises(TrialFailed, match="QEMU refused migrate-incoming: no such file"):
        ask(path, machine, "migrate-incoming", uri="exec:cat state")


def test_a_machine_that_ends_before_it_answers(answering, machine):
    with pytest.raises(TrialFailed, match=r"QEMU ended unexpectedly \(on fire\); run the trial"):
        ask(answering("end"), machine)


def test_a_machine_that_ends_before_it_stops(answering, machine):
    async def conversation():
        async with Monitor(answering({"return": {}}), machine, 60) as monitor:
            await monitor.do("query-status")
            waiting = asyncio.create_task(monitor.stopped())
            await asyncio.sleep(0)
            await monitor._client.disconnect()
            machine.stdin.close()
            await waiting

    with pytest.raises(TrialFailed, match=r"QEMU ended unexpectedly \(on fire\)"):
        converse(conversation())


def test_a_machine_that_does_not_start(machine, tmp_path):
    machine.stdin.close()
    with pytest.raises(TrialFailed, match=r"QEMU did not start \(on fire\)"):
        ask(tmp_path / "monitor", machine)


def test_a_monitor_that_never_comes(machine, tmp_path):
    with pytest.raises(TrialFailed, match="monitor did not answer"):
        ask(tmp_path / "monitor", machine, timeout_s=0.1)


@pytest.mark.parametrize("talk", [ask, wait_for_stop], ids=lambda talk: talk.__name__)
def test_a_machine_that_says_nothing(answering, machine, talk):
    with pytest.raises(TrialFailed, match="said nothing for 1 s"):
        talk(answering([], []), machine, timeout_s=1)


def test_a_monitor_that_does_not_greet(answering, machine):
    with pytest.raises(TrialFailed, match="said nothing for 1 s"):
        ask(answering(greeting=None), machine, timeout_s=1)


def test_within_a_notebook(answering, machine):
    """Whose thread runs an event loop already."""

    async def cell():
        return ask(answering({"return": 1}), machine)

    assert asyncio.run(cell()) == 1


@pytest.mark.parametrize(("error", "said"), [(EOFError, False), (ValueError, True)])
def test_a_closed_socket_that_nobody_asked_for_is_no_traceback(error, said, caplog):
    """qemu.qmp gathers tasks that end with the machine, and may ask for none of their results."""

    async def conversation():
        async def ended():
            raise error("left alone")

        asyncio.gather(ended(), return_exceptions=False)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        gc.collect()

    converse(conversation())
    gc.collect()
    assert ("left alone" in caplog.text) == said
