"""Any scheduler under the stress tests that were SBQ's: two processors, NVMe/TCP, 1000 switches."""

import re
import sys

import pytest

from elevatorlab.paths import ENVIRONMENTS, PROJECT
from elevatorlab.plugins.scheduler_folders import ZOO

sys.path.insert(0, str(ENVIRONMENTS / "kernel" / "test"))

import stress  # noqa: E402  (programs of their own, not part of the package)
import stress_scheduler  # noqa: E402

OF_ANY = [test.__name__ for test in stress.OF_ANY]
STRANGER_S = PROJECT / "tests" / "fixtures" / "schedulers" / "pace"

pytestmark = [pytest.mark.image, pytest.mark.timeout(3600)]


def outcomes(folder, tests=(), limit_s=stress_scheduler.LIMIT_S):
    """Return the outcome of each test, by its name, and all lines."""
    _, lines = stress_scheduler.run(folder, tests, limit_s, show=lambda line: None)
    found = (re.match(r"(ok|FAILED) (\w+) ", line) for line in lines)
    return {one[2]: one[1] for one in found if one}, lines


def test_a_stranger_s_scheduler_passes():
    found, lines = outcomes(STRANGER_S)
    assert found == dict.fromkeys(OF_ANY, "ok"), "\n".join(lines[-40:])


@pytest.mark.parametrize("name", sorted(set(ZOO) - {"sbq"}))
def test_each_of_ours_passes(name):
    found, lines = outcomes(name)
    assert found == dict.fromkeys(OF_ANY, "ok"), "\n".join(lines[-40:])
