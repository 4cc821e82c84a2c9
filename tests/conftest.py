"""Markers, skips and the fixtures that several files share."""

import functools
import os

import pytest

from elevatorlab.errors import ElevatorLabError, NotReady
from elevatorlab.testbeds.deterministic import DeterministicTestbed, image, qemu
from elevatorlab.trial import Trial, profile
from helpers import fio

FORBID_SKIPS = "ELEVATORLAB_FORBID_SKIPS"


@functools.cache
def missing_for_image():
    """Return what the deterministic testbed lacks here, in one line; nothing when it is ready."""
    try:
        qemu.version()
        image.current()
    except NotReady as problem:
        return str(problem)
    return None


@functools.cache
def missing_for_docker():
    import docker

    try:
        docker.from_env().ping()
    except docker.errors.DockerException as problem:
        return f"no Docker engine answers ({problem}); environments/start-docker.sh starts one"
    return None


NEEDS = {"image": missing_for_image, "docker": missing_for_docker}


def pytest_runtest_setup(item):
    for marker, missing in NEEDS.items():
        if item.get_closest_marker(marker) and (reason := missing()):
            pytest.skip(reason)


def _forbid_skip(report):
    """Turn a skip into a failure that tells its reason, where skips are forbidden."""
    if os.environ.get(FORBID_SKIPS) == "1" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{FORBID_SKIPS}=1, and this was skipped. {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _forbid_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _forbid_skip((yield))


@pytest.fixture(scope="session")
def testbed():
    return DeterministicTestbed(say=lambda _: None)


@pytest.fixture(scope="session")
def make_trial():
    """Return a factory of small valid trials: fio on a bare disk, but for `changes`."""

    def make(**changes):
        plain = {
            "study": "laboratory",
            "preset": "smoke",
            "memory_mib": 512,
            "device": profile("nvme_ssd", 64),
            "scheduler": {"name": "none"},
            "filesystem": None,
            "groups": ({"name": "main"},),
            "workloads": (fio(runtime="100ms", time_based=1, iodepth=32),),
            "settle_s": 0.01,
            "deadline_s": 60,
            "seed": 1,
        }
        return Trial.model_validate({**plain, **changes})

    return make


@pytest.fixture
def error_of():
    """Return a function that calls another and returns the sentence it is refused with."""

    def sentence(function, *arguments, **more):
        with pytest.raises(ElevatorLabError) as refusal:
            function(*arguments, **more)
        return str(refusal.value)

    return sentence
