"""Trials over a real SSH connection: detached, followed, fetched, whatever happens to it."""

import random
import threading

import pytest

import clients
from helpers import fio, wait_until
from ssh_support import run, server  # noqa: F401  (fixtures)
from state import assert_restored, machine_state

pytestmark = [
    pytest.mark.ssh,
    pytest.mark.root,
    pytest.mark.programs("fio", "losetup", "mkfs.ext4", "ps"),
]


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
    client = clients.start(server.address, trial, results, log)
    wait_until(lambda: log.exists() and "files are ready" in log.read_text())
    client.kill()
    client.join()
    assert list(results.rglob("result.json")) == []
    assert clients.run(server.address, trial, results, log) == 0, log.read_text()
    (said,) = results.rglob("log.txt")
    assert said.read_text().count("start\n") == 1, "the trial was not run twice"
    assert_restored(before)
