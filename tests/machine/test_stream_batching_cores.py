"""Study 5 with host and target on processors of their own: trials, proof, claims."""

import importlib
import io
import json
import os
import sys
import zipfile

import pandas as pd
import pytest

from elevatorlab import studies, testbeds
from elevatorlab.errors import ElevatorLabError, NotReady
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.paths import PACKAGE
from elevatorlab.showing.style import COLOURS
from elevatorlab.studies import stream_batching as study
from elevatorlab.studies.stream_batching.figures import CAPTIONS
from elevatorlab.studies.stream_batching.published import KIB_BITS, request_size
from elevatorlab.studies.stream_batching.tables import ON_CORES, cores_table
from elevatorlab.testbeds.base import (
    Readiness,
    refuse_what_is_missing,
    requirements,
)
from elevatorlab.testbeds.plugin_archive import plugin_archive
from elevatorlab.trial import parse
from helpers import cli
from stream_batching_tables import as_published, expanded, measured, on_cores, verdicts

AT_64 = {"iodepth": 64, "rwmixread": 100, "bs": "4k"}


def test_the_presets_with_results_have_them_and_only_on_the_deterministic_testbed():
    real = testbeds.TESTBEDS.get("host").defaults
    found = {
        preset: {one.device.cores for one in made if one.device.kind == "nvme_tcp_apart"}
        for preset in study.PRESETS
        for made in [study.trials(studies.parameters(study, preset))]
    }
    paper = {1, 2, 4, 8, 16, 24}
    assert found == {"smoke": set(), "quick": {1, 2, 4}, "paper": paper, "full": set()}
    on_real = study.trials(studies.parameters(study, "quick", {}, real))
    assert on_real and not any(one.device.kind == "nvme_tcp_apart" for one in on_real)


def test_each_side_has_the_cores_and_each_job_one_of_the_hosts():
    (one,) = expanded("smoke", cores=(4,), schedulers=("none",), targets=("ram",))
    (fio,) = one.workloads
    assert (one.device.cores, fio.cores, one.labels["cores"]) == (4, 4, "4")
    assert fio.options["numjobs"] == 4
    assert (fio.options["cpus_allowed"], fio.options["cpus_allowed_policy"]) == ("0-3", "split")
    assert fio.points == (AT_64, {**AT_64, "rwmixread": 0})
    assert parse(json.loads(one.canonical_json())) == one


@pytest.mark.parametrize(
    ("target", "cores", "points"),
    [("ram", 1, 11), ("ram", 4, 2), ("nvme_ssd", 4, 5), ("ram", 16, 15), ("nvme_ssd", 10, 2)],
)
def test_a_trial_has_what_the_document_shows_of_its_cores(target, cores, points):
    """Depths on one core, shares of reads on 4 (SSD) and 16 (RAM), sizes on 16."""
    chosen = {"schedulers": ("sbq",), "targets": (target,), "repetitions": 1}
    one, *linked = expanded("paper", cores=(cores,), **chosen)
    fios = [trial.workloads[0] for trial in (one, *linked)]
    found = [tuple(point.items()) for fio in fios for point in fio.points]
    assert len(set(found)) == len(found) == points + (cores == 1)
    assert fios[0].points[0] == AT_64
    # Where the document's link is full, it is there.
    assert one.device.link is None and all(trial.device.link for trial in linked)
    large = {point["bs"] for fio in fios[1:] for point in fio.points}
    assert large == ({"8k", "16k", "32k"} if (target, cores) == ("ram", 16) else set())
    assert expanded("paper", cores=(11,), targets=("nvme_ssd",)) == []  # the document ends at 10


def test_each_repetition_has_other_turns_and_two_differ_in_both():
    made = expanded("paper", cores=(2,), schedulers=("sbq",), targets=("ram",), repetitions=6)
    turns = [tuple(one.rounds.model_dump().values()) for one in made]
    assert turns == [(1000, 0), (200, 100), (1000, 100)]  # no more than three
    usual, other = (testbeds.get("deterministic", say=None)._emulator_of(one) for one in made[:2])
    assert ((usual.slot, usual.transfer), (other.slot, other.transfer)) == ((1000, 0), (200, 100))


def test_turns_are_said_once(make_trial, monkeypatch):
    """By the trial or by the testbed's address."""
    testbed = testbeds.get("deterministic?slot=200", say=None)
    trial = make_trial(rounds={"slot_instructions": 1000})
    there = [Readiness("d", what, "", True) for what in requirements(trial)]
    monkeypatch.setattr(testbed, "findings", lambda: there)
    with pytest.raises(ElevatorLabError, match="expected an address without slot"):
        testbed.prepare([trial])
    older = make_trial()
    assert "rounds" not in older.model_dump() and make_trial(rounds=None).hash == older.hash


@pytest.mark.parametrize("target", ["nvme_ssd", "ram"])
def test_a_point_is_measured_for_ten_turnarounds_at_least(target):
    """The disk's own time is in them: at depth 1 it is nearly all."""
    one = expanded("paper", experiments=("depth",), targets=(target,), schedulers=("sbq",))[0]
    fio = one.workloads[0]
    disk_ms = one.device.backing.service_time_us / 1000
    for point, least_ms in zip(fio.points, fio.least_ms, strict=True):
        assert least_ms >= 10 * (point["iodepth"] / 14 + disk_ms)


def test_all_times_have_the_scale_of_a_core_of_ones_own():
    chosen = {"cores": (1,), "schedulers": ("sbq",), "targets": ("nvme_ssd",)}
    (one,) = expanded("smoke", cores_time_scale=4, **chosen)
    assert one.device.backing.service_time_us == 320
    assert one.scheduler.tunables["batch_timeout_us"] == 200
    assert one.labels["time_scale"] == "4"


@pytest.mark.parametrize("cores", [0, 25])
def test_more_than_half_of_the_processors_are_refused(cores, error_of):
    said = error_of(studies.parameters, study, "smoke", {"cores": (cores,)})
    assert "cores" in said and "\n" not in said
    if cores:
        assert "expected at most 24, since the target has as many" in said and "found 25" in said


@pytest.mark.parametrize("given", [{"cores": (8,)}, {"cores_time_scale": 4}])
def test_cores_without_their_experiment_are_refused(given, error_of):
    said = error_of(studies.parameters, study, "smoke", given)
    assert "Name it, too: -p experiments=cores" in said and "\n" not in said


def test_machines_with_too_few_processors_are_refused():
    (one,) = expanded("smoke", cores=(1,), schedulers=("none",))
    (more,) = expanded("smoke", cores=(2,), schedulers=("none",))
    assert "processors 2" in requirements(one)
    use = r"Use --testbed 'deterministic\?cpus=2' \(docs/multicore.md\)"
    with pytest.raises(NotReady, match=f"processors 2: not to be had here. {use}"):
        refuse_what_is_missing("host", [], [one])
    two = list(testbeds.get("deterministic?cpus=2", say=None).findings())
    refuse_what_is_missing("deterministic", two, [one])
    with pytest.raises(NotReady, match="processors 4: 2, .*'deterministic.cpus=4'"):
        refuse_what_is_missing("deterministic", two, [more])
    as_needed = list(testbeds.get("deterministic", say=None).findings())
    refuse_what_is_missing("deterministic", as_needed, [one, more])


def test_a_dry_run_is_refused_where_it_never_runs_and_planned_where_nothing_is_built(tmp_path):
    asked = ("run", study.NAME, "--preset", "smoke", "-p", "experiments=cores", "--dry-run")
    empty = {**os.environ, "ELEVATORLAB_CACHE": str(tmp_path), "ELEVATORLAB_BUILD": str(tmp_path)}
    refused = cli(*asked, "--testbed", "deterministic?cpus=2", env=empty)
    assert refused.returncode == 1 and "deterministic?cpus=" in refused.stderr
    planned = cli(*asked, env=empty)
    first, *trials = planned.stdout.splitlines()
    assert planned.returncode == 0 and "6 trials to run" in first and "Build it" in first
    assert len(trials) == 6 and {one.split()[0] for one in trials} == {"deterministic"}


def test_what_does_it_beside_the_disk_travels():
    (one,) = expanded("smoke", cores=(1,), schedulers=("none",))
    assert [(plugin.kind, plugin.name) for plugin in one.plugins] == [
        ("device", "nvme_tcp_apart"),
        ("workload", "fio_points_apart"),
    ]
    with zipfile.ZipFile(io.BytesIO(plugin_archive(one))) as archive:
        told = json.loads(archive.read("plugins.json"))
        assert set(told) == {"device", "workload"}
        for kinds in told.values():
            for target in kinds.values():
                module = target.partition(":")[0].replace(".", "/")
                assert f"{module}.py" in archive.namelist()


@pytest.fixture
def beside_disk(monkeypatch):
    """Return the module as it is beside the disk, where the agent is called `agent`."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(PACKAGE)
    yield importlib.import_module("elevatorlab.studies.stream_batching.beside_disk.apart")
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "agent" or "beside_disk" in name:
            del sys.modules[name]


def event(processor, said, task="kworker/0:1H-60"):
    return f" {task} [{processor:03}] ..... 12.000002: {said}\n"


ITEM = "workqueue_execute_start: work struct 00a: function"


TRACE = (
    event(0, "sched_switch: prev_comm=fio ==> next_comm=swapper/0 next_pid=0", "fio-301")
    + event(0, f"{ITEM} nvme_tcp_io_work [nvme_tcp]")
    + event(1, f"{ITEM} nvmet_tcp_io_work [nvmet_tcp]")
    + event(1, "netif_receive_skb: dev=elevatorlab1 skbaddr=00c len=124", "ksoftirqd/1-15")
    + event(0, "netif_receive_skb: dev=elevatorlab0 skbaddr=00d len=4148", "<idle>-0")
    + event(1, f"{ITEM} vmstat_update")
)


def test_a_trace_says_who_worked_where(beside_disk):
    assert beside_disk.located(TRACE) == {"host": {0: 2}, "target": {1: 2}}
    said = beside_disk.check(TRACE, beside_disk.Places.of(1))
    assert said == "host 2 events on 0, 0 elsewhere; target 2 events on 1, 0 elsewhere"


def test_work_on_the_other_sides_processors_fails_the_trial(beside_disk):
    strayed = TRACE.replace("ksoftirqd/1-15 [001]", "ksoftirqd/0-14 [000]")
    with pytest.raises(Exception, match="the target has the processors 1; expected its work on"):
        beside_disk.check(strayed, beside_disk.Places.of(1))


def test_one_event_of_a_thousand_may_be_elsewhere(beside_disk):
    strayed = TRACE.replace("ksoftirqd/1-15 [001]", "ksoftirqd/0-14 [000]")
    places = beside_disk.Places.of(1)
    said = beside_disk.check(999 * TRACE + strayed, places)
    assert said.endswith("target 2000 events on 1, 1 elsewhere")
    with pytest.raises(Exception, match="at most 0.1% of it elsewhere"):
        beside_disk.check(400 * TRACE + strayed, places)


def test_a_processor_that_does_nothing_fails_the_trial(beside_disk):
    with pytest.raises(Exception, match=r"the host has the processors 0-1; .* found .*: 0: 2$"):
        beside_disk.check(TRACE, beside_disk.Places.of(2))


def test_nothing_recorded_proves_nothing(beside_disk):
    with pytest.raises(Exception, match="found these events by processor: none"):
        beside_disk.check("", beside_disk.Places.of(1))


def test_too_few_processors_are_said_so(beside_disk, monkeypatch):
    monkeypatch.setattr(beside_disk.os, "cpu_count", lambda: 4)
    with pytest.raises(Exception, match=r"at least 16, found 4\. .*deterministic\?cpus=16"):
        beside_disk.create({"cores": 8}, None)


def test_cores_that_were_not_run_say_which_were():
    found = verdicts(on_cores())["figure-4a/sbq-16-cores/stock/throughput"]
    assert found.verdict == Verdict.NOT_TESTABLE
    assert found.reason == "Not run here on 16 cores, but on 1, 2, 4."


def test_one_core_of_each_side_is_judged_as_one_core():
    found = verdicts(on_cores())
    one = found["figure-2a/sbq-depth-64/stock/throughput"]
    assert one.reason.startswith("1 core of the host, as many of the target: ")
    unscaled = found["peak-ratio/ram/stock/unscaled"]
    assert unscaled.verdict == Verdict.NOT_TESTABLE


def by_size(gains):
    """Return rows of sixteen cores by request size: noop as published, SBQ / noop as in `gains`."""
    sizes = [
        on_cores(target="ram").query("cores == 4 and depth == 64").assign(request_kib=kib)
        for kib in gains
    ]
    table = pd.concat(sizes).assign(cores=16)
    wanted = table["request_kib"].map(gains).where(table["scheduler"] == "sbq", 1)
    noop = request_size().query("scheduler == 'noop' and operation == 'randread'")
    gbit_s = table["request_kib"].map(noop.set_index("request_kb")["throughput_gbps"])
    rate = gbit_s * 1e9 / (table["request_kib"] * KIB_BITS) / table["time_scale"]
    rate *= 1 + table["repetition"] / 1e4
    return table.assign(throughput_iops=rate * wanted).drop_duplicates(
        ["scheduler", "request_kib", "repetition"]
    )


@pytest.mark.parametrize(
    ("gains", "verdict", "measured"),
    [
        # The document's gain is 1.017 with 16 KiB, and nothing with 32.
        ({1: 1.9, 2: 1.9, 4: 1.6, 8: 1.2, 16: 1.0, 32: 1.0}, Verdict.REPRODUCED, "16"),
        ({1: 1.9, 2: 1.9, 4: 1.6, 8: 1.2, 16: 1.2, 32: 1.0}, Verdict.REPRODUCED, "32"),
        ({1: 1.9, 2: 1.9, 4: 1.6, 8: 1.0, 16: 1.0, 32: 1.0}, Verdict.CONTRADICTED, "8"),
        ({1: 1.9, 2: 1.9, 4: 1.6, 8: 1.2, 16: 1.2, 32: 1.2}, Verdict.CONTRADICTED, "none of them"),
        ({1: 1.9, 2: 1.9, 4: 1.6, 8: 1.2, 32: 1.0}, Verdict.NOT_TESTABLE, None),
    ],
)
def test_the_size_from_which_the_link_leaves_nothing_to_gain(gains, verdict, measured):
    found = verdicts(by_size(gains))["gain-is-gone/ram-read-by-size/stock"]
    assert (found.verdict, found.measured) == (verdict, measured)


def test_an_end_that_the_intervals_leave_open_is_undecided():
    table = by_size({1: 1.9, 2: 1.9, 4: 1.6, 8: 1.05, 16: 1.0, 32: 1.0})
    scatters = (table["request_kib"] == 8) & (table["scheduler"] == "sbq")
    table.loc[scatters & (table["repetition"] == 1), "throughput_iops"] *= 1.03
    found = verdicts(table)["gain-is-gone/ram-read-by-size/stock"]
    assert (found.verdict, found.measured) == (Verdict.UNDECIDED, "8 or 16")


def test_a_link_that_is_full_in_one_of_the_two_shows_another_thing():
    """The document's noop takes 74 of 97 Gb/s with 8 KiB on 16 cores."""
    table = by_size({1: 1.9, 2: 1.9, 4: 1.6, 8: 1.25, 16: 1.0, 32: 1.0})
    of_eight = table["request_kib"] == 8
    name = "gain-is-gone/ram-read-by-size/stock"
    assert verdicts(table)[name].verdict == Verdict.REPRODUCED
    table.loc[of_eight, "throughput_iops"] *= 1.25
    full = verdicts(table)[name]
    assert full.verdict == Verdict.NOT_TESTABLE
    assert "The link is full in one of the two" in full.reason


def test_a_link_that_sbq_fills_in_both_shows_what_it_carries():
    table = by_size({4: 1.6, 8: 1.25, 16: 1.0, 32: 1.0})
    found = verdicts(table)
    assert found["figure-6a/sbq-4-kb/stock/throughput"].verdict == Verdict.REPRODUCED
    full = found["figure-6a/sbq-8-kb/stock/throughput"]
    assert full.verdict == Verdict.NOT_TESTABLE and "The link is full with SBQ" in full.ground


def test_writes_fill_the_documents_link_before_reads_do():
    """Its writes end at 85 to 89 Gb/s: 24 cores with 4 KiB make 82, and have no link here."""
    table = on_cores(target="ram", read_percent=0).query("cores == 4 and depth == 64")
    found = verdicts(table.drop_duplicates(["scheduler", "repetition"]).assign(cores=24))
    full = found["figure-4b/sbq-24-cores/stock/throughput"]
    assert full.verdict == Verdict.NOT_TESTABLE and "full in one of the two" in full.ground


def test_a_mix_that_fills_the_documents_ssd_takes_what_its_bars_show():
    """SBQ makes 398 to 405 kIOPS with a mix, as many as with writes alone, and 634 with reads."""
    table = on_cores(target="nvme_ssd", read_percent=50).query("cores == 4 and depth == 64")
    found = verdicts(table.drop_duplicates(["scheduler", "repetition"]))
    full = found["figure-5a/sbq-50-reads/stock/throughput"]
    assert full.verdict == Verdict.NOT_TESTABLE and "full in one of the two" in full.ground


@pytest.mark.parametrize(
    "turns",
    [((1000, 1000), (0, 0)), ((1000, 200), (0, 0)), ((1000, 1000), (0, 100))],
)
def test_processors_that_take_turns_in_one_way_decide_nothing(turns):
    found = verdicts(on_cores(*turns))["figure-3a/sbq-4-cores/stock/throughput"]
    assert found.verdict == Verdict.NOT_TESTABLE


def test_two_ways_to_take_turns_are_needed_at_the_point_itself():
    """Of three repetitions, the second alone has other turns, and SBQ lacks it on four cores."""
    table = on_cores((1000, 200, 1000), (0, 100, 100), repetitions=3)
    lost = (table["cores"] == 4) & (table["scheduler"] == "sbq") & (table["repetition"] == 2)
    found = verdicts(table[~lost])
    two, four = (found[f"figure-3a/sbq-{n}-cores/stock/throughput"] for n in (2, 4))
    assert two.verdict != Verdict.NOT_TESTABLE and four.verdict == Verdict.NOT_TESTABLE
    assert "needs two lengths of a turn" in four.ground


def test_what_depends_on_the_turns_is_not_decided():
    table = on_cores()
    second = (table["repetition"] == 2) & (table["scheduler"] == "sbq")
    table.loc[second, "throughput_iops"] /= 2
    found = verdicts(table)["figure-3a/sbq-4-cores/stock/throughput"]
    assert found.verdict == Verdict.UNDECIDED


def test_rows_without_a_steady_state_are_not_judged():
    table = on_cores()
    four = table["cores"] == 4
    table.loc[four & (table["depth"] == 64), "in_flight_ratio"] = 0.75
    found = verdicts(table)
    unsteady, other = (
        found[f"figure-3a/sbq-{cores}/stock/throughput"] for cores in ("4-cores", "2-cores")
    )
    assert unsteady.verdict == Verdict.NOT_TESTABLE and "in_flight_ratio" in unsteady.ground
    assert other.verdict != Verdict.NOT_TESTABLE


def test_the_table_has_emulated_and_published():
    _, table = cores_table(on_cores())
    (row,) = table.query("target == 'NVMe SSD' and cores == '4'").to_dict("records")
    assert (row["noop"], row["published noop"]) == ("396", "400")
    assert row["SBQ / noop"].startswith("1.56") and row["published"] == "1.538"


def test_other_tables_are_those_of_the_other_runs():
    usual = measured(as_published)
    alone, both = (study.tables(table) for table in (usual, pd.concat([usual, on_cores()])))
    differ = [
        caption for (caption, one), (_, two) in zip(alone, both, strict=True) if not one.equals(two)
    ]
    assert differ == [ON_CORES]


def measured_curves(axis):
    """Return the measured curves of a panel: colour -> points, rounded."""
    drawn = [one.lines[0] for one in axis.containers]
    return {line.get_color(): [tuple(map(round, xy)) for xy in line.get_xydata()] for line in drawn}


def test_figures_of_cores_have_the_rows_with_cores_of_their_own_where_there_are_any():
    usual, own = measured(as_published), on_cores()
    drawn = study.figures(study.published(), pd.concat([usual, own]))
    alone = study.figures(study.published(), usual.assign(trial="alone"))
    assert list(drawn) == list(alone) == list(CAPTIONS)
    by_cores, of_one = (one["figures-3-and-4"] for one in (drawn, alone))
    assert by_cores.trials == set(own["trial"]) and of_one.trials == {"alone"}
    found = measured_curves(by_cores.figure.axes[0])
    assert set(found) == {COLOURS["none"], COLOURS["sbq"]}
    noop = [(cores, 4 * thousands) for cores, thousands in ((1, 35), (2, 58), (4, 99))]
    assert found[COLOURS["none"]] == noop
    assert measured_curves(of_one.figure.axes[0])[COLOURS["none"]] == [(1, 140)]
    # Figure 5 has four cores on the SSD, and sixteen, which were not run, on the RAM disk.
    shares = drawn["figure-5-read-share"].figure.axes
    assert measured_curves(shares[0])[COLOURS["none"]] == [(100, 396)]
    assert measured_curves(shares[1]) == {}


def test_the_overview_has_a_core_for_each_side_where_its_queue_is_full():
    here = {"testbed": "deterministic", "machine": "deterministic"}
    own = on_cores(**here)
    own["trial"] += own["cores"].astype(str)
    drawn = study.figures(study.published(), pd.concat([measured(as_published), own]))["overview"]
    curves = measured_curves(drawn.figure.axes[0])
    assert curves[COLOURS["sbq"]] == [(64, 2)]  # the last one that is drawn
    assert drawn.trials == {"t", "t1"}


def test_several_cores_are_judged_by_themselves():
    found = verdicts(on_cores())
    four = found["figure-3a/sbq-4-cores/stock/throughput"]
    assert four.verdict == Verdict.REPRODUCED  # 1.56 here, 615 / 400 published
    assert four.reason.startswith("4 cores of the host, as many of the target: Measured: 1.56 ")
    assert found["figure-5a/sbq-100-reads/stock/throughput"].verdict != Verdict.NOT_TESTABLE


def test_noops_own_curve_is_relative_to_one_core():
    found = verdicts(on_cores())
    two = found["figure-3a/noop-2-cores/throughput"]
    assert two.measured == pytest.approx(58, rel=1e-3) and two.relative_to == "1 core"
    assert two.compared[0].value == pytest.approx(58 / 35, rel=1e-3)  # published: 236 / 142
    assert two.verdict == Verdict.REPRODUCED
    assert found["figure-3a/noop-1-core/throughput"].verdict == Verdict.NOT_TESTABLE


def test_the_verdicts_of_one_core_stay_as_a_contrast():
    """The default machine's are another run's, and the same with and without it."""
    usual = measured(as_published)
    alone = [one for one in study.judge(usual) if one.machine == "deterministic"]
    beside = study.judge(pd.concat([usual, on_cores()]))
    assert [one for one in beside if one.machine == "deterministic"] == alone


@pytest.mark.parametrize(
    ("apart", "verdict"), [(0.8, Verdict.REPRODUCED), (0.6, Verdict.NOT_TESTABLE)]
)
def test_below_a_full_queue_both_rigs_have_to_agree(apart, verdict):
    """One lacks a link, and the other a processor for each side."""
    more = on_cores(testbed="deterministic", machine="deterministic")
    other = (more["scheduler"] == "sbq") & (more["depth"] == 16)
    more.loc[other, "throughput_iops"] *= apart / as_published(16)
    found = verdicts(pd.concat([measured(as_published), more]), "deterministic")
    claim = found["figure-1a/sbq-depth-16/stock/throughput"]  # published: 0.794
    assert claim.verdict == verdict
    assert [round(one.value, 3) for one in claim.compared] == [0.8, apart]


@pytest.mark.parametrize("factor", [1, 1.5])
def test_a_rig_alone_counts_neither_for_nor_against_the_document(factor):
    """The other one has too few requests for a 99th percentile."""
    usual, more = measured(as_published), on_cores(testbed="deterministic", machine="deterministic")
    usual.loc[usual["scheduler"] == "sbq", "latency_p99_us"] *= factor
    found = verdicts(pd.concat([usual, more.assign(requests=100)]), "deterministic")
    assert found["figure-1b/sbq-depth-16/stock/p99-latency"].verdict == Verdict.NOT_TESTABLE


def test_with_a_full_queue_the_rig_with_a_processor_for_each_side_decides():
    more = on_cores(testbed="deterministic", machine="deterministic")
    found = verdicts(pd.concat([measured(as_published), more]), "deterministic")
    full = found["figure-2a/sbq-depth-64/stock/throughput"]
    # One run of the document.
    assert full.cell == found["figure-4a/sbq-1-core/stock/throughput"].cell
    assert full.cell.endswith(", 1 core")
    assert found["figure-3a/sbq-4-cores/stock/throughput"].verdict == Verdict.REPRODUCED
