"""A machine that must run every test is told of each one that it skipped."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SKIPPING = """
import pytest

def test_needs_more():
    pytest.skip("no such thing here")

@pytest.mark.xfail(reason="known")
def test_known():
    assert False
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    tests = Path(__file__).parent
    monkeypatch.setenv("PYTHONPATH", str(tests))  # for the helpers that conftest.py imports
    pytester.makeconftest((tests / "conftest.py").read_text())
    pytester.makepyfile(SKIPPING)
    return pytester


def test_skips_are_failures_where_they_are_forbidden(suite, monkeypatch):
    monkeypatch.setenv("ELEVATORLAB_FORBID_SKIPS", "1")
    run = suite.runpytest_subprocess()
    run.assert_outcomes(failed=1, xfailed=1)
    run.stdout.fnmatch_lines(["*this was skipped. Skipped: no such thing here"])


def test_skips_are_skips_elsewhere(suite, monkeypatch):
    monkeypatch.delenv("ELEVATORLAB_FORBID_SKIPS", raising=False)
    run = suite.runpytest_subprocess()
    run.assert_outcomes(skipped=1, xfailed=1)
    run.stdout.fnmatch_lines(["*not tested here*", "1 skipped: no such thing here"])
