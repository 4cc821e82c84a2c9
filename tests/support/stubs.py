"""A testbed whose trials take a moment and need nothing, and clients that run campaigns of them."""

import contextlib
import logging
import multiprocessing
import os
import random
import sys
import time
import uuid
from pathlib import Path

import stored
from elevatorlab.errors import ElevatorLabError
from elevatorlab.results.outcome import Outcome
from elevatorlab.running import campaign
from elevatorlab.trial import Trial, profile
from fake_testbed import FakeTestbed
from helpers import fio

#: Processes with everything imported, of which clients and Dask's workers are made quickly.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    ["stubs", "elevatorlab.testbeds", "elevatorlab.running.pools.dask_workers"]
)


def _figures(trial):
    return {one.name: stored.fio_read() for one in trial.workloads}


def _unique():
    """Return a proof that tells this run from any other of the same trial."""
    return {"knob": "run", "written": uuid.uuid4().hex, "read": "", "probe": None}


class Stub(FakeTestbed):
    """A deterministic testbed as far as a campaign can tell.

    Every start of a trial is a line of the file `ledger`: trial, process, client.
    """

    identity_is = " (the stub's version)"

    def __init__(self, ledger, slots=2, lasts_s=(0.01, 0.1), version="1"):
        self.ledger, self.slots, self.lasts_s, self.version = ledger, slots, lasts_s, version
        self.client = None
        self.stopped = False

    def prepare(self, trials):
        self.client = os.getpid()

    def identity(self):
        return self.version

    def run(self, trial, note):
        with open(self.ledger, "a") as ledger:
            ledger.write(f"{trial.hash} {os.getpid()} {self.client}\n")
        until_s = time.monotonic() + random.Random(trial.seed).uniform(*self.lasts_s)
        while time.monotonic() < until_s and not self.stopped:
            time.sleep(0.005)
        files = {
            "raw/output.txt": trial.hash.encode(),
            "result.json": stored.spelled(stored.result(_figures(trial), proofs=[_unique()])),
        }
        return Outcome(files, stored.provenance(testbed=self.name))


class AnotherElsewhere(Stub):
    """A testbed that is another one wherever the client does not run."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.home = os.getpid()

    def identity(self):
        return "client's" if os.getpid() == self.home else "worker's"


def trials(count):
    """Return small trials, several a repetition."""
    return [
        Trial(
            study="stub",
            preset="smoke",
            device=profile("nvme_ssd", 64),
            scheduler={"name": "none"},
            groups=({"name": "main"},),
            workloads=(fio(),),
            filesystem=None,
            deadline_s=60,
            seed=seed,
            repetition=1 + seed // 10,
        )
        for seed in range(count)
    ]


def started(ledger):
    """Return (trial, process, client) of every start of a trial."""
    if not Path(ledger).exists():
        return []
    lines = [line.split() for line in Path(ledger).read_text().splitlines()]
    return [(trial, int(process), int(client)) for trial, process, client in lines]


@contextlib.contextmanager
def cluster():
    """Start a Dask cluster of two workers whose restarts cost little; yield it."""
    import dask  # takes half a second, which no collection of tests needs
    import distributed

    from elevatorlab.running.pools.dask_workers import kept_up

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    dask.config.set({"distributed.deploy.lost-worker-timeout": "2 s"})
    distributed.utils._forkserver_preload_set = True  # ours has what is needed
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as started_cluster:
        with kept_up(started_cluster, 2):
            yield started_cluster


def start_client(testbed, some_trials, results, address=None):
    """Start a client that runs a campaign, on a cluster or its own; return its process."""
    arguments = (campaign.Share(testbed, some_trials), results, address)
    client = SERVER.Process(target=_campaign, args=arguments)
    client.start()
    return client


def _campaign(share, results, address):
    try:
        campaign.run([share], results, cluster=address)
    except ElevatorLabError as problem:
        print(problem)
        sys.exit(1)
