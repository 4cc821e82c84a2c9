"""Markers, skips and the fixtures that several files share."""

import contextlib
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

import locks
import machines
import needs
from disks import by_id, disk  # noqa: F401  (fixtures)
from elevatorlab.errors import ElevatorLabError
from elevatorlab.testbeds.deterministic import DeterministicTestbed, repeated_trials
from elevatorlab.trial import Trial, profile
from helpers import ATTESTED, fio

FORBID_SKIPS = "ELEVATORLAB_FORBID_SKIPS"

# An example may take as long as a slow machine takes.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Let one test at a time have what tests of other processes use as well."""
    with contextlib.ExitStack() as turns:
        for name in shared_by(item):
            turns.enter_context(locks.in_turn(name))
        return (yield)


def shared_by(item):
    """Yield what a test needs for itself: this machine's ``disk``, ``containers``, ``engine``.

    The scheduler of this machine's disk is chosen by trials, also by those of virtual machines on
    it. Some tests count the engine's containers; what makes none only needs an engine that stays.
    """
    marks = {mark.name for mark in item.iter_markers()}
    own_root = "own_root" in marks
    if marks & {"root", "ssh", "docker"} and not own_root:
        yield "disk"
    if "docker" in marks:
        yield "engine" if own_root else "containers"


def pytest_runtest_setup(item):
    """Skip what this machine cannot do; take trials from the user's cache, unless told otherwise.

    The deterministic machine gives the same bits each time, so no trial need run twice. Tests of
    the release tier show just that, so theirs always run.
    """
    release = item.path.parent.name == "release"
    anew = release or os.environ.get("FRESH") == "1" or item.get_closest_marker("anew")
    os.environ[repeated_trials.REUSE] = "0" if anew else "1"
    if reason := needs.missing(item):
        pytest.skip(reason)


def pytest_terminal_summary(terminalreporter):
    """Say what bits were verified, and count what was skipped, by what is missing."""
    for report in terminalreporter.stats.get("passed", []):
        for name, line in report.user_properties:
            if name == ATTESTED:
                terminalreporter.section("for data/attested.csv")
                terminalreporter.line(line)
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section("not tested here")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count} skipped: {reason}")


def _forbid_skip(report):
    """Turn a skip into a failure that tells its reason, where skips are forbidden."""
    if os.environ.get(FORBID_SKIPS) == "1" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if needs.OTHER_MACHINE not in reason:
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
