"""Study 3, experiment ``frontier``: its settings are set in the machine, and read back."""

import pytest

from elevatorlab import studies
from elevatorlab.results import store
from elevatorlab.running import campaign
from elevatorlab.studies import container_isolation as study
from helpers import result_of

pytestmark = pytest.mark.image

GIVEN = {
    "experiments": ["frontier"],
    "frontier_loads": ["two"],
    "frontier_mechanisms": ["none", "io_cost", "io_class", "bfq", "share"],
    "frontier_total_weights": [30],
    "frontier_vrates": [[80, 100]],
    "frontier_agings_ms": [10_000],
    "frontier_periods_s": [0.25],
    "frontier_s": 1.25,
}


@pytest.fixture(scope="module")
def found(testbed, tmp_path_factory):
    """Return the result of a short trial of each mechanism."""
    trials = study.trials(studies.parameters(study, "quick", GIVEN))
    plain = {"frontier_mechanisms": ["bfq"], "frontier_weights": [10]}
    trials += [
        trial
        for trial in study.trials(studies.parameters(study, "quick", {**GIVEN, **plain}))
        if trial.scheduler.tunables
    ]
    results = tmp_path_factory.mktemp("results")
    campaign.run([campaign.Share(testbed, trials)], results)
    folder = store.folder(results, testbed)
    return {trial.labels["mechanism"]: result_of(folder / trial.hash) for trial in trials}


def read_back(result, file):
    """Return what the knobs with that file were read back as."""
    return [one["read"] for one in result["proofs"] if one["knob"].endswith(f"/{file}")]


def written(result, role):
    """Return the bytes that the containers of a role have written."""
    return sum(one["bytes"] for name, one in result["workloads"].items() if f"-{role}-" in name)


def test_the_cost_controller_has_its_bounds_and_the_weights_of_one_parent(found):
    (qos,) = read_back(found["io_cost"], "io.cost.qos")
    assert {"min=80.00", "max=100.00", "wlat=5000"} <= set(qos.split())
    weights = read_back(found["io_cost"], "io.weight")
    assert sorted(weights) == ["default 200"] * 3 + ["default 30"] * 2


def test_the_idle_class_waits_for_the_others(found):
    assert read_back(found["io_class"], "prio_aging_expire") == ["10000"]
    idle, usual = (written(found[name], "overloaded") for name in ("io_class", "none"))
    assert 0 < idle < usual / 5
    assert written(found["io_class"], "normal") > written(found["none"], "normal")


def test_bfq_has_no_low_latency(found):
    assert read_back(found["bfq"], "low_latency") == ["0"]


def test_share_learns_the_disks_costs_and_limits_both_offenders(found):
    decided = [one for one in found["share"]["regulator"] if one["action"] != "report"]
    assert {one["container"] for one in decided} == {"overloaded-01", "overloaded-02"}
    assert not any("failed" in one for one in decided)
    # The disk takes 1320 us for a request and 106 for a KiB: 12 to 13 KiB cost as much as one.
    last = decided[-1]["numbers"]
    assert last["request_us"] / last["kib_us"] < 40
