"""What is missing here skips a test, with the command that brings it; or fails it, where asked."""

import pytest

import needs
from helpers import FIXTURES

pytest_plugins = ["pytester"]

SKIPPING = """
import pytest

def test_needs_more():
    pytest.skip("no such thing here")

@pytest.mark.xfail(reason="known")
def test_known():
    assert False
"""

WANTING = """
import pytest
import needs

@pytest.mark.programs("sh", "no-such-program")
def test_a_program():
    assert False, "must not run"

@pytest.mark.programs("no-such-sshd")
@pytest.mark.programs("no-such-program")
def test_two_lists(monkeypatch):
    assert False, "must not run"

@pytest.mark.programs("sh", "true")
def test_what_is_here():
    pass

def test_another_kind_of_machine():
    needs.skip_on_this_machine("a machine of brass")
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    tests = FIXTURES.parent
    monkeypatch.setenv("PYTHONPATH", f"{tests}/support")  # for the helpers that conftest.py imports
    pytester.makeconftest((tests / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers = programs(*names): needs programs")
    return pytester


def test_skips_are_failures_where_they_are_forbidden(suite, monkeypatch):
    monkeypatch.setenv("ELEVATORLAB_FORBID_SKIPS", "1")
    suite.makepyfile(SKIPPING)
    run = suite.runpytest_subprocess()
    run.assert_outcomes(failed=1, xfailed=1)
    run.stdout.fnmatch_lines(["*this was skipped. Skipped: no such thing here"])


def test_skips_are_skips_elsewhere(suite, monkeypatch):
    monkeypatch.delenv("ELEVATORLAB_FORBID_SKIPS", raising=False)
    suite.makepyfile(SKIPPING)
    run = suite.runpytest_subprocess()
    run.assert_outcomes(skipped=1, xfailed=1)
    run.stdout.fnmatch_lines(["*not tested here*", "1 skipped: no such thing here"])


def test_a_missing_program_is_named_with_the_command_that_brings_it(suite, monkeypatch):
    monkeypatch.delenv("ELEVATORLAB_FORBID_SKIPS", raising=False)
    monkeypatch.setitem(needs.PACKAGES, "no-such-sshd", "openssh-server")
    monkeypatch.setitem(needs.PACKAGES, "no-such-program", "fio")
    suite.makepyfile(WANTING)
    run = suite.runpytest_inprocess()
    run.assert_outcomes(skipped=3, passed=1)
    provision = "sudo environments/provision.sh"
    both = f"environments/host-setup.sh test-real-packages.txt; {provision}"
    run.stdout.fnmatch_lines_random(
        [
            f"1 skipped: no no-such-program here; install with: {provision}",
            f"1 skipped: no no-such-program, no-such-sshd here; install with: {both}",
            "1 skipped: needs another machine: a machine of brass",
        ]
    )


def test_only_what_needs_another_machine_is_skipped_where_skips_are_forbidden(suite, monkeypatch):
    monkeypatch.setenv("ELEVATORLAB_FORBID_SKIPS", "1")
    suite.makepyfile(WANTING)
    suite.runpytest_subprocess().assert_outcomes(skipped=1, passed=1, errors=2)
