"""A busy trial that is run again and again, and the digests by which results are compared."""

import hashlib

import pytest

from elevatorlab.results import reading
from helpers import fio, null_disk, run_into


@pytest.fixture(scope="module")
def busy(make_trial):
    return make_trial(
        device=null_disk(80, parallelism=256),
        scheduler={"name": "mq-deadline"},
        workloads=(fio(time_based=1, runtime="300ms", iodepth=32),),
    )


@pytest.fixture(scope="module")
def run(testbed, tmp_path_factory):
    """Return a function that runs a trial again, wherever it ran before."""

    def again(trial):
        return run_into(tmp_path_factory.mktemp("result"), testbed, trial)

    return again


def fingerprint(folder):
    """Return the SHA-256 of the whole result, and of the parts that tell most, for the reader."""
    parts = ("result.json", "samples.csv", "dmesg.txt", "interrupts.txt", "raw/reader.fio.json")
    named = {part: hashlib.sha256((folder / part).read_bytes()).hexdigest() for part in parts}
    return {"all": reading.digest(folder), **named}


@pytest.fixture(scope="module")
def busy_result(run, busy):
    return run(busy)
