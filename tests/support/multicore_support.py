"""What several tiers of `test_multicore` share."""

import pytest

from elevatorlab import testbeds
from elevatorlab.results import reading
from helpers import run_into


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs a trial on some processors, and returns its digest."""

    def again(address, trial):
        testbed = testbeds.get(address, say=lambda text: None)
        folder = run_into(tmp_path_factory.mktemp("result"), testbed, trial)
        return reading.digest(folder)

    return again
