"""Trials whose jobs move between processors, and their digests."""

import pytest

from elevatorlab import testbeds
from elevatorlab.results import reading
from helpers import fio, run_into


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs a trial on some processors, and returns its digest."""

    def again(address, trial):
        testbed = testbeds.get(address, say=lambda text: None)
        folder = run_into(tmp_path_factory.mktemp("result"), testbed, trial)
        return reading.digest(folder)

    return again


@pytest.fixture(scope="module")
def make_many_jobs(make_trial):
    """Return a factory of trials whose jobs move between processors, and sleep or do not."""

    def make(thinktime_us=500, **changes):
        jobs = {"numjobs": 4, "group_reporting": 1, "time_based": 1, "runtime": "20ms"}
        return make_trial(
            scheduler={"name": "mq-deadline"},
            workloads=(fio(iodepth=4, thinktime=thinktime_us, **jobs),),
            **changes,
        )

    return make


@pytest.fixture(scope="module")
def many_jobs(make_many_jobs):
    """Return a trial whose jobs move between processors and sleep now and then."""
    return make_many_jobs()
