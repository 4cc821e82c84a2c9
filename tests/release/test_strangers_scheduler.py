"""A scheduler in somebody else's style goes the whole way, as it is."""

import json

import pytest

from elevatorlab.elevators.compare import comparison, measures, page
from elevatorlab.elevators.compare.trials import (
    FOUR_SERVERS,
    GROUP_DEPTHS,
    PERCENTILES,
    SPEED_DEPTHS,
)
from elevatorlab.plugins import scheduler_folders
from elevatorlab.plugins.schedulers import SCHEDULERS
from elevatorlab.results import reading
from helpers import FIXTURES, cli

PACE = FIXTURES / "schedulers" / "pace"

#: What the disk of the comparison takes for a request, whoever chooses it.
SERVICE_US = FOUR_SERVERS.service_time_us

pytestmark = [pytest.mark.image, pytest.mark.timeout(1800)]


def test_it_passes_the_check(tmp_path):
    built = cli("scheduler", "build", PACE, "--json")
    assert built.returncode == 0 and json.loads(built.stdout)["warnings"] == "", built.stderr
    checked = cli("scheduler", "check", PACE, "--json", "--out", tmp_path / "page.html")
    assert checked.returncode == 0, checked.stderr
    told = json.loads(checked.stdout)
    assert told["passed"] and {one["outcome"] for one in told["verdicts"]} == {"passed"}
    said = {one["case"]: one["said"] for one in told["verdicts"]}
    assert said["is_selected"].endswith("2 in debugfs")  # pace_debug.c


def test_it_is_compared_with_a_scheduler_of_the_kernel(tmp_path):
    record = scheduler_folders.register(PACE)
    try:
        chosen = comparison.prepare("pace", tmp_path, beside=("mq-deadline",), repetitions=1)
        measured = chosen.measure()
        text = page.write(measured, chosen.schedulers, tmp_path / "page.html").read_text()
    finally:
        SCHEDULERS.unregister("pace")
    found = measured.pivot(index="quantity", columns="scheduler", values="value")
    assert set(found.index) == set(measures.QUANTITIES)
    assert set(found.columns) == {"pace", "mq-deadline"}
    assert found.fillna(1).gt(0).all(axis=None)  # NaN: too few reads for this percentile
    for name in found.columns:
        assert_possible(found[name])
    assert "<h1>PACE 0.3 beside the kernel" in text
    assert all(f'<th scope="col">{name}</th>' in text for name in ("PACE 0.3", "mq-deadline"))
    assert f"<code>{record.folder.digest}</code>" in text


def assert_possible(found):
    """Hold the answers of a scheduler to what no scheduler can change."""
    for question in "bulk", "writer":
        names = (f"{question}_{measures.percentile_name(one)}" for one in PERCENTILES)
        known = [found[name] for name in names if found[name] == found[name]]
        assert known[0] >= SERVICE_US and known == sorted(known)
    for depth in SPEED_DEPTHS:
        most = min(depth, FOUR_SERVERS.parallelism) * 1e6 / SERVICE_US
        # What was begun before the counted time may end in it.
        assert found[f"iops_{depth}"] <= 1.05 * most
    assert 1 / len(GROUP_DEPTHS) <= found["jain"] <= 1


@pytest.mark.parametrize("study", ["iozone_ranking", "stream_batching"])
def test_it_is_an_arm_of_a_study(study, tmp_path):
    results = ["--results", tmp_path / "results"]
    run = cli("run", study, "--preset", "smoke", "-p", f"schedulers={PACE}", *results)
    assert run.returncode == 0, run.stderr
    stored = list(reading.results_in(tmp_path / "results"))
    assert {one.trial["scheduler"]["name"] for one in stored} == {"pace"}
    loaded = [one.provenance.modules["pace-iosched"].sources for one in stored]
    assert set(loaded) == {scheduler_folders.read(PACE).folder.digest}
    # Its own counter, out of its own tunables, is among the results.
    assert all("late" in json.dumps(one.result.as_given()) for one in stored)
