"""Study 3, experiment ``frontier``: every mechanism in every setting, under every load."""

from typing import get_args

import pytest

from elevatorlab import studies
from elevatorlab.studies import container_isolation as study
from elevatorlab.studies.container_isolation.trials import frontier
from elevatorlab.studies.container_isolation.trials.parameters import (
    FrontierLoad,
    FrontierMechanism,
)


def trials(**more):
    chosen = {"experiments": ["frontier"], **more}
    return study.trials(studies.parameters(study, "quick", chosen))


def settings(mechanism, **more):
    made = trials(frontier_mechanisms=[mechanism], **more)
    return {trial.labels["setting"]: trial for trial in made}


def limits(trial, role):
    return [group.limits for group in trial.groups if group.name.startswith(role)]


def test_no_preset_runs_it_unless_it_is_asked_for():
    for preset in study.PRESETS:
        asked = studies.parameters(study, preset, {}).experiments
        assert "frontier" not in asked and len(asked) == 5


def test_each_load_has_its_offenders():
    assert set(frontier.LOADS) == set(get_args(FrontierLoad))
    for load, offenders in frontier.LOADS.items():
        (trial,) = trials(frontier_mechanisms=["none"], frontier_loads=[load], frontier_s=12)
        loads = [one for one in trial.workloads if one.group.startswith("overloaded")]
        assert len(loads) == len(offenders)
        for one, offender in zip(loads, offenders, strict=True):
            assert one.request_bytes == offender.request_bytes
            assert one.duration_s == pytest.approx(frontier.ONSET_S + 12)
            first, second, *_ = one.phases
            assert (first.writers, first.duration_s) == (0, frontier.ONSET_S)
            assert second.writers == offender.writers[0]


def test_bursts_come_and_go_by_turns():
    (trial,) = trials(frontier_mechanisms=["none"], frontier_loads=["burst-1"])
    (burst,) = [one for one in trial.workloads if one.group.startswith("overloaded")]
    assert [phase.writers for phase in burst.phases] == [0, 3, 0, 3, 0, 3, 0]
    assert [phase.duration_s for phase in burst.phases[1:]] == [1, 1, 1, 1, 1, 0.25]


def test_what_is_judged_begins_when_a_quarter_of_a_second_has_passed():
    (trial,) = trials(frontier_mechanisms=["none"])
    assert float(trial.labels["onset"]) == trial.warm_up_s == frontier.ONSET_S
    assert round(frontier.ONSET_S) - frontier.ONSET_S == 0.25


def test_alone_is_without_offenders():
    (trial,) = trials(frontier_mechanisms=["alone"])
    assert {one.group.split("-")[0] for one in trial.workloads} == {"normal"}


def test_a_fixed_limit_is_that_of_all_offenders_together():
    found = settings("io_max", frontier_loads=["two"], frontier_limits_kb_s=[900, 1400])
    assert [one.write_bytes_s for one in limits(found["900 kB/s"], "overloaded")] == [450_000] * 2
    assert limits(found["1400 kB/s"], "normal")[0].write_bytes_s is None


def test_the_cost_controller_has_every_weight_with_every_rate_and_wait():
    vrates = [[25, 100], [80, 80]]
    given = {"frontier_weights": [10, 100], "frontier_vrates": vrates}
    found = settings("io_cost", frontier_waits_ms=[2.5, 5], **given)
    assert list(found) == [
        "weight 10, vrate 25-100, 2.5 ms",
        "weight 10, vrate 25-100, 5 ms",
        "weight 10, vrate 80",
        "weight 100, vrate 25-100, 2.5 ms",
        "weight 100, vrate 25-100, 5 ms",
        "weight 100, vrate 80",
    ]
    trial = found["weight 10, vrate 25-100, 2.5 ms"]
    assert trial.io_cost.qos["wlat"] == 2500
    assert (trial.io_cost.qos["min"], trial.io_cost.qos["max"]) == (25, 100)
    assert limits(trial, "overloaded")[0].weight == 10
    assert {one.weight for one in limits(trial, "normal")} == {100}


def test_bfq_runs_as_shipped_and_tuned():
    given = {"frontier_weights": [10]}
    (shipped,) = settings("bfq", **given).values()
    (tuned,) = settings("bfq_tuned", **given).values()
    assert shipped.scheduler.name == tuned.scheduler.name == "bfq"
    assert shipped.scheduler.tunables == {}
    assert tuned.scheduler.tunables == {"slice_idle": 0, "low_latency": 0}


def test_policies_run_at_every_control_period():
    found = settings("guard", frontier_periods_s=[1, 0.25])
    assert [trial.regulator.period_s for trial in found.values()] == [1, 0.25]
    assert found["0.25 s"].regulator.policy == "guard"


def test_every_mechanism_meets_every_load():
    everything = {"frontier_mechanisms": get_args(FrontierMechanism)}
    made = trials(frontier_loads=get_args(FrontierLoad), frontier_s=12, **everything)
    met = {(trial.labels["mechanism"], trial.labels["load"]) for trial in made}
    assert len(met) == len(get_args(FrontierMechanism)) * len(get_args(FrontierLoad))
