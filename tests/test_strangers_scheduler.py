"""A scheduler in somebody else's style goes the whole way, as it is."""

import json
from pathlib import Path

import pytest

from elevatorlab.elevators.compare import comparison, measures
from elevatorlab.plugins import scheduler_folders
from elevatorlab.plugins.schedulers import SCHEDULERS
from elevatorlab.results import store
from helpers import cli

PACE = Path(__file__).with_name("fixtures") / "schedulers" / "pace"

pytestmark = [pytest.mark.image, pytest.mark.timeout(1800)]


def test_it_passes_the_check(tmp_path):
    built = cli("scheduler", "build", PACE, "--json")
    assert built.returncode == 0 and json.loads(built.stdout)["warnings"] == "", built.stderr
    checked = cli("scheduler", "check", PACE, "--json", "--out", tmp_path / "page.html")
    assert checked.returncode == 0, checked.stderr
    told = json.loads(checked.stdout)
    assert told["passed"] and {one["outcome"] for one in told["verdicts"]} == {"passed"}


def test_it_is_compared(tmp_path):
    scheduler_folders.register(PACE)
    try:
        measured = comparison.prepare("pace", tmp_path, beside=(), repetitions=1).measure()
    finally:
        SCHEDULERS.unregister("pace")
    assert set(measured["quantity"]) == set(measures.QUANTITIES)
    assert measured["value"].gt(0).all()


@pytest.mark.parametrize("study", ["iozone_ranking", "stream_batching"])
def test_it_is_an_arm_of_a_study(study, tmp_path):
    results = ["--results", tmp_path / "results"]
    run = cli("run", study, "--preset", "smoke", "-p", f"schedulers={PACE}", *results)
    assert run.returncode == 0, run.stderr
    stored = list(store.results_in(tmp_path / "results"))
    assert {one.trial["scheduler"]["name"] for one in stored} == {"pace"}
    loaded = [one.provenance.modules["pace-iosched"].sources for one in stored]
    assert set(loaded) == {scheduler_folders.read(PACE).folder.digest}
    # Its own counter, out of its own tunables, is among the results.
    assert all("late" in json.dumps(one.result.as_given()) for one in stored)
