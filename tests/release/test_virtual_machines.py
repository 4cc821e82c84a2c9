"""Virtual machines inside the deterministic one: what may be asked for, and what is said."""

import pytest

from deterministic_runs import run  # noqa: F401  (fixture)
from elevatorlab.errors import TrialFailed
from guests import make_guest  # noqa: F401  (fixture)
from helpers import fio

pytestmark = [pytest.mark.image, pytest.mark.anew]


def test_a_machine_that_hangs_fails_its_trial_at_the_deadline(run, make_guest):
    endless = fio(time_based=1, runtime="60s", size="16M")
    with pytest.raises(TrialFailed, match="the trial did not end within its 2.0 s; expected less"):
        run(make_guest(workloads=(endless,), deadline_s=2.0))
