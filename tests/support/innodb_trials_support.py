"""What several tiers of `test_innodb_trials` share."""

import pytest

from commits import commit_trial
from deterministic_support import run  # noqa: F401  (fixture)
from helpers import result_of

FILE = {"kind": "file_backed", "size_mib": 160}


def phases_of(folder):
    return result_of(folder)["workloads"]["inserts"]["phases"]


@pytest.fixture(scope="module")
def plain(make_trial):
    return commit_trial(make_trial, (1, 1, 60), (8, 1, 100))


@pytest.fixture(scope="module")
def three_runs(run, plain):
    return [run(plain) for _ in range(3)]
