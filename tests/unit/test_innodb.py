"""Study 4 without a machine: sysbench's text, the kernel's trace, parameters, verdicts, figures."""

import re
import sys

import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

from commits import as_printed, commit_trial
from elevatorlab import studies
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.groups import servers
from elevatorlab.agent.observe.device_idle import times
from elevatorlab.agent.workloads.sysbench import parse, percentile
from elevatorlab.errors import ElevatorLabError
from elevatorlab.judging import engine, verdict_cache
from elevatorlab.judging.claim import is_measured
from elevatorlab.judging.families import statements
from elevatorlab.results import store
from elevatorlab.showing import style
from elevatorlab.studies import innodb_commit
from elevatorlab.studies.innodb_commit import measures
from elevatorlab.studies.kit import reimplemented
from helpers import FIXTURES

REPORT = FIXTURES.joinpath("sysbench-1.0.20-insert.txt").read_text()
NONE_YET = as_printed().iloc[:0]


# sysbench's text


def test_sysbenchs_report_is_read():
    found = parse(REPORT)
    assert (found["commits"], found["duration_s"]) == (300, 0.11)
    assert found["tps"] == pytest.approx(300 / 0.11)
    assert found["latency_mean_ms"] == 2.81 and found["latency_max_ms"] == 5.54
    # The report's own 95th percentile, which it rounds to two digits.
    assert found["latency_p95_ms"] == pytest.approx(3.96, abs=0.005)


@pytest.mark.parametrize("text", ["", REPORT[:200], REPORT[:2500], REPORT.replace("avg:", "x:")])
def test_a_report_that_is_cut_off_is_refused(text):
    with pytest.raises(AgentError, match="expected its histogram and statistics, found"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        (REPORT + REPORT, "report-checkpoints"),
        (REPORT.replace("errors:                      0", "errors:  3"), "mysql-ignore-errors"),
        (REPORT.replace(" |", " "), "--histogram"),
        (REPORT.replace("avg:                                    2.81", "avg:  nan"), "expected"),
    ],
)
def test_what_sysbenchs_report_does_not_say_is_refused_by_the_options_name(text, option):
    assert text != REPORT
    with pytest.raises(AgentError, match=option):
        parse(text)


def test_a_percentile_is_the_bar_that_reaches_it():
    bars = [(1.0, 50), (2.0, 49), (3.0, 1)]
    assert [percentile(bars, percent) for percent in (50, 51, 99, 100)] == [1, 2, 2, 3]


# The kernel's trace

HEAD = "        mariadbd-123     [000] .....  "


def trace(*events):
    """Return a trace as the kernel prints it, of (time, event, flags, sector, sectors)."""
    return "# tracer: nop\n" + "".join(
        f"{HEAD}{time:.6f}: block_rq_{event}: 259,0 {flags} "
        f"{'' if event == 'complete' else f'{512 * n} '}() {sector} + {n} [mariadbd]\n"
        for time, event, flags, sector, n in sorted(events)
    )


def write(sector, **at):
    """Return the events of a write of 4 KiB, each with its time."""
    return [(time, event, "WS", sector, 8) for event, time in at.items()]


def test_the_device_idles_from_a_requests_insertion_to_its_issue():
    lines = trace(
        *write(8, insert=1.0, issue=1.25, complete=1.5),
        *write(16, insert=3.0, issue=3.5, complete=3.75),
    )
    assert times(lines) == pytest.approx({"busy_s": 1.25, "idle_while_waiting_s": 0.75})


def test_the_device_does_not_idle_while_it_serves_another_request():
    lines = trace(
        *write(8, issue=1.0, complete=1.5),
        *write(16, insert=1.1, issue=1.6, complete=2.0),
    )
    assert times(lines) == pytest.approx({"busy_s": 1.0, "idle_while_waiting_s": 0.1})


def test_what_was_merged_goes_with_the_request_that_took_it():
    lines = trace(
        *write(16, insert=1.0),
        *write(8, insert=1.1),
        (1.2, "issue", "WS", 8, 16),
        (1.3, "complete", "WS", 8, 16),
    )
    assert times(lines) == pytest.approx({"busy_s": 0.3, "idle_while_waiting_s": 0.2})


def test_a_flush_is_told_from_a_write_of_the_same_sector():
    lines = trace(
        (1.0, "issue", "FF", 0, 0),
        (1.2, "complete", "FF", 0, 0),
        *write(0, insert=1.1, issue=1.5),
    )
    assert times(lines) == pytest.approx({"busy_s": 0.5, "idle_while_waiting_s": 0.3})


# A server in the group

LISTENS = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]);"
LISTENS += "s.listen(); print('up', flush=True); time.sleep(60)"


def start(folder, program, limit_s=300):
    return servers.start_server(
        [sys.executable, "-c", program, str(folder / "sock")],
        {str(folder / "data/hello"): "text"},
        [str(folder / "data")],
        str(folder / "sock"),
        str(folder / "log"),
        limit_s,
    )


def test_a_server_is_started_and_ended(tmp_path):
    started = start(tmp_path, LISTENS)
    assert (tmp_path / "data/hello").read_text() == "text"
    assert servers.stop_server(started["process"], 300) == -15
    assert not servers.RUNNING


@pytest.mark.parametrize(
    ("program", "limit_s", "told"),
    [
        (
            "import sys; print('no room'); sys.exit(7)",
            300,
            {"problem": "ended (7)", "log": "no room"},
        ),
        ("import time; time.sleep(60)", 0.2, {"problem": "did not answer within 0.2 s", "log": ""}),
    ],
)
def test_a_server_that_ends_or_does_not_answer_is_told_with_its_log(
    tmp_path, program, limit_s, told
):
    assert start(tmp_path, program, limit_s) == told and not servers.RUNNING


def test_a_server_that_will_not_end_is_killed(tmp_path):
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN);" + LISTENS
    assert servers.stop_server(start(tmp_path, stubborn)["process"], 0.2) is None


# Parameters and trials


def test_turns_are_refused_where_one_processor_takes_none(error_of):
    said = error_of(studies.parameters, innodb_commit, "quick", {"slots_instructions": [200]})
    assert "slots_instructions: expected with several processors" in said
    asked = {"slots_instructions": [200], "processors": 4}
    assert studies.parameters(innodb_commit, "quick", asked).rounds(1).slot_instructions == 200


def test_a_device_too_small_for_the_data_directory_is_refused():
    parameters = studies.parameters(innodb_commit, "smoke", {"device_mib": 95})
    with pytest.raises(ElevatorLabError, match="expected at least 96 for the data.*found 95"):
        innodb_commit.trials(parameters)


def test_only_the_first_arm_runs_the_sweep():
    made = innodb_commit.trials(studies.parameters(innodb_commit, "paper"))
    arms = {(t.labels["experiment"] == "table", t.labels["arm"]) for t in made}
    assert arms == {(True, "host"), (True, "container"), (False, "host")}


@pytest.mark.parametrize(("preset", "several"), [("quick", False), ("paper", True)])
def test_several_processors_take_turns_otherwise_in_each_repetition(preset, several):
    made = innodb_commit.trials(studies.parameters(innodb_commit, preset))
    turns = {
        trial.repetition: trial.rounds and tuple(trial.rounds.model_dump().values())
        for trial in made
    }
    if several:
        assert [turns[n] for n in (1, 2, 3, 4)] == [(100, 0), (200, 100), (100, 100), (200, 0)]
    else:
        assert set(turns.values()) == {None}


def test_all_measurements_of_a_trial_are_equally_long_after_a_warm_up():
    """Before the first one on a drive, bfq has the second that it needs to estimate the drive."""
    made = innodb_commit.trials(studies.parameters(innodb_commit, "paper"))
    on_drives = [trial for trial in made if trial.device.kind == "drive"]
    for trial in made:
        phases = trial.workloads[0].phases
        assert len({phase.duration_s for phase in phases}) == 1
        assert all(phase.warm_up_s > 0 for phase in phases)
        assert trial.processors == 4 and trial.workloads[0].log_file_buffering
    assert all(trial.workloads[0].phases[0].warm_up_s > 1 for trial in on_drives)
    assert {trial.device.profile for trial in on_drives} == {
        *("array-of-eight", "array-of-eight-no-cache")
    }
    assert all(trial.scheduler.tunables["rotational"] == 1 for trial in on_drives)


@pytest.mark.parametrize("preset", ["smoke", "quick", "full"])
def test_a_scheduler_of_ones_own_runs_on_every_disk(preset):
    """Figures show drives alone where there are any, so it may not be left out of them."""
    mine = {"schedulers": ["none", "mq-deadline", "sstf"]}
    made = innodb_commit.trials(studies.parameters(innodb_commit, preset, mine))
    everywhere = {trial.device.profile for trial in made if trial.labels["experiment"] != "sweep"}
    assert everywhere == {trial.device.profile for trial in made if trial.scheduler.name == "sstf"}


def test_a_phase_without_flush_counters_has_no_flushes(make_trial):
    trial = commit_trial(make_trial, (1, 1, 1)).model_dump()
    trial["labels"] = {"arm": "host", "experiment": "table", "idling": "as shipped"}
    phase = dict.fromkeys(innodb_commit.columns.KEPT, 1.0)
    phase |= {"commits": 10, "writes": 20, "fsyncs": 5}
    phase |= {"duration_s": 2.0, "idle_while_waiting_s": 0.5}
    (row,) = innodb_commit.rows(trial, {"workloads": {"inserts": {"phases": [phase]}}})
    assert (row["writes_per_commit"], row["fsyncs_per_commit"]) == (2, 0.5)
    assert row["flushes_per_commit"] != row["flushes_per_commit"]
    assert row["idle_while_waiting_ratio"] == 0.25


# Verdicts


STATEMENTS = {one.claim["id"]: one for one in statements("innodb_commit")}


def verdicts(table):
    judged = [one for one in innodb_commit.judge(table) if is_measured(one)]
    return {one.id.removeprefix("innodb_commit/"): one for one in judged}


def verdict_of(name, table):
    """Judge one statement alone."""
    item = STATEMENTS[f"innodb_commit/{name}"]
    (claim,) = engine.judge([item], innodb_commit.claims.JUDGES, table)
    return claim


@pytest.fixture(scope="module")
def found():
    """Return the verdicts of a rerun that gives the article's own figures."""
    return verdicts(as_printed())


def test_the_articles_own_figures_reproduce_its_table(found):
    cells = {name: one for name, one in found.items() if name.startswith("table/")}
    assert len(cells) == 11  # of 12: the time of one is what the others are relative to
    assert not [name for name, one in cells.items() if one.relative_to in one.cell]
    made_from = {"table/deadline/1-threads/tps", "table/flush-0-deadline/1-threads/tps"}
    assert {found[name].verdict for name in made_from} == {"calibrated"}
    assert {cells[name].verdict for name in cells.keys() - made_from} == {"reproduced"}
    for name in ("sentence/cfq-regression/table", "sentence/deadline-gains/table"):
        assert found[name].verdict == "reproduced"
    successor = [one for name, one in found.items() if name.startswith("successor/table/")]
    assert len(successor) == 4
    assert {one.verdict for one in successor} == {"reproduced"}


@pytest.mark.parametrize("study", ["innodb_commit", "iozone_ranking"])
def test_every_reason_tells_of_a_scheduler_that_only_stands_for_the_article_s(study):
    """Where a measured reason names cfq, anticipatory or bfq, it says what that is."""
    told = 0
    for claim in verdict_cache.judge(study).claims:
        if claim.measured is None or claim.testbed == "published data":
            continue
        named = claim.reason
        for sentence in reimplemented.SENTENCES.values():
            named = named.replace(sentence, "")
        for name, sentence in reimplemented.SENTENCES.items():
            if re.search(rf"\b{name}\b(?!'s)", named):
                assert sentence in claim.reason, (claim.id, claim.reason)
                told += 1
    assert told


def test_claims_of_one_measured_cell_name_each_other(found):
    one = found["table/cfq/8-threads/tps"]
    assert one.cell == "table: cfq (cfq), flush=1, 8 threads"
    same = {name for name, other in found.items() if other.cell == one.cell}
    assert len(same) > 1
    assert {f"innodb_commit/{name}" for name in same} == {one.id, *one.shared_with}
    assert all(other.cell or other.measured is None for other in found.values() if other.p_value)


def test_what_stands_on_a_missed_calibration_is_not_testable():
    """The printed table, but a flush that costs three times as much."""
    found = verdicts(as_printed(lambda row: 3 if row["flush_log_at_trx_commit"] == 0 else 1))
    assert found["table/deadline/1-threads/tps"].verdict == "calibration missed"
    for name in ("sentence/deadline-gains/table", "table/deadline/8-threads/tps"):
        one = found[name]
        assert one.verdict == "not testable here" and one.p_value is None and one.measured
    # As many threads and flushes on both sides, and a device that was not calibrated.
    assert found["table/cfq/1-threads/tps"].verdict == "reproduced"
    assert found["sentence/cfq-behind-deadline/table"].verdict == "reproduced"


def test_what_is_farther_off_than_the_calibration_is_contradicted():
    """A calibration that is missed by a factor of 3 does not explain one of 20."""

    def measured(row):
        lazy = row["flush_log_at_trx_commit"] == 0
        return 3 if lazy else 20 if (row["scheduler"], row["threads"]) == ("cfq", 8) else 1

    found = verdicts(as_printed(measured))
    assert found["table/deadline/1-threads/tps"].verdict == "calibration missed"
    assert found["sentence/cfq-regression/table"].verdict == "contradicted"
    assert found["sentence/deadline-gains/table"].verdict == "not testable here"


@pytest.mark.parametrize("name", ["cfq", "bfq"])
def test_one_that_gains_from_threads_contradicts_the_regression_and_the_other_does_not(name):
    def no_regression(row):
        return 12 if (row["scheduler"], row["threads"]) == (name, 8) else 1

    found = verdicts(as_printed(no_regression))
    of = {
        "cfq": ("sentence/cfq-regression/table", "table/cfq/8-threads/tps"),
        "bfq": ("successor/cfq-regression/table", "successor/table/cfq/8-threads/tps"),
    }
    assert {found[one].verdict for one in of.pop(name)} == {"contradicted"}
    (other,) = of.values()
    assert {found[one].verdict for one in other} == {"reproduced"}
    assert found["table/cfq/1-threads/tps"].verdict == "reproduced"


@pytest.mark.parametrize(
    ("name", "factor", "verdict"),
    [
        ("noop-much-faster-single", 1.5, "reproduced"),
        ("noop-much-faster-single", 1.05, "direction only"),
        ("noop-much-faster-single", 2.3, "direction only"),  # faster than with no flush at all
        ("noop-much-faster-single", 1.0, "contradicted"),
        ("noop-slightly-slower-multiple", 0.95, "reproduced"),
        ("noop-slightly-slower-multiple", 0.8, "direction only"),
        ("noop-slightly-slower-multiple", 1.0, "contradicted"),
        ("noop-slightly-slower-multiple", 1.1, "contradicted"),
    ],
)
def test_what_much_and_slightly_mean(name, factor, verdict):
    table = as_printed()
    noop = table.query("scheduler == 'mq-deadline'").assign(scheduler="none")
    noop["tps"] *= factor
    found = verdict_of(f"sentence/{name}", pd.concat([table, noop], ignore_index=True))
    assert (found.verdict, found.threshold.value) == (verdict, 0.1)


ON_BOTH = {
    "null_blk, raid_write_behind, 160 MiB": None,
    "drive, array-of-eight": lambda row: 4 if row["scheduler"] == "cfq" else 1,
}


def on_both_disks():
    return pd.concat([as_printed(factor, device=name) for name, factor in ON_BOTH.items()])


def test_verdicts_are_those_of_the_drive_where_one_was_measured():
    without, both = (as_printed(device=next(iter(ON_BOTH))), on_both_disks())
    of_drive = as_printed(ON_BOTH["drive, array-of-eight"], device="drive, array-of-eight")
    judged = [verdicts(table) for table in (both, of_drive, without)]
    for found in judged:
        del found["sentence/anticipatory"]  # which drives do not run
    assert judged[0] == judged[1] != judged[2]
    assert judged[2]["sentence/cfq-regression/table"].verdict == "reproduced"
    assert judged[0]["table/deadline/1-threads/tps"].role == "calibration"


def test_the_claims_that_the_arm_turns_are_listed_with_both_reasons():
    caption, table = innodb_commit.tables(on_both_disks())[-1]
    assert f"{len(table)} of" in caption
    row = table[table["claim"].str.startswith("commits per second with cfq divided by")].iloc[0]
    assert row["without arm"] == "reproduced" != row["with arm"]
    assert "0.0813" in row["why"] and "0.325" in row["why"]


def test_what_one_repetition_does_not_decide_is_turned_by_nobody():
    _, table = innodb_commit.tables(on_both_disks().query("repetition == 1"))[-1]
    assert table.empty


def test_the_sweep_is_drawn_beside_the_disk_that_it_ran_on():
    swept = as_printed(device=next(iter(ON_BOTH))).query("scheduler == 'bfq' and threads == 8")
    swept = swept.assign(experiment="sweep", slice_idle_ms=8.0, idling="strict_guarantees")
    rows = measures.swept_rows(pd.concat([on_both_disks(), swept]))
    assert set(rows["device"]) == {next(iter(ON_BOTH))} and "table" in set(rows["experiment"])


@pytest.mark.parametrize("name", ON_BOTH)
def test_without_a_contrast_no_table_says_what_an_arm_turns(name):
    assert len(innodb_commit.tables(as_printed(device=name))) == 2


def test_noop_is_not_testable_where_it_was_not_run(found):
    one = found["sentence/noop-much-faster-single"]
    assert one.verdict == "not testable here" and "ran: bfq, cfq, mq-deadline" in one.reason


def test_anticipatory_is_measured_without_a_verdict(found):
    cfq = as_printed().query("scheduler == 'cfq'")
    table = pd.concat([as_printed(), cfq.assign(scheduler="anticipatory", tps=cfq["tps"] * 1.05)])
    one = verdict_of("sentence/anticipatory", table)
    assert one.verdict == "not testable here" and one.measured == pytest.approx(1.05)
    drive = as_printed(device="drive, cheetah-15k-5").query("scheduler != 'bfq'")
    beside = verdict_of("sentence/anticipatory", pd.concat([table, drive]))
    assert beside == one  # drives do not run it
    assert found["sentence/anticipatory"].measured is None


def test_one_repetition_decides_nothing_about_the_cells():
    found = verdicts(as_printed(repetitions=1))
    cells = [one for name, one in found.items() if name.startswith("table/")]
    assert {one.verdict for one in cells} == {"undecided"}


@pytest.mark.parametrize(
    ("slots", "transfers", "decides"),
    [((1000, 200), (0, 100), True), ((1000, 1000), (0, 100), False), ((1000, 200), (0, 0), False)],
)
def test_processors_that_take_turns_in_one_way_decide_nothing(slots, transfers, decides):
    table, number = as_printed(), as_printed()["repetition"] - 1
    turns = {"slot_instructions": slots, "transfer_instructions": transfers}
    found = verdicts(
        table.assign(**{name: number.map(dict(enumerate(each))) for name, each in turns.items()})
    )
    assert (found["sentence/cfq-behind-deadline/table"].verdict != "not testable here") == decides


def test_the_documents_own_claims_need_no_measurement():
    assert verdict_of("document/cfq-falls", NONE_YET).measured == pytest.approx(0.210884)
    assert verdict_of("table/cfq/8-threads/tps", NONE_YET).measured is None


def test_a_cell_measured_twice_is_refused():
    with pytest.raises(ElevatorLabError, match="once per repetition; found 16 rows"):
        innodb_commit.judge(as_printed(repetition=1))


# Figures and tables


def test_every_figure_is_drawn(tmp_path):
    drawn = innodb_commit.figures(innodb_commit.published(), as_printed())
    assert set(drawn) == {"commits", "idle", "group-commit"}
    for name, (figure, *_) in drawn.items():
        assert all(
            path.stat().st_size > 5000 for path in style.save(figure, tmp_path, name).values()
        )


def intervals(axis, along=1):
    """Return (low, high) of each interval that a panel shows, in its frame or beyond."""
    return [
        (line[0][along], line[-1][along])
        for drawn in axis.containers
        if isinstance(drawn, ErrorbarContainer) and drawn.lines[2]  # some mark a value alone
        for line in drawn.lines[2][0].get_segments()
    ]


def uncertain_figure(name):
    """Draw a figure of the reference, one of whose repetitions came out otherwise."""
    measured = store.load(innodb_commit.NAME, "reference/paper").query("repetition <= 3").copy()
    one = (measured["scheduler"] == "bfq") & (measured["threads"] == 8)
    one &= measured["repetition"] == 2
    measured.loc[one, "tps"] *= 5
    measured.loc[one, "idle_while_waiting_ratio"] = 0.9
    return innodb_commit.figures(innodb_commit.published(), measured)[name].figure


@pytest.mark.parametrize(("name", "along"), [("commits", 0), ("slice-idle", 1)])
def test_an_interval_that_leaves_the_frame_says_how_far_it_goes(name, along):
    found = []
    for axis in uncertain_figure(name).axes:
        edge = (axis.get_xlim(), axis.get_ylim())[along][1]
        beyond = [f"to {high:.3g}" for _, high in intervals(axis, along) if high > edge]
        said = [text.get_text() for text in axis.texts if text.get_text().startswith("to ")]
        assert said == beyond
        found += beyond
    assert found


def test_a_share_of_the_time_is_never_more_than_all_of_it():
    ends = [end for axis in uncertain_figure("idle").axes for end in intervals(axis, 0)]
    assert (1.0 in [high for _, high in ends]) and all(0 <= low <= high <= 1 for low, high in ends)


def test_the_published_table_alone_can_be_drawn():
    assert set(innodb_commit.figures(innodb_commit.published(), NONE_YET)) == {"commits"}


def test_the_overview_names_todays_and_the_articles_scheduler():
    _, table = innodb_commit.overview_table(as_printed())
    assert {"commits/s", "95 % interval (commits/s)", "median latency (ms)"} <= set(table)
    assert set(zip(table["scheduler"], table["in the article"], strict=True)) == {
        *(("mq-deadline", "deadline"), ("cfq", "cfq")),
        ("bfq", "bfq (not in it; cfq's successor)"),
    }


@pytest.mark.parametrize(
    ("writes", "verdict"),
    [(1.0, "reproduced"), (1.2, "reproduced"), (0.7, "contradicted")],
)
def test_requests_that_merge_contradict_that_none_come_in(writes, verdict):
    none = as_printed()
    none = none[none["scheduler"] == "mq-deadline"].assign(scheduler="none")
    rows = pd.concat([as_printed(), none], ignore_index=True)
    rows.loc[rows["scheduler"].isin(["cfq", "bfq"]), "writes_per_commit"] *= writes
    for name in "sentence/requests-do-not-merge", "successor/sentence/requests-do-not-merge":
        assert verdict_of(name, rows).verdict == verdict


def test_what_bfq_does_is_marked_as_the_successor_s():
    """bfq is not the article's cfq: a reader of a claim's name must know which one it is of."""
    marked = {True: "bfq", False: "cfq"}
    for one in STATEMENTS.values():
        other = marked["/successor/" not in one.claim["id"]]
        assert not _is_of(one, other), one.claim["id"]


def _is_of(statement, scheduler):
    """Tell whether a statement is about a scheduler."""
    named = [statement.select.get(key) for key in ("scheduler", "above", "below")]
    return any(scheduler == one or (isinstance(one, list) and scheduler in one) for one in named)
