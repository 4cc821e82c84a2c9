"""A scheduler of somebody's own as an arm: of a study, in tables, a bundle, and a comparison."""

import json
import math

import pandas as pd
import pytest

from elevatorlab.elevators.check.in_guest.cases.orders import WAITS_AT_MOST_S
from elevatorlab.elevators.compare import comparison, measures, page
from elevatorlab.elevators.compare import trials as of_comparison
from elevatorlab.plugins import scheduler_folders, studies
from elevatorlab.plugins.schedulers import SCHEDULERS
from elevatorlab.results import reading
from elevatorlab.running import jobs
from elevatorlab.sharing import bundles, verification
from helpers import cli
from scheduler_copy import ONE_LIST, folder  # noqa: F401  (fixture)

#: One trial for each scheduler.
SMALL = {
    "memory_mib": 512,
    "device_mib": 192,
    "sizes_mb": "10",
    "variants": "dropped",
    "arms": "host",
    "tests": "high_read_latency",
}


@pytest.mark.image
@pytest.mark.parametrize("name", studies.STUDIES.names())
def test_the_command_adds_it_to_any_study(name, tmp_path):
    results = ("--results", tmp_path / "results")
    run = cli("run", name, "--preset", "smoke", "--scheduler", ONE_LIST, "--dry-run", *results)
    assert run.returncode == 0, run.stderr
    lines = [line.split() for line in run.stdout.splitlines()]
    added = [words for words in lines if "one-list" in words]
    assert 0 < len(added) < len([words for words in lines if "deterministic" in words[:1]])


PERCENTILE_NAMES = [measures.percentile_name(one) for one in of_comparison.PERCENTILES]


@pytest.mark.image
def test_as_an_arm_from_the_run_to_a_strangers_verification(folder, tmp_path, testbed):
    """One trial each: with a worker of Dask's, in a table, a bundle, and verified from there."""
    results, study = tmp_path / "results", "vm_vs_container"
    scheduler_folders.register(folder)
    chosen = {**SMALL, "schedulers": "none,one-list"}
    table = jobs.run_study(study, "smoke", chosen, [testbed], results, workers=2)
    assert sorted(table["scheduler"]) == ["none", "one-list"]
    (stored,) = [one for one in reading.results_in(results) if "modules" in one.trial]
    (module,) = stored.provenance.modules.values()
    assert module.sources == SCHEDULERS.get("one-list").folder.digest
    bundles.write(results, tmp_path / "bundle.zip", lambda _, out: out.mkdir())
    SCHEDULERS.unregister("one-list")
    with bundles.Bundle(tmp_path / "bundle.zip") as bundle:
        found, others = verification.unpacked(bundle, tmp_path / "unpacked")
    assert len(found) == 2 and others == []
    again = {key: one for key, one in found.items() if one.trial.scheduler.name == "one-list"}
    (answer,) = [one for one in verification.again(again, testbed, sample=1) if one.trial]
    assert answer.answer == verification.SAME, answer.sentence


@pytest.mark.image
def test_a_comparison_answers_every_question(folder, tmp_path):
    scheduler_folders.register(folder)
    chosen = comparison.prepare("one-list", tmp_path, beside=(), repetitions=1)
    measured = chosen.measure()
    assert set(measured["quantity"]) == set(measures.QUANTITIES)
    found = measured.set_index("quantity")["value"]
    assert found["cost_1"] > 1000 and 1 / 3 <= found["jain"] <= 1
    for question in "bulk", "writer":
        known = [found[f"{question}_{one}"] for one in PERCENTILE_NAMES]
        known = [one for one in known if not math.isnan(one)]
        assert len(known) >= 2 and known == sorted(known)
    # First come, first served: one of sixteen programs waits for the fifteen others.
    assert 0.03 / WAITS_AT_MOST_S < found["starvation"] < 0.04 / WAITS_AT_MOST_S
    # A list is first come, first served: whoever is alone waits for the whole crowd, and no longer.
    one_read_ms = 1000 / found["drive_iops"]
    assert 20 * one_read_ms < found["longest_wait"] < 60 * one_read_ms
    rows = measures.as_json(measured, chosen.schedulers)
    assert len(rows) == len(measures.QUANTITIES) and json.loads(json.dumps(rows)) == rows
    text = page.write(measured, chosen.schedulers, tmp_path / "page.html").read_text()
    assert "one list beside the kernel" in text
    before = comparison.prepare("one-list", tmp_path, beside=(), repetitions=1)
    assert before.announcement().startswith("compare: 0 trials to run")
    pd.testing.assert_frame_equal(before.measure(), measured)
