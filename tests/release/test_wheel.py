"""The package as somebody has it who installs it: without a checkout, and without extras."""

import json

import pytest

from elevatorlab import cache
from elevatorlab.paths import BUILD
from helpers import cli
from wheels import STUDY, built, installed  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.timeout(2400), pytest.mark.programs("git")]


def test_it_judges_like_the_checkout(installed):
    run = installed("claims", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == json.loads(cli("claims", "--json").stdout)


def test_it_draws_the_report_and_says_where_it_is(installed):
    run = installed("report", "--results", "published")
    assert run.returncode == 0, run.stderr
    place = installed.folder / "data" / "elevatorlab" / "published-report"
    assert f"report   {place / 'index.html'}" in run.stdout.splitlines()
    assert STUDY in (place / "index.html").read_text()
    assert list((installed.folder / "elsewhere").iterdir()) == []


@pytest.mark.image
def test_it_runs_a_study(installed, tmp_path):
    smallest = ["--preset", "smoke", "-p", "memory_mib=512", "-p", "device_mib=192"]
    smallest += ["-p", "sizes_mb=10", "-p", "variants=dropped", "-p", "schedulers=none"]
    smallest += ["-p", "arms=host", "--results", tmp_path / "r"]
    # The image and the emulator are not made anew.
    made = {"ELEVATORLAB_BUILD": f"{BUILD}", "ELEVATORLAB_CACHE": f"{cache.ROOT}"}
    run = installed("run", STUDY, *smallest, **made)
    assert run.returncode == 0, run.stderr
    assert "2 trials to run, 0 finished already" in run.stdout
    assert installed("results", STUDY, "--results", tmp_path / "r").stdout.startswith("trial,")
