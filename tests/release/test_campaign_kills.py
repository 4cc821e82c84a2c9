"""A campaign that is killed again and again: it goes on where it was, and nothing runs twice."""

import contextlib
import os
import random
import signal
import time

import pytest
from distributed.core import Status
from distributed.nanny import WorkerProcess

from elevatorlab.results import reading
from helpers import result_of, wait_until
from stubs import Stub, cluster, start_client, started, trials

pytestmark = [pytest.mark.timeout(1800)]

KILLS = 60
TRIALS = 250

#: How often it is the client that dies, and not a worker.
CLIENT_RATIO = 0.3


def snapshot(results):
    """Return what is finished: by trial, which of its runs that was, and when it was written."""
    found = {}
    for folder in (results / "stub").glob("*"):
        if reading.finished(folder) and folder.suffix != ".part":
            (run,) = result_of(folder)["proofs"]
            found[folder.name] = run["written"], (folder / "provenance.json").stat().st_mtime_ns
    return found


def worker_processes(stub):
    """Return the process ids of the workers of a cluster that are up."""
    processes = [nanny.process for nanny in stub.workers.values()]
    return [one.pid for one in processes if one and one.pid and one.status == Status.running]


def a_moment(dice, ledger, client):
    """Wait for a random moment: up to four more trials begin, and then some."""
    enough = len(started(ledger)) + dice.randint(0, 4)
    wait_until(lambda: len(started(ledger)) >= enough or client.exitcode is not None)
    time.sleep(dice.uniform(0, 0.1))


def test_a_worker_that_was_given_up_is_replaced(tmp_path):
    with cluster() as running:
        client = start_client(
            Stub(tmp_path / "ledger"), trials(4), tmp_path / "results", running.scheduler_address
        )
        for nanny in list(running.workers.values()):
            running.sync(nanny.close)  # as Dask does with one whose worker dies while it starts
        client.join(120)
    assert client.exitcode == 0
    assert len(snapshot(tmp_path / "results")) == 4


@pytest.fixture
def given_up(monkeypatch):
    """Return the process ids of workers that Dask ends by itself.

    It ends one that it lost a while before, and that is away again: in such a storm one that has
    just begun a trial, too.
    """
    ended, kill = set(), WorkerProcess.kill

    async def noting(process, *arguments, **more):
        # One that still starts is given the time to do so, and may begin a trial meanwhile.
        if process.status == Status.starting:
            await process.running.wait()
        ended.add(process.pid)
        await kill(process, *arguments, **more)

    monkeypatch.setattr(WorkerProcess, "kill", noting)
    return ended


def test_killed_at_random_moments(tmp_path, given_up):
    ledger, results, dice = tmp_path / "ledger", tmp_path / "results", random.Random(7)
    killed, kills, before, sessions = set(), 0, {}, {}
    with cluster() as running:
        while kills < KILLS or len(before) < TRIALS:
            client = start_client(Stub(ledger), trials(TRIALS), results, running.scheduler_address)
            sessions[client.pid] = set(before)
            while kills < KILLS and client.exitcode is None:
                a_moment(dice, ledger, client)
                if dice.random() < CLIENT_RATIO:
                    client.kill()
                    kills += 1
                    break
                victim = dice.choice(wait_until(lambda: worker_processes(running)))
                # One that was killed before may not be missed yet.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    killed.add(victim)
                    kills += 1
            client.join()
            if client.exitcode == -signal.SIGKILL:
                killed.add(client.pid)
            now = snapshot(results)
            assert {trial: now[trial] for trial in before} == before, "none is lost or written anew"
            before = now
        gone = killed | given_up  # before the cluster ends, which ends all of them
    assert kills == KILLS and len(killed) > KILLS / 2
    assert sorted(before) == sorted(trial.hash for trial in trials(TRIALS))
    assert sorted(path.name for path in (results / "stub").iterdir()) == sorted(
        [*before, "identity"]
    )
    runs = started(ledger)
    again = [(trial, client) for trial, _, client in runs if trial in sessions[client]]
    assert again == [], "what was finished when a client began is not run by it"
    last = {trial: number for number, (trial, _, _) in enumerate(runs)}
    assert [
        run
        for number, run in enumerate(runs)
        if number != last[run[0]] and not gone.intersection(run[1:])
    ] == [], "a trial is run again only after the death of who ran it, or had asked for it"
