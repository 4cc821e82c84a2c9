"""Markers, skips and the fixtures that several files share."""

import functools
import os
from collections import Counter
from pathlib import Path

import pytest

import browser
import machines
from disks import by_id, disk  # noqa: F401  (fixtures)
from elevatorlab.errors import ElevatorLabError, NotReady
from elevatorlab.testbeds.deterministic import DeterministicTestbed, image, qemu
from elevatorlab.testbeds.vagrant import readiness
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


def missing_for_browser():
    if not Path(browser.PROGRAM).exists():
        return f"no browser: {browser.PROGRAM} is missing; install chromium"
    return None


def missing_for_ssh():
    if not Path("/usr/sbin/sshd").exists():
        return "no SSH server: /usr/sbin/sshd is missing; install openssh-server"
    return None


def missing_for_root():
    if os.geteuid() != 0:
        return "not root: devices and schedulers are out of reach; run the tests with sudo"
    if not Path("/dev/loop-control").exists():
        return "no loop devices: /dev/loop-control is missing; modprobe loop"
    return None


@functools.cache
def missing_for_vagrant():
    missing = [one for one in readiness.findings() if one.what != "KVM" and not one.ready]
    return "; ".join(f"{one.what}: {one.found}. {one.remedy}" for one in missing) or None


NEEDS = {
    "browser": missing_for_browser,
    "docker": missing_for_docker,
    "image": missing_for_image,
    "root": missing_for_root,
    "ssh": missing_for_ssh,
    "vagrant": missing_for_vagrant,
}


def pytest_runtest_setup(item):
    for marker, missing in NEEDS.items():
        if item.get_closest_marker(marker) and (reason := missing()):
            pytest.skip(reason)


def pytest_terminal_summary(terminalreporter):
    """Count what was skipped, by what is missing."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section("not tested here")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count} skipped: {reason}")


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


@pytest.fixture(scope="session")
def make_real_trial(make_trial):
    """Return a factory of trials for real machines: a second of fio on a file of 64 MiB."""

    def make(**changes):
        plain = {
            "device": {"kind": "file_backed", "size_mib": 64},
            "workloads": (fio(runtime="1s", time_based=1, iodepth=8),),
        }
        return make_trial(**{**plain, **changes})

    return make


@pytest.fixture(scope="session")
def vm():
    """Return the virtual machine that all tests share."""
    with machines.shared_vm() as machine:
        yield machine


@pytest.fixture
def error_of():
    """Return a function that calls another and returns the sentence it is refused with."""

    def sentence(function, *arguments, **more):
        with pytest.raises(ElevatorLabError) as refusal:
            function(*arguments, **more)
        return str(refusal.value)

    return sentence
