"""Study 3: its trials, and what its claims, figures and tables make of data with known answers."""

import importlib

import numpy as np
import pandas as pd
import pytest

from elevatorlab import studies
from elevatorlab.analysis.models import FALLING_CURVES
from elevatorlab.analysis.queueing import md1_wait_ms, mean_value_analysis, mm1_wait_ms
from elevatorlab.judging.families import statements
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.results.tidying import tidy
from elevatorlab.running import campaign
from elevatorlab.studies import container_isolation as study
from elevatorlab.studies.container_isolation import claims as interference
from elevatorlab.studies.container_isolation import measures
from elevatorlab.studies.container_isolation import trials_containers as disks
from elevatorlab.studies.container_isolation.measures import compare_curves, curves_over_containers
from elevatorlab.studies.container_isolation.tables import overloads_table
from elevatorlab.studies.container_isolation.trials_containers import PAPERS_SCHEDULERS

NOTHING = pd.DataFrame(columns=study.COLUMNS)
LOADS = (1, 2, 3, 4, 6, 9, 14, 20)
PLACE = {
    "study": study.NAME,
    "testbed": "deterministic",
    "machine": "deterministic",
    "accelerator": "TCG, instruction counting (1 instruction = 1 ns)",
    "preset": "quick",
    "arm": "container",
    "scheduler": "none",
    "disk": "write_behind",
    "service_ms": 1.85,
}


def row(experiment, containers, repetition, wait_ms, iops, overloaded=0, role="normal", **more):
    load = iops * wait_ms / 1000
    return {
        **PLACE,
        "trial": f"{experiment}-{containers}-{overloaded}-{repetition}",
        "experiment": experiment,
        "containers": containers,
        "overloaded": overloaded,
        "subject": f"{role}-01",
        "role": role,
        "repetition": repetition,
        "iops": iops,
        "write_kib_s": iops * 5,
        "wait_ms": wait_ms,
        "latency_mean_ms": wait_ms,
        "queue_length": load,
        "utilization_ratio": load,
        "disk_iops": iops * containers,
        "disk_busy_ratio": iops * containers * 1.85e-3,
        "disk_utilization_ratio": 0.65,
        **more,
    }


def table(rows):
    return pd.DataFrame(rows).reindex(columns=study.COLUMNS)


def paper(wait=lambda n: max(0.82, 1.85 * n - 2.23), jitter=0.003):
    """Return what the paper's containers would give, with little spread between repetitions."""
    rows = []
    for repetition in (1, 2, 3):
        factor = 1 + jitter * (repetition - 2)
        for count in LOADS:
            wait_ms = wait(count) * factor
            rows.append(row("equal", count, repetition, wait_ms, 1000 / (2.23 + wait_ms)))
        alone = row("overload", 0, repetition, 4.7 * factor, 212, 1, "overloaded")
        rows.append(alone)
        for count in (1, 3):
            beside = ("normal", 10.94 * factor), ("overloaded", 6.9 * factor)
            rows += [row("overload", count, repetition, w, 70, 1, role) for role, w in beside]
    return table(rows)


def verdicts(measured):
    return {
        claim.id.removeprefix(f"{study.NAME}/"): claim
        for claim in study.judge(measured)
        if measured.empty or claim.testbed != "published data"
    }


@pytest.mark.parametrize("preset", study.PRESETS)
def test_every_container_of_a_trial_has_a_part_of_the_disk(preset):
    for trial in study.trials(studies.parameters(study, preset)):
        assert trial.device.capacity_mib >= len(trial.groups)
        assert all(group.isolation == "container" for group in trial.groups)


def test_quick_can_be_judged():
    parameters = studies.parameters(study, "quick")
    assert parameters.repetitions >= 2  # an interval, though a wide one
    assert {1, 20} <= set(parameters.containers) and len(parameters.containers) >= 4
    assert 1 in parameters.normal_containers
    assert {"equal", "overload", "regulation"} <= set(parameters.experiments)
    assert {1, *study.Parameters.model_fields["overload_writers"].default} == set(disks.WRITERS)


def test_the_overload_comes_with_the_same_containers_without_it():
    choice = {"experiments": ("overload",), "normal_containers": (2,)}
    labels = [t.labels for t in study.trials(studies.parameters(study, "smoke", choice))]
    found = {(one["experiment"], one["containers"], one["overloaded"]) for one in labels}
    assert found == {("overload", "0", "1"), ("equal", "2", "0"), ("overload", "2", "1")}


def test_more_writers_overload_the_disk_as_much_as_one_does():
    choice = {"experiments": ("sweep",), "overload_writers": (2, 3)}
    made = study.trials(studies.parameters(study, "smoke", choice))
    assert {(t.labels["containers"], t.labels["load"]) for t in made} == {
        (count, writers) for count in ("0", "1") for writers in ("2 writers", "3 writers")
    }
    for trial in made:
        load = trial.workloads[-1]
        assert load.group == "overloaded-01" and len(load.phases) == 1
        wait_ms = load.phases[0].writers * disks.service_ms(load.request_bytes)
        assert wait_ms == pytest.approx(4.7, rel=0.02)  # as printed, running alone


def test_a_warm_up_longer_than_the_load_is_refused(error_of):
    def expand():
        return study.trials(studies.parameters(study, "smoke", {"warm_up_s": 9}))

    assert "warm_up_s: expected less than" in error_of(expand)


def test_the_calibration_is_what_the_paper_prints():
    assert 1000 / disks.service_ms() == pytest.approx(20 * 27, rel=0.01)
    assert 1000 / 328 - 0.82 == pytest.approx(disks.THINK_US / 1000, abs=0.005)


def test_published_data_alone_judges_the_document_and_nothing_else():
    found = verdicts(NOTHING)
    document = {name: one for name, one in found.items() if one.measured is not None}
    assert {name for name in document if name.startswith("errata/")} == {
        f"errata/{name}" for name in ("w-new-w-pre", "10.4-or-10.94", "exponential-decline")
    }
    for name, one in document.items():
        holds = name.startswith("arithmetic/")
        assert one.verdict == (Verdict.REPRODUCED if holds else Verdict.CONTRADICTED), name
    rest = [one for name, one in found.items() if name not in document]
    assert rest and {one.verdict for one in rest} == {Verdict.NOT_TESTABLE}


def test_the_papers_own_numbers_are_reproduced():
    found = verdicts(under(PAPERS_SCHEDULERS, swept(1, 1, 1)))
    assert found["figure-1/iops/1"].verdict == Verdict.CALIBRATED
    for name in ("figure-6/wait/normal-beside-overloaded", "figure-6/rise/normal"):
        assert found[name].verdict == Verdict.REPRODUCED, found[name].reason
    assert found["figure-6/normal-suffers-more"].verdict == Verdict.REPRODUCED
    assert "figure-4/queue/1" in str(found["figure-1/iops/1"].shared_with)


def test_a_closed_system_is_told_from_mm1():
    closed = verdicts(paper())["section-2/mm1"]
    assert closed.verdict == Verdict.CONTRADICTED
    assert closed.measured == "interactive (closed)"


def test_mm1_is_found_where_it_holds():
    rows = []
    for repetition in (1, 2, 3):
        for count, ratio in zip(LOADS, (0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), strict=True):
            wait_ms = mm1_wait_ms(ratio, 1.85) * (1 + 0.01 * (repetition - 2))
            own = row("equal", count, repetition, wait_ms, 1000 * ratio / wait_ms)
            rows.append(own)
    assert verdicts(table(rows))["section-2/mm1"].verdict == Verdict.REPRODUCED


def test_other_numbers_miss_the_calibration():
    doubled = paper()
    doubled["wait_ms"] *= 2
    found = verdicts(doubled)
    assert found["figure-6/wait/overloaded-alone"].verdict == Verdict.CALIBRATION_MISSED


def swept(*factors):
    """Return `paper`, with waits beside the overload that are other ones, by number of writers."""
    measured = paper()
    beside = (measured["experiment"] == "overload") & (measured["containers"] > 0)
    first, *others = factors
    alike = measured[measured["experiment"] == "overload"]
    parts = [
        measured.assign(wait_ms=measured["wait_ms"].where(~beside, measured["wait_ms"] * first))
    ]
    for writers, factor in enumerate(others, start=2):
        part = alike.assign(experiment="sweep", load=f"{writers} writers")
        part["wait_ms"] *= np.where(part["containers"] > 0, factor, 1)
        parts.append(part.assign(trial=part["trial"] + f"-{writers}"))
    return pd.concat(parts, ignore_index=True)


def under(schedulers, measured):
    """Return the same rows under each scheduler."""
    parts = [measured.assign(scheduler=name, trial=measured["trial"] + name) for name in schedulers]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(
    ("factors", "verdict"),
    [
        ((1, 1, 1), Verdict.REPRODUCED),
        ((2, 3, 0.5), Verdict.CONTRADICTED),
        ((2, 1, 2), Verdict.NOT_TESTABLE),
        ((2, 3), Verdict.NOT_TESTABLE),
        ((2, 2, 1.055), Verdict.UNDECIDED),
    ],
)
def test_a_number_beside_the_overload_is_contradicted_where_no_overload_explains_it(
    factors, verdict
):
    found = verdicts(under(PAPERS_SCHEDULERS, swept(*factors)))
    found = found["figure-6/wait/normal-beside-overloaded"]
    assert found.verdict == verdict
    expected = ("1 writer", "2 writers", "3 writers")[: len(factors)]
    compared = [one.what for one in found.compared]
    assert compared[: len(factors)] == list(expected)
    assert len(compared) == len(PAPERS_SCHEDULERS) * len(factors)
    assert (found.p_value is None) == (verdict == Verdict.NOT_TESTABLE)


def test_nor_is_it_where_a_scheduler_explains_it_or_was_not_measured():
    name = "figure-6/wait/normal-beside-overloaded"
    *others, last = PAPERS_SCHEDULERS
    some = under(others, swept(2, 2, 2))
    explained = pd.concat([some, under([last], swept(2, 1, 2))], ignore_index=True)
    assert verdicts(some)[name].verdict == Verdict.NOT_TESTABLE
    assert verdicts(explained)[name].verdict == Verdict.NOT_TESTABLE
    # Other claims are judged by the first scheduler alone, as before.
    assert verdicts(explained)["figure-1/iops/1"] == verdicts(swept(2, 2, 2))["figure-1/iops/1"]


def test_an_overload_that_waits_otherwise_alone_than_the_paper_says_explains_nothing():
    """So it does not count as a possibility that explains the number, or that was not measured."""
    name = "figure-6/wait/normal-beside-overloaded"
    measured = under(PAPERS_SCHEDULERS, swept(1, 1, 2))
    assert verdicts(measured)[name].verdict == Verdict.NOT_TESTABLE
    third = measured["load"] == "3 writers"
    measured.loc[third & (measured["containers"] == 0), "wait_ms"] *= 1.1
    found = verdicts(measured)[name]
    assert found.verdict == Verdict.REPRODUCED
    assert len(found.compared) == len(PAPERS_SCHEDULERS) * 2


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1, Verdict.REPRODUCED), (3, Verdict.CONTRADICTED)]
)
def test_each_container_includes_the_overloaded_one(factor, verdict):
    """What changes only a little is the rise of every container's wait."""
    one = swept(1, 1, 1)
    some = one[one["experiment"].isin(["equal", "overload", "sweep"]) & (one["containers"] < 2)]
    two = some[some["containers"] == 1].assign(containers=2)
    beside = two["overloaded"] == 1
    own = beside & (two["role"] == "overloaded")
    alone_ms = 4.7
    two.loc[own, "wait_ms"] = alone_ms + (two.loc[own, "wait_ms"] - alone_ms) * factor
    found = verdicts(under(PAPERS_SCHEDULERS, pd.concat([some, two], ignore_index=True)))
    assert found["figure-6/rise-changes-little"].verdict == verdict


@pytest.mark.image
@pytest.mark.parametrize("writers", [2, 3])
def test_under_cfq_several_writers_are_no_overload_of_the_papers(
    writers, testbed, tmp_path, monkeypatch
):
    """Alone, they wait longer than the paper says, however little they write."""
    trials_module = importlib.import_module(f"{study.__name__}.trials")
    monkeypatch.setattr(trials_module, "overload_bytes", lambda writers: 512)
    choice = {"experiments": ("sweep",), "schedulers": ("cfq",), "overload_writers": (writers,)}
    made = study.trials(studies.parameters(study, "smoke", choice))
    (alone,) = [trial for trial in made if trial.labels["containers"] == "0"]
    campaign.run([campaign.Share(testbed, [alone])], tmp_path)
    (wait_ms,) = tidy(tmp_path, study)["wait_ms"]
    assert wait_ms > 4.7 * (1 + interference.CALIBRATED)


def test_a_wait_that_falls_beside_the_overload_has_no_ratio_of_rises():
    found = verdicts(swept(0.1, 0.1, 0.1))["figure-6/rise-changes-little"]
    assert found.verdict == Verdict.NOT_TESTABLE and "wait less" in found.reason


def test_the_table_of_overloads_has_each_number_of_writers():
    _, shown = overloads_table(swept(1, 1, 0.5))
    assert shown.set_index(["overload", "normal"])["rise, normal (ms)"].to_dict() == {
        **{(words, 0): "–" for words in ("1 writer", "2 writers", "3 writers")},
        **{(words, 1): "10.12" for words in ("1 writer", "2 writers")},
        **{(words, 3): "7.62" for words in ("1 writer", "2 writers")},
        ("3 writers", 1): "4.65",
        ("3 writers", 3): "2.150",
    }


def test_one_repetition_decides_no_number():
    measured = paper()
    found = verdicts(measured[measured["repetition"] == 1])
    assert found["figure-1/iops/1"].verdict == Verdict.UNDECIDED
    assert "one repetition" in found["figure-1/iops/1"].reason


def test_a_wait_is_not_interpolated_over_a_wide_gap():
    loads = measures.by_load(paper())
    assert measures.at_utilization(loads, 0.92) is not None
    ends = loads[loads["containers"].isin([1, 20])]
    assert measures.at_utilization(ends, 0.71) is None


def test_rises_are_the_papers_differences():
    found = measures.rises(paper()).groupby("containers").mean()
    assert found.loc[1, "rise_ms"] == pytest.approx(10.94 - 0.82)
    assert found.loc[1, "overloaded_rise_ms"] == pytest.approx(2.2)
    three = found.loc[3]
    assert three["system_rise_ms"] == pytest.approx(3 * three["rise_ms"] + 2.2)


def test_a_broken_law_is_shown():
    measured = paper()
    measured.loc[0, "queue_length"] *= 2
    _, laws = study.tables(measured)[2]
    little = laws[(laws["experiment"] == "equal") & laws["law"].str.startswith("Little")]
    assert little["broken"].tolist() == [1, 1]
    kernel = laws[laws["law"].str.contains("kernel's busy time")]
    assert (kernel["broken"] > 0).all()


@pytest.mark.parametrize("measured", [NOTHING, paper()], ids=["published", "measured"])
def test_figures_and_tables_of_what_there_is(measured):
    drawn = study.figures(study.published(), measured)
    assert set(drawn) == {
        *("overview", "figure-1", "figure-2", "figure-3", "figure-4", "figure-6"),
        *("open-and-closed", "figure-8", "figure-9", "comparison", "comparison-over-time"),
        "waits-by-second",
    }
    assert all(one.caption for one in drawn.values())
    observed = study.tables(measured)[:3]
    assert [len(frame) > 0 for _, frame in observed] == [not measured.empty] * 3


def test_open_arrivals_are_told_from_closed_writers_by_the_service_time_that_a_queue_finds():
    rows = []
    for disk, wait_ms in (("exponential_server", mm1_wait_ms), ("single_server", md1_wait_ms)):
        for ratio in (0.2, 0.5, 0.8, 0.9):
            shared = {"disk": disk, "offered_ratio": ratio, "disk_busy_ratio": ratio}
            rows.append(row("open", 2, 1, wait_ms(ratio, 1.85), 270 * ratio, **shared))
    for count, exact in mean_value_analysis(1.85, 2.23, 5).iterrows():
        own = exact["wait_ms"], exact["iops"]
        rows.append(row("equal", count, 1, *own, disk="single_server"))
    measured = table(rows)
    _, queues = study.tables(measured)[3]
    best = queues[queues["AICc"] == "+0.0"].set_index("load")
    assert best.loc["open arrivals, exponential service", "curve"] == "M/M/1"
    assert best.loc["open arrivals, constant service", "curve"] == "M/D/1"
    assert best["parameters"].str.startswith("service_ms = 1.85 ").tolist() == [True, True, False]
    assert "Closed data in an open model" in best["against it"].iloc[-1]
    assert "exponential service: The curve “M/M/1” fits best" in (
        study.figures(study.published(), measured)["open-and-closed"].details
    )


def test_the_table_of_loads_has_the_digits_that_the_intervals_justify():
    measured = paper()
    first = measured[measured["repetition"] == 1]
    _, loads = study.overview_table(measured)
    assert {"writes/s", "wait (ms)", "95 % interval (ms)", "MVA (ms)"} <= set(loads)
    _, once = study.overview_table(first)
    assert set(once["95 % interval (ms)"]) == {"one repetition"}
    assert not [name for _, frame in study.tables(measured)[:4] for name in frame if "_" in name]


def test_what_rises_has_no_rival_that_can_only_fall():
    _, fits = study.tables(paper())[1]
    falling = set(fits.loc[fits["curve"] == "closed share", "y over x"])
    assert falling == {"writes/s over containers", "write rate over containers"}


def test_repetitions_of_a_load_are_one_point_of_a_curve():
    found = curves_over_containers(measures.by_load(paper()), "iops")
    assert found is not None and {len(one.x) for one in found.fits} == {len(LOADS)}


@pytest.mark.parametrize(("scatter", "said"), [(0.0, "reproduced"), (0.5, "contradicted")])
def test_a_curve_that_leaves_most_unexplained_is_not_supported(scatter, said):
    """However far its rivals are behind."""
    measured = paper(wait=lambda n: 1000 / (300 - 14 * n) - 2.23 if n < 20 else 60.0)
    measured["iops"] = [
        (300 - 14 * n) * (1 + scatter * (-1) ** place)
        for n, place in zip(
            measured["containers"], pd.factorize(measured["containers"])[0], strict=True
        )
    ]
    linear = compare_curves(measures.by_load(measured), FALLING_CURVES, "containers", "iops")
    item = next(one for one in statements(study.NAME) if one.claim["id"].endswith("figure-1/power"))
    item = item._replace(select={**item.select, "curve": linear.best.model.name})
    assert interference._named_curve(item, linear).verdict == said


def test_details_say_what_the_fits_are_worth():
    drawn = study.figures(study.published(), paper())
    assert "Knee at" in drawn["overview"].details
    assert "closed share" in drawn["figure-1"].details
    assert "closed busy share" in drawn["figure-3"].details


def test_a_drive_has_a_queue_that_the_kernel_sees_and_serves_in_order():
    chosen = studies.parameters(study, "paper")
    on_drives = [trial for trial in study.trials(chosen) if trial.device.kind == "drive"]
    assert {trial.labels["disk"] for trial in on_drives} == {"hp-c3323a"}
    assert {trial.device.drive.queue.depth for trial in on_drives} == {32}
    assert {trial.device.drive.queue.order for trial in on_drives} == {"in_order"}


def test_what_does_not_fall_linearly_without_a_scheduler_does_not_for_want_of_one():
    found = verdicts(paper())["figure-1/linear-without-scheduling"]
    assert found.verdict == Verdict.CONTRADICTED and "Scheduler of the disk: none" in found.reason
    others = verdicts(paper().assign(scheduler="bfq"))["figure-1/linear-without-scheduling"]
    assert others.verdict == Verdict.NOT_TESTABLE
