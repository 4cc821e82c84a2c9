"""Processors that work side by side: the same bits on an idle and on a busy host."""

import pytest

from helpers import every_core_busy
from multicore_runs import make_many_jobs, many_jobs, run  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.image, pytest.mark.anew]


def test_the_same_bits_quiet_and_loaded(run, many_jobs):
    address = "deterministic?cpus=2&transfer=100"
    quiet = run(address, many_jobs)
    with every_core_busy():
        assert run(address, many_jobs) == quiet
