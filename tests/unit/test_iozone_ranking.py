"""Study 2: trials, the article's log, errata, and verdicts that follow from what was measured."""

import functools
import itertools
import math

import pandas as pd
import pytest

from elevatorlab import studies
from elevatorlab.errors import ElevatorLabError
from elevatorlab.judging import engine
from elevatorlab.judging.families import statements
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.showing.figures import title_of
from elevatorlab.studies import iozone_ranking as study
from elevatorlab.studies.iozone_ranking.claims import JUDGES, judge
from elevatorlab.studies.iozone_ranking.columns import COLUMNS
from elevatorlab.studies.iozone_ranking.measures import TESTS, comparisons
from elevatorlab.trial import Iozone

NONE_YET = pd.DataFrame(columns=COLUMNS)
BEST_FIRST = ("cfq", "mq-deadline", "none", "kyber")

#: What stands for the article's cfq, and what its claims begin with.
WITH = pytest.mark.parametrize(("cfq", "begins"), [("cfq", ""), ("bfq", "successor/")])


def table(runs=4, best_first=BEST_FIRST, tool="iozone", arm="file_backed", step=0.1, **columns):
    """Return a table in which each scheduler is slower than the one before it by `step`."""
    rates = {"initial_write": 45654.45, "rewrite": 50000.0, "random_write": 49748.07}
    rates |= {"random_read": 915288.75, "mixed_workload": 1243356.5}
    rows = []
    for variant, scheduler, threads, run, test in itertools.product(
        ("as_published", "direct"), best_first, (1, 2), range(1, runs + 1), TESTS
    ):
        file_bytes = 1024 * 2**20
        read = 2 * file_bytes if variant == "direct" else 0
        rate = rates[test] * (1 - step * best_first.index(scheduler)) * (1 + 0.001 * run)
        rows.append(
            {
                **{"trial": f"{variant}-{scheduler}-{run}", "study": "iozone_ranking"},
                **{"testbed": "host", "machine": "0123456789abcdef", "accelerator": "none"},
                **{"preset": "full", "arm": arm, "device": arm, "backing_scheduler": "none"},
                **{"scheduler": scheduler, "variant": variant, "tool": tool, "threads": threads},
                **{"size_mib": 1024, "record_kib": 8192, "test": test, "seed": run},
                **{"repetition": run, "throughput_kib_s": rate, "slowest_kib_s": rate / threads},
                **{"least_kib": 1024.0, "run_read_bytes": read, "run_written_bytes": 0},
                "image_digest": "",
                **columns,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def by_id(measured):
    return {claim.id.removeprefix("iozone_ranking/"): claim for claim in judge(measured)}


@functools.cache
def rerun(*best_first, **more):
    """Return the claims judged by `table` with these schedulers, if any are named."""
    return by_id(table(best_first=best_first or BEST_FIRST, **more))


@functools.cache
def without_a_run():
    return by_id(NONE_YET)


# Trials


def test_a_trial_a_run_scheduler_and_device_with_all_threads_in_it():
    trials = study.trials(studies.parameters(study, "quick"))
    assert len(trials) == 3 * 5 * 2
    (workload,) = trials[0].workloads
    assert isinstance(workload, Iozone) and workload.threads == (1, 2)


def test_the_drives_are_partitions_whose_cache_is_scaled_down_with_the_files():
    made = study.trials(studies.parameters(study, "quick"))
    by_arm = {trial.labels["arm"]: trial for trial in made}
    for arm, cache_mib in {"notebook-5400": 8, "desktop-7200": 16}.items():
        used = by_arm[arm].device
        assert 64 <= used.capacity_mib <= 70 and used.profile == arm
        buffer = used.drive.buffer
        left_mib = buffer.segments * buffer.segment_sectors / 2048
        assert left_mib == pytest.approx(cache_mib * 8 / 1024, rel=0.4)
        assert "rotational" not in by_arm[arm].scheduler.tunables  # it says so itself


def test_the_full_preset_is_the_articles_command():
    chosen = studies.parameters(study, "full")
    asked = {"size_mib": 1024, "record_kib": 8192, "threads": 3, "repetitions": 3}
    assert asked.items() <= chosen.model_dump().items() and chosen.dirty_mib is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"size_mib": 500}, "device_mib: expected at least 1016 for 2 files of 500 MiB"),
        ({"schedulers": []}, "schedulers: expected at least 1 item; found none"),
        ({"disks": "./tape.json"}, "tape.json: expected a file"),
    ],
)
def test_an_impossible_choice_is_refused_in_a_sentence(given, said, error_of):
    assert said in error_of(studies.parameters, study, "quick", given)


def test_a_record_that_files_do_not_consist_of_is_refused(error_of):
    chosen = studies.parameters(study, "quick", {"record_kib": 3000})
    assert "expected a size that files consist of" in error_of(study.trials, chosen)


def test_where_iozone_is_missing_the_trial_asks_for_fio_only_when_told():
    for tool in ("iozone", "fio"):
        trial = study.trials(studies.parameters(study, "smoke", {"tool": tool}))[0]
        assert trial.workloads[0].requires == (f"program {tool}", "page-cache drop")
        assert trial.labels["tool"] == tool


# The article's log


def test_the_log_has_the_articles_columns_and_the_true_rewrite_figure(tmp_path):
    measured = table(runs=2, best_first=("bfq", *BEST_FIRST[1:]))
    paths = study.write_log(measured, tmp_path / "logs")
    assert [path.name for path in paths] == [
        "iozone-file_backed-as_published-all-results.log",
        "iozone-file_backed-direct-all-results.log",
    ]
    lines = paths[0].read_text().splitlines()
    assert lines[0] == "Test\tThroughput (KB/s)\tI/O Scheduler\tThreads\tn"
    assert [line.split("\t")[0] for line in lines[1:6]] == [
        *("Initial write", "Rewrite", "Random read", "Mixed workload", "Random write"),
    ]
    assert lines[2] == "Rewrite\t50050.00\tbfq\t1\t1"
    assert lines[5] == "Random write\t49797.82\tbfq\t1\t1"
    assert len(lines) == 1 + 5 * 4 * 2 * 2


def test_a_log_of_fio_is_called_so(tmp_path):
    assert all("fio-" in path.name for path in study.write_log(table(tool="fio"), tmp_path))


# Claims


def test_every_judge_is_used_and_every_claim_judged():
    assert {item.judge for item in study.claims.statements("iozone_ranking")} == set(JUDGES)
    assert len({claim.id for claim in judge(NONE_YET)}) == len(judge(NONE_YET)) == 54


def test_the_errata_are_found_without_any_run():
    found = without_a_run()
    contradicted = {name for name, one in found.items() if one.verdict == Verdict.CONTRADICTED}
    assert contradicted == {
        "sample/run-1/rewrite-is-the-random-write-figure",
        *(
            f"sample/run-{run}/{test}/implied-disk-rate"
            for run in (1, 2)
            for test in ("random_read", "mixed_workload")
        ),
        "script/threads-2/logged-figure",
        "script/threads-3/logged-figure",
        "points/desktop/sum",
        "script/echo-switches",
    }
    assert found["points/desktop/sum"].measured == "44 points"
    assert "14 are left for deadline" in found["points/laptop/sum"].reason


@WITH
def test_a_rerun_like_the_laptop_reproduces_its_winner_and_contradicts_the_desktops(cfq, begins):
    found = rerun(cfq, *BEST_FIRST[1:])
    assert found[f"{begins}winner/laptop"].verdict == Verdict.REPRODUCED
    assert found[f"{begins}winner/desktop"].verdict == Verdict.CONTRADICTED
    assert found[f"{begins}winner/desktop"].measured == cfq


def test_points_of_cfq_and_of_its_successor_are_their_own():
    found = rerun(*BEST_FIRST, "bfq")
    assert found["points/laptop/cfq"].measured == 30
    assert found["successor/points/laptop/cfq"].measured == 0


def test_three_runs_are_too_few_for_a_winner():
    claim = rerun(runs=3)["winner/laptop"]
    assert claim.verdict == Verdict.UNDECIDED and "too few runs" in claim.reason


@WITH
def test_the_ratios_of_the_printed_log_come_back(cfq, begins):
    found = rerun(cfq, *BEST_FIRST[1:])
    for name in ("rewrite", "random_read", "mixed_workload", "random_write"):
        claim = found[f"{begins}sample/run-1/{name}/relative-to-initial-write"]
        assert claim.verdict == Verdict.REPRODUCED, claim.reason
        (compared,) = claim.compared
        assert compared.value == pytest.approx(compared.published[0], rel=1e-4)


def test_the_tolerance_of_a_ratio_is_what_the_two_printed_runs_leave():
    log = study.published().set_index(["test", "run"])["throughput_kib_s"]
    tolerances = {
        one.select["test"]: one.tolerance
        for one in statements(study.NAME)
        if one.judge == "relative_to_initial_write"
    }
    for test, tolerance in tolerances.items():
        # Run 2 has no line of random write; its line Rewrite has that figure.
        printed = "rewrite" if test == "random_write" else test
        one, other = (log[printed, run] / log["initial_write", run] for run in (1, 2))
        apart = 100 * (max(one, other) / min(one, other) - 1)
        assert tolerance == pytest.approx(math.ceil(10 * apart) / 1000)


def test_gains_are_held_against_the_percentages():
    found = rerun(step=0.115)  # cfq over none: 1 / 0.77, 29.9 %
    assert found["improvement/30-percent"].verdict == Verdict.REPRODUCED
    assert found["improvement/18-percent"].verdict == Verdict.CONTRADICTED
    assert found["improvement/2-percent"].verdict == Verdict.CONTRADICTED


def test_reads_from_the_cache_and_a_mixed_workload_that_reads_are_told():
    found = rerun()
    assert found["sample/two-tests-never-meet-the-disk"].verdict == Verdict.CONTRADICTED
    assert found["sample/mixed-workload-mixes"].measured == "2 files read"


def test_figures_of_fio_are_stamped_in_claims_tables_and_figures():
    measured = table(tool="fio")
    judged = [claim for claim in judge(measured) if claim.testbed != "published data"]
    unstamped = [one.id for one in judged if "fio with the same patterns" not in one.reason]
    # It leaves room for any difference, so that nothing measured decides it.
    assert unstamped == ["iozone_ranking/sentence/difference-can-vary-between-0-and-30"]
    assert all(set(rows["tool"]) == {"fio"} for _, rows in study.tables(measured))
    drawn = study.figures(study.published(), measured)
    assert all("not by iozone" in title_of(one.figure, name) for name, one in drawn.items())


def test_a_solid_state_disk_is_not_held_against_the_articles_disks():
    judged = judge(table(arm="sata_ssd"))
    measured = [claim for claim in judged if claim.testbed != "published data"]
    assert {claim.verdict for claim in measured} == {Verdict.NOT_TESTABLE}


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (lambda rows: pd.concat([rows, rows.head(2)]), "expected each test once per run"),
        (
            lambda rows: pd.concat([rows, table(tool="fio")]),
            "expected one tool on each device; found fio and iozone",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(spoilt, said):
    with pytest.raises(ElevatorLabError, match=said):
        judge(spoilt(table()))


def test_each_testbed_of_a_machine_may_have_a_tool_of_its_own():
    rows = table()
    other = table(tool="fio").assign(testbed="ssh")
    assert set(rows["machine"]) == set(other["machine"])
    testbeds = {claim.testbed for claim in judge(pd.concat([rows, other]))}
    assert testbeds == {"published data", "ssh", *rows["testbed"]}


def test_comparisons_have_a_row_a_test_number_of_threads_and_run():
    rows = table(runs=3)
    assert comparisons(rows[rows["variant"] == "direct"]).shape == (5 * 2 * 3, 4)


def test_claims_about_points_name_each_other():
    found = rerun()
    winner = found["winner/laptop"]
    assert winner.cell.startswith("points of none, mq-deadline and cfq, ")
    shared = [name.removeprefix("iozone_ranking/") for name in winner.shared_with]
    assert {found[name].cell for name in shared} == {winner.cell}


# Figures


def test_every_figure_is_drawn_and_the_gain_says_what_filled_and_open_mean():
    drawn = study.figures(study.published(), table())
    assert list(drawn) == [
        *("points", "critical-difference", "gain"),
        *("charts-as-published", "charts-direct"),
    ]
    said = [text.get_text() for text in drawn["gain"].figure.legends[0].get_texts()]
    assert [words for words in said if "thread" in words] == ["1 thread", "2 threads"]
    assert len(drawn["charts-direct"].figure.axes) == 5
    assert [name for name, one in drawn.items() if not one.appendix] == ["points", "gain"]


def test_published_data_alone_are_drawn_too():
    assert list(study.figures(study.published(), NONE_YET)) == ["points"]


def test_one_scheduler_alone_is_drawn_and_judged_without_a_ranking():
    measured = table(best_first=("bfq",))
    assert study.figures(study.published(), measured)
    assert by_id(measured)["winner/laptop"].verdict == Verdict.NOT_TESTABLE


@WITH
@pytest.mark.parametrize(
    ("runs", "flips", "step", "verdict"),
    [
        (4, False, 0.05, Verdict.CONTRADICTED),
        (2, False, 0.05, Verdict.UNDECIDED),
        (4, True, 0.005, Verdict.CONTRADICTED),  # less than the smallest difference that counts
        (3, True, 0.05, Verdict.REPRODUCED),
        (2, True, 0.05, Verdict.REPRODUCED),
        (4, True, 0.05, Verdict.UNDECIDED),  # three of four choices of three runs
    ],
)
def test_an_order_that_flips_between_runs(cfq, begins, runs, flips, step, verdict):
    measured = table(runs=runs, best_first=(cfq, "mq-deadline", "none"), step=step)
    if flips:
        last = measured["repetition"] == runs
        swapped = measured.loc[last, "scheduler"].replace({cfq: "none", "none": cfq})
        measured.loc[last, "scheduler"] = swapped
    name = f"iozone_ranking/{begins}sentence/order-flips-between-runs"
    (item,) = [one for one in statements(study.NAME) if one.claim["id"] == name]
    (claim,) = engine.judge([item], JUDGES, measured)
    assert claim.verdict == verdict
    assert claim.repetitions_to_decide == (3 if runs < 3 and verdict == Verdict.UNDECIDED else None)


def test_what_the_article_says_of_echo():
    found = without_a_run()
    assert found["script/echo-switches"].verdict == Verdict.CONTRADICTED
    (item,) = [one for one in statements(study.NAME) if one.claim["id"].endswith("echo-switches")]
    mended = item._replace(published='echo "<i/o scheduler>" > /sys/block/sda/queue/scheduler')
    assert JUDGES["command_writes"](mended, NONE_YET).verdict == Verdict.REPRODUCED
