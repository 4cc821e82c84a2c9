"""The measured numbers that the pages tell are those of the reference."""

import json
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from elevatorlab.judging import verdict_cache
from elevatorlab.judging.claim import Role
from elevatorlab.judging.families import statements
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.lectures import arm, experiments, writers
from elevatorlab.paths import DATA, PROJECT
from elevatorlab.plugins.studies import STUDIES
from elevatorlab.results import costs, references
from elevatorlab.results.store import load
from elevatorlab.studies.container_isolation import measures as regulation
from elevatorlab.studies.container_isolation.document import predictions
from elevatorlab.studies.stream_batching import measures as batching
from elevatorlab.studies.stream_batching.document import core_ratios
from elevatorlab.studies.stream_batching.published import (
    core_scaling,
    gain_by_depth,
    single_core_latency,
)
from elevatorlab.studies.vm_vs_container.published import TEST_1, TEST_2, times
from elevatorlab.studies.vm_vs_container.tables import pairs_table

STUDY_2 = "iozone_ranking"

EXPLANATION = PROJECT / "docs/explanation"


def words_of(text):
    return " ".join(text.split())


FINDINGS = words_of((EXPLANATION / "findings.md").read_text())
LIMITS = words_of((EXPLANATION / "limits.md").read_text())
TURNED = words_of((PROJECT / "docs/drives.md").read_text().partition("### What the arm")[2])
MACHINES = words_of((PROJECT / "docs/virtual_machines.md").read_text())
REGULATOR = (PROJECT / "docs/regulator.md").read_text().partition("### What was measured")[2]
TOLD = words_of(REGULATOR)
SOAK = words_of((PROJECT / "docs/regulator.md").read_text().partition("What it leaves behind")[2])

#: What the page calls a mechanism, and its name in the study.
MECHANISMS = {
    "nothing": "none",
    "SLAE": "slae",
    "UTE": "ute",
    "`io.max`, 1 MB/s": "io_max",
    "`io.cost`, weights 10:100": "io_cost",
    "BFQ, weights 10:1000": "bfq",
}


def line_of(name):
    """Return the numbers in the line of a table that begins with a name, as they are printed."""
    (line,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", REGULATOR, re.MULTILINE)
    return [cell.split()[0] for cell in line.split("|")]


def as_printed(values, printed):
    """Round each value to the digits of the printed one."""
    digits = [len(one.partition(".")[2]) for one in printed]
    return [f"{value:.{number}f}" for value, number in zip(values, digits, strict=True)]


@pytest.fixture(scope="module")
def isolation():
    return load("container_isolation", "reference/paper")


@pytest.fixture(scope="module")
def causes():
    """Return where the arm's time goes, as benchmarks/where_arms_go.py has stored it."""
    return pd.read_csv(DATA / "drives" / "causes.csv", index_col=["study", "test"]).sort_index()


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_the_regulator_does_beside_the_kernels_mechanisms(name, isolation):
    measures = (
        lambda rows: regulation.of_trials(rows, "violation_s"),
        regulation.share_of_rate,
        lambda rows: regulation.rate_mb_s(rows[rows["role"] == "overloaded"]),
    )
    found = [
        measure(regulation.totals(isolation, "comparison", mechanism=MECHANISMS[name], load=kind))
        for measure in measures
        for kind in ("step", "two")
    ]
    printed = line_of(name)
    assert as_printed([one.value for one in found], printed) == printed


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("`io.max` by hand, 1 MB/s", "io_max"),
        ("the paper's SLAE, 5 ms", "slae-paper"),
        ("the paper's UTE, 0.75", "ute-paper"),
        ("SLAE, 5 ms", "slae"),
        ("UTE, 0.75", "ute"),
    ],
)
def test_what_the_policies_do_to_figures_8_and_9(name, policy, isolation):
    where = {"scheduler": "none", "mechanism": policy}
    found = [
        measure(regulation.phase(rows, when))
        for role, measure in (("overloaded", regulation.rate_mb_s), ("normal", regulation.wait_ms))
        for rows in [regulation.seconds(isolation, "regulation", role=role, **where)]
        for when in regulation.PHASES
    ]
    printed = line_of(name)
    assert as_printed([one.value for one in found], printed) == printed


@pytest.mark.parametrize("scheduler", ["mq-deadline", "cfq"])
def test_what_a_limit_set_by_hand_does_under_other_schedulers(scheduler, isolation):
    where = {"scheduler": scheduler, "mechanism": "io_max", "role": "normal"}
    rows = regulation.seconds(isolation, "regulation", **where)
    waits = [regulation.wait_ms(regulation.phase(rows, when)).value for when in regulation.PHASES]
    said = re.search(rf"Under {scheduler}, .*? wait ([\d.]+) ms before it and ([\d.]+) ms", TOLD)
    assert [f"{wait:.1f}" for wait in waits] == list(said.groups())


def test_what_ute_holds_and_what_bfq_makes_wait(isolation):
    ute = regulation.totals(isolation, "comparison", mechanism="ute", load="step")
    assert (
        f"counters show a utilisation of {ute['disk_utilization_ratio'].mean():.2f}, below the "
        f"threshold of 0.75, while the disk's own account says {ute['disk_busy_ratio'].mean():.2f}"
    ) in TOLD
    bfq = regulation.seconds(isolation, "comparison", mechanism="bfq", role="normal")
    waits = regulation.phase(bfq, "before").groupby("load")["latency_mean_ms"].mean()
    assert waits.between(6, 7).all() and "normal containers wait 6 to 7 ms" in TOLD


def missed(isolation, name, load_):
    """Return the seconds after the overload began in which a normal container missed the SLA."""
    normal = regulation.seconds(
        isolation, "comparison", mechanism=name, load=load_, role="normal"
    ).query("time_s > onset_s")
    late = normal[normal["latency_mean_ms"] > normal["sla_wait_ms"]]
    return set(late["time_s"] - late["onset_s"])


@pytest.mark.parametrize("load_", ["step", "two"])
def test_slae_misses_the_first_two_seconds_and_a_limit_and_the_cost_controller_none(
    load_, isolation
):
    assert missed(isolation, "slae", load_) == {1, 2}
    assert missed(isolation, "io_max", load_) == missed(isolation, "io_cost", load_) == set()


@pytest.mark.parametrize("policy", ["slae-paper", "ute-paper", "slae"])
def test_the_sla_is_kept_from_the_regulators_third_second_on(policy, isolation):
    normal = regulation.seconds(isolation, "regulation", mechanism=policy, role="normal")
    by_second = normal.query("time_s > onset_s").groupby("time_s")["latency_mean_ms"].mean()
    assert [wait_ms < 5 for wait_ms in by_second] == [False] * 2 + [True] * (len(by_second) - 2)


def test_what_overloads_write_under_the_cost_controller_and_under_slae(isolation):
    rates = {}
    for name in ("io_cost", "slae"):
        for load_, overloads in (("step", 1), ("two", 2)):
            each = regulation.seconds(
                isolation, "comparison", mechanism=name, load=load_, role="overloaded"
            )
            one = regulation.rate_mb_s(regulation.phase(each, "after"))
            rates[name, load_] = overloads * one.value
    assert (
        f"it gives a single overload {rates['io_cost', 'step']:.2f} MB/s, and SLAE gives it "
        f"{rates['slae', 'step']:.2f} MB/s"
    ) in TOLD
    assert (
        f"from the third second on they write {rates['io_cost', 'two']:.2f} MB/s together, with "
        f"SLAE {rates['slae', 'two']:.2f} MB/s"
    ) in TOLD


def words_of_lecture(name):
    lecture = json.loads((PROJECT / f"notebooks/lectures/{name}.ipynb").read_text())
    return " ".join(" ".join("".join(cell["source"]).split()) for cell in lecture["cells"])


@pytest.mark.image
def test_lecture_1_tells_when_bfq_waits_for_programs_that_read_in_order(tmp_path):
    """By its text, and not to the digit: a rate depends on the moment at which the load begins."""
    shipped, without, other = (
        row for _, row in arm.work_table(experiments.run(arm.in_order(), tmp_path)).iterrows()
    )
    assert 75 < shipped["cylinders"] < 150
    for one in (without, other):
        assert one["cylinders"] < 10 and one["requests/s"] > shipped["requests/s"]


def test_lecture_2_tells_how_long_bfq_reads_with_a_dropped_cache():
    words = words_of_lecture("02-readers-and-writers")
    share = writers.study_one().loc["bfq", ("rerun", "dropped")]
    assert f"`bfq` takes {share:.0%} of the time that `none` takes".replace("%", " %") in words


def test_the_findings_tell_what_holding_requests_back_costs():
    rows = load("stream_batching", "reference").query("time_scale == 7 and read_percent == 100")
    keys = ["driver", "target", "depth", "scheduler"]
    rows = rows[~(rows["batch_timeout_us"] < 50)]  # the study's own knobs
    means = rows.groupby(keys)["throughput_iops"].mean().unstack()
    lost = (100 - 100 * means["sbq"] / means["none"]).round().astype("Int64")
    one = lost.xs("stock", level="driver").xs(1, level="depth")
    printed = [
        round(100 - 100 * gain_by_depth(single_core_latency(), target)[1])
        for target in ("nvme_ssd", "ram")
    ]
    assert (
        f"loses {min(printed)} to {max(printed)} % of the throughput in the document, "
        f"and {min(one)} to {max(one)} % here"
    ) in FINDINGS
    stock, one_send = (-lost[name, "ram", 32] for name in ("stock", "one_send"))
    assert f"it gains {stock} % with the stock driver, and {one_send} % with" in FINDINGS
    many = lost.xs("local", level="driver").xs(64, level="depth")
    assert f"it only loses: {min(many)} to {max(many)} % at depth 64" in FINDINGS


def test_the_findings_tell_what_holding_back_gains_on_several_cores():
    own = batching.apart(load("stream_batching", "reference/paper"))
    cores = {n: own[own["cores"] == n] for n in batching.cores_in(own)}
    where = {"target": "ram", "driver": "stock", "time_scale": batching.scale_of(own)}
    for operation, reads in batching.READ_PERCENT.items():
        here = {**where, "read_percent": reads}
        found = [batching.gain(rows, **here).value for rows in cores.values()]
        printed = core_ratios("ram", operation)[list(cores)]
        said = [
            f"{100 * min(of) - 100:.0f} to {100 * max(of) - 100:.0f} %" for of in (found, printed)
        ]
        assert f"{said[0]}, and {said[1]} in the document" in FINDINGS
    noop = [batching.at(cores[n], "throughput_iops", **where, scheduler="none") for n in (1, 24)]
    curve = core_scaling().query("target == 'ram' and operation == 'randread'")
    printed = curve[curve["scheduler"] == "noop"].set_index("cores")["throughput_kiops"]
    times = f"{noop[1].mean() / noop[0].mean():.0f} times as many reads here as on one"
    assert f"{times}, and {printed[24] / printed[1]:.0f} times as many in the document" in FINDINGS


def test_the_limits_tell_where_a_container_is_slower_than_the_host():
    rows = load("vm_vs_container", "reference").query("variant == 'dropped'")
    rows = rows[rows["test"] == TEST_1]
    total_s = rows.groupby(["scheduler", "arm"])["time_s"].sum().unstack()
    ratio = total_s["container"] / total_s["host"]
    slower = ratio[["none", "mq-deadline", "kyber"]]
    assert f"reads {slower.min():.1f} to {slower.max():.1f} times slower than the host" in LIMITS
    assert f"With `bfq` it reads {ratio['bfq']:.2f} times slower" in LIMITS


def test_the_page_of_drives_tells_what_an_arm_turns_in_study_1():
    rows = load("vm_vs_container", "reference").query("arm == 'host'")
    total_s = rows.groupby(["test", "variant", "scheduler"])["time_s"].mean().unstack()
    ratio = total_s.div(total_s["none"], axis=0)
    without, turned = (ratio.loc[TEST_2, name]["bfq"] for name in ("dropped", "dropped_drive"))
    assert f"`bfq` takes {without:.1f} times" in TURNED
    assert f"on the drive {turned:.1f} times" in TURNED
    without, turned = (ratio.loc[TEST_1, name] for name in ("dropped", "dropped_drive"))
    assert f"reads in {without['bfq']:.2f} of the time of `none` without an arm" in TURNED
    assert f"and in {turned['bfq']:.2f} on the drive" in TURNED
    assert f"`mq-deadline` takes {turned['mq-deadline']:.2f} of the time of `none`" in TURNED
    assert f"and `kyber` {turned['kyber']:.2f}" in TURNED


def test_the_page_of_drives_tells_how_far_bfqs_repetitions_differ_in_study_1():
    rows = load("vm_vs_container", "reference").query(
        "arm == 'host' and variant == 'dropped_drive'"
    )
    times = rows[rows["test"] == TEST_2].pivot_table("time_s", "seed", "scheduler")
    ratio = times["bfq"] / times["none"]
    assert f"{ratio.min():.1f} to {ratio.max():.1f} times in single repetitions" in TURNED


def test_the_page_of_drives_tells_where_the_arm_goes_in_study_1(causes):
    beside = causes.loc["vm_vs_container", TEST_1].set_index("scheduler")
    none, bfq = beside.loc["none"], beside.loc["bfq"]
    assert f"moves over {none['cylinders']:.0f} cylinders under `none`" in TURNED
    assert f"and over {bfq['cylinders']:.0f} under `bfq`" in TURNED
    assert f"takes {none['seek_ms']:.2f} ms under `none`, and {bfq['seek_ms']:.2f} ms" in TURNED


def verdicts_of(study, preset):
    """Return claim -> verdict of a study's stored reference on the default testbed."""
    judged = verdict_cache.judge(study, f"reference/{preset}").claims
    return {claim.id: claim.verdict for claim in judged if claim.testbed == "deterministic"}


def differences_in_study_2():
    """Return by how many percent the best scheduler's mean exceeds the worst's, by cell."""
    rows = load(STUDY_2, "reference/paper")
    cell = ["arm", "variant", "threads", "test", "scheduler"]
    means = rows.groupby(cell)["throughput_kib_s"].mean().unstack()
    return 100 * (means.max(axis=1) / means.min(axis=1) - 1)


def test_the_page_of_drives_tells_what_an_arm_turns_in_study_2():
    drives = ["notebook-5400", "desktop-7200"]
    percent = differences_in_study_2()
    most = percent.xs("as_published", level="variant").groupby("arm").max()
    notebook, desktop = most[drives]
    assert f"by up to {notebook:.0f} % on the notebook drive" in TURNED
    assert f"by up to {desktop:.0f} % on the desktop drive" in TURNED
    alone = percent.loc[drives].xs(("direct", 1), level=["variant", "threads"]).max()
    assert f"differ by {alone:.2f} % at most" in TURNED


def test_the_page_of_drives_tells_what_became_of_the_improvements_in_study_2():
    verdicts = verdicts_of(STUDY_2, "paper")
    found = [verdicts[f"{STUDY_2}/improvement/{size}-percent"] for size in (30, 18)]
    assert f"`paper` finds them *{found[0]}* and *{found[1]}*" in TURNED


def test_the_page_of_drives_tells_where_the_time_goes_in_study_2(causes):
    ours = causes.loc["iozone_ranking"]
    assert (1 - ours["arm"] / ours["requests"]).round(1).eq(0.9).all()
    assert f"a seek takes at most {ours['seek_ms'].max():.1f} ms" in TURNED
    least, most = ours["rotation_ms"].min(), ours["rotation_ms"].max()
    assert f"the wait for the platter {least:.1f} to {most:.1f} ms" in TURNED
    waited_ms = ours["waited_ms"]
    assert f"waits {waited_ms.min():.0f} to {waited_ms.max():.0f} ms until" in TURNED


def test_the_page_of_drives_tells_what_an_arm_turns_in_study_3(isolation):
    alone = isolation.query("disk == 'hp-c3323a' and containers == 1")
    rate, wait_ms = alone["iops"].mean(), alone["wait_ms"].mean()
    assert f"{rate:.0f} writes/s on the drive and waits {wait_ms:.1f} ms" in TURNED


def test_the_page_of_drives_tells_what_an_arm_turns_in_study_4():
    rows = load("innodb_commit", "reference").query("experiment == 'no_cache' and threads == 8")
    means = rows.groupby(["device", "scheduler"])[["tps", "idle_while_waiting_ratio"]].mean()
    without, drives = (
        means.loc[next(name for name in set(rows["device"]) if name.startswith(kind))]
        for kind in ("null_blk", "drive")
    )
    for made in (without["tps"], drives["tps"]):
        ratio = made / made["mq-deadline"]
        assert f"{ratio['cfq']:.2f}" in TURNED and f"{ratio['bfq']:.2f}" in TURNED
    idle = 100 * drives["idle_while_waiting_ratio"]
    assert (
        f"for {idle['cfq']:.0f} % of the time under cfq, and for {idle['bfq']:.0f} % under `bfq`"
    ) in TURNED


def test_the_page_of_drives_tells_what_the_controllers_cache_changes_in_study_4():
    rows = load("innodb_commit", "reference")
    rows = rows.query("experiment == 'table' and flush_log_at_trx_commit == 1")
    rows = rows[rows["device"] == "drive, array-of-eight"]
    made = rows.groupby(["threads", "scheduler"])["tps"].mean().unstack()
    one, eight = made["cfq"] / made["mq-deadline"]
    assert f"`cfq` makes {one:.2f} of mq-deadline's commits with one thread" in TURNED
    assert f"and {eight:.2f} with eight" in TURNED


#: What the preset `paper` changed, as the page has it: a study and five counts.
CHANGED = re.findall(r"\| (\w+) " + r"\| (\d+) " * 5 + r"\|", LIMITS)


@pytest.mark.parametrize("line", CHANGED, ids=lambda line: line[0])
def test_the_page_of_limits_tells_what_more_repetitions_changed(line):
    study, *printed = line
    few, many = (verdicts_of(study, preset) for preset in ("quick", "paper"))
    assert set(few) == set(many)
    pairs = [(few[claim], many[claim]) for claim in few]
    both = [pair for pair in pairs if Verdict.NOT_TESTABLE not in pair]
    changed = [pair for pair in both if pair[0] != pair[1]]
    turned = [pair for pair in changed if set(pair) == {Verdict.REPRODUCED, Verdict.CONTRADICTED}]
    undecided = [pair for pair in changed if pair[0] == Verdict.UNDECIDED]
    only = [pair for pair in pairs if pair[0] == Verdict.NOT_TESTABLE != pair[1]]
    found = [len(one) for one in (both, changed, undecided, turned, only)]
    assert found == [int(number) for number in printed]


def test_a_99th_percentile_scatters_as_its_tolerance_says():
    rows = load("stream_batching", "reference/paper")
    point = ["target", "driver", "cores", "scheduler", "batch_nr", "batch_timeout_us"]
    point += ["depth", "read_percent", "request_kib", "time_scale", "link_gbit_s"]
    latencies = np.log(rows[["latency_p99_us", "latency_mean_us"]])
    logs = latencies.groupby([rows[name] for name in point], dropna=False)
    scatter = logs.std()[logs.size() >= 3]
    times = (scatter["latency_p99_us"] / scatter["latency_mean_us"]).median()
    (reason,) = {
        one.claim["tolerance"].reason
        for one in statements("stream_batching")
        if one.claim["id"].endswith("p99-latency") and one.role == Role.PREDICTION
    }
    assert f"{times:.1f} times" in reason


def test_every_stored_paper_reference_has_a_line_of_what_it_changed():
    folder = references.folder("paper")
    stored = {path.name.removesuffix(".digests.csv") for path in folder.glob("*.digests.csv")}
    assert {line[0] for line in CHANGED} == stored


def test_the_page_of_verdicts_names_the_studies_with_a_paper_reference():
    stored = costs.read("paper")
    numbers = sorted(str(one.NUMBER) for one in STUDIES.values() if one.NAME in stored)
    said = f"Studies {', '.join(numbers[:-1])} and {numbers[-1]} have a stored reference of `paper`"
    assert said in " ".join((EXPLANATION / "verdicts.md").read_text().split())


@pytest.fixture(scope="module")
def study_1():
    """Return the rows of study 1 whose host below a virtual machine uses none."""
    rows = load("vm_vs_container", "reference/paper")
    return rows[rows["backing_scheduler"].isna()]


def vm_beside_container(rows, dropped=("vm", "container")):
    """Return the ratio of times in the first test by scheduler; other arms read a warm cache."""
    cold = (rows["variant"] == "dropped") & rows["arm"].isin(dropped)
    warm = (rows["variant"] == "as_published") & ~rows["arm"].isin(dropped)
    chosen = rows[(cold | warm) & (rows["test"] == TEST_1)]
    total_s = chosen.groupby(["scheduler", "arm"])["time_s"].sum().unstack()
    return total_s["vm"] / total_s["container"]


def test_the_page_of_virtual_machines_tells_what_the_page_cache_explains(study_1):
    printed = times().query(f"test == '{TEST_1}'")
    total_s = printed.groupby(["scheduler", "arm"])["time_s"].sum().unstack()
    less = 100 - 100 * total_s["container"] / total_s["vm"]
    assert f"prints {less.min():.0f} to {less.max():.0f} % less time" in MACHINES
    warm = vm_beside_container(study_1, ())
    assert f"needs {warm.min():.3f} to {warm.max():.3f} of the container's time" in MACHINES
    less = 100 - 100 / vm_beside_container(study_1, ("vm",))
    assert f"the container needs {less.min():.0f} to {less.max():.0f} % less" in MACHINES
    both = vm_beside_container(study_1)
    assert f"needs {both.min():.1f} to {both.max():.1f} times as long" in MACHINES
    warm = study_1.query(f"arm == 'vm' and variant == 'as_published' and test == '{TEST_1}'")
    warm = warm.drop_duplicates("trial")
    assert f"one exit in {1e6 * warm['window_s'].sum() / warm['exits'].sum():.0f} us" in MACHINES
    assert f"four times: {len(references.digests('vm_vs_container'))} trials" in MACHINES


def test_the_page_of_virtual_machines_tells_where_bfq_helps():
    ((_, pairs),) = pairs_table(load("vm_vs_container", "reference/paper"))
    bfq = pairs[pairs["scheduler"] == "bfq"].set_index("test")
    guest, host = (
        bfq[name].str.split().str[0].astype(float) for name in ("guest alone", "host alone")
    )
    assert f"alone reads in {guest[TEST_1]:.2f} of the time" in MACHINES
    assert f"`bfq` needs {host[TEST_1]:.2f} of that time" in MACHINES
    assert f"takes {guest[TEST_2]:.1f} times as long as `none`" in MACHINES
    assert f"on the host alone {host[TEST_2]:.2f} times" in MACHINES


def test_the_limits_tell_what_turns_and_portions_decide(study_1):
    small = study_1.query(f"test == '{TEST_2}' and scheduler == 'none'")
    ms = 1000 * small["time_s"] / small["programs"]
    ms = ms.groupby([small["variant"], small["arm"]]).mean()
    warm = ms["as_published"]
    assert (
        f"a file takes {warm['vm']:.1f} ms in the virtual machine, {warm['host']:.1f} ms on the "
        f"host and {warm['container']:.1f} ms in the container"
    ) in LIMITS
    assert set(ms["dropped"].round()) == {20} and "the disk's bandwidth, 20 ms" in LIMITS
    judged = verdict_cache.judge("vm_vs_container", "reference/paper").claims
    count = Counter(one.verdict for one in judged if one.role == Role.PREDICTION)
    assert f"of the study's {count.total()} predictions" in LIMITS
    assert Verdict.CONTRADICTED not in count and "none is *contradicted*" in LIMITS
    assert f"and {count[Verdict.DIRECTION_ONLY]} are *direction only*" in LIMITS


def test_the_page_of_processors_has_the_measured_rates():
    """The table, at slots of 1000 and no transfer cost, and what each scheduler reaches at 16."""
    page = (PROJECT / "docs/multicore.md").read_text()
    rows = pd.read_csv(DATA / "multicore/iops.csv")
    assert rows.groupby(["slot", "transfer"]).size().to_dict() == dict.fromkeys(
        [(200, 0), (200, 100), (1000, 0), (1000, 100)], 20
    )
    rates = rows.set_index(["slot", "transfer", "scheduler", "jobs"])["iops"].sort_index()
    for name in rows["scheduler"].unique():
        (line,) = re.findall(rf"^\| {name} \|(.*)\|$", page, re.MULTILINE)
        assert [int(cell) for cell in line.split("|")] == list(
            (rates[1000, 0, name] / 1000).round().astype(int)
        )
    told = words_of(page)
    (reached,) = re.findall(
        r"reach ([\d.]+), ([\d.]+), ([\d.]+) and ([\d.]+) times the rate of one job", told
    )
    for name, times_faster in zip(("none", "kyber", "mq-deadline", "bfq"), reached, strict=True):
        assert f"{rates[1000, 0, name, 16] / rates[1000, 0, name, 1]:.1f}" == times_faster
    ((least, most),) = re.findall(r"at 16 jobs by (\d+) to (\d+) percent", told)
    at_16 = rates.xs(16, level="jobs").groupby("scheduler")
    spread = 100 * (at_16.max() / at_16.min() - 1)
    assert (f"{spread.min():.0f}", f"{spread.max():.0f}") == (least, most)


#: The columns that tell the cells of each study's table apart, and no repetitions of one cell.
CELLS = {
    "vm_vs_container": "test variant arm scheduler published_size_mb device",
    "iozone_ranking": "arm variant scheduler threads test",
    "container_isolation": "experiment disk mechanism load containers overloaded offered_ratio "
    "subject time_s scheduler",
    "innodb_commit": "device arm experiment idling slice_idle_ms scheduler flush_log_at_trx_commit "
    "threads slot_instructions transfer_instructions",
    "stream_batching": "device target driver scheduler time_scale batch_nr batch_timeout_us depth "
    "read_percent request_kib",
}
SPREADS = re.findall(r"\| (\w+) \| (\w+_?\w*) \| (\d+) \| (\d+) \| ([\d.]+) % \|", LIMITS)


@pytest.mark.parametrize(("study", "value", "cells", "same", "spread"), SPREADS)
def test_how_far_repetitions_differ(study, value, cells, same, spread):
    rows = load(study, "reference/paper")
    if study == "stream_batching":  # no two repetitions of its several cores have the same turns
        rows = rows[rows["slot_instructions"].isna()]
    by_cell = rows.groupby(CELLS[study].split(), dropna=False)[value]
    several = by_cell.agg(["count", "nunique", "mean", "std"]).query("count > 1")
    found = several["std"] / several["mean"]
    assert (len(several), (several["nunique"] == 1).sum()) == (int(cells), int(same))
    assert f"{found.median():.2%}" == f"{spread}%"


def test_how_far_the_start_matters_in_study_2():
    rows = load("iozone_ranking", "reference/paper")
    rows = rows[rows["arm"].isin(["notebook-5400", "desktop-7200"])]
    cells = rows.groupby(["variant", "arm", "scheduler", "threads", "test"])["throughput_kib_s"]
    spread = 100 * cells.std() / cells.mean()
    published, direct = spread["as_published"], spread["direct"]
    assert f"the median spread is {published.median():.1f} %" in LIMITS
    assert f"and the largest {published.max():.0f} %" in LIMITS
    assert f"the median is {direct.median():.3f} %" in LIMITS


def test_the_page_of_limits_tells_how_long_the_disk_of_study_4_works():
    def percent(preset, cell):
        judged = verdict_cache.judge("innodb_commit", f"reference/{preset}").claims
        return {claim.id: claim for claim in judged}[f"innodb_commit/table/{cell}/ioutil"].measured

    both = [f"{percent(preset, 'deadline/8-threads'):.0f} %" for preset in ("quick", "paper")]
    assert f"works for {both[0]} of the time in `quick`, and for {both[1]} in `paper`" in LIMITS
    lazy = [percent(preset, "flush-0-deadline/1-threads") for preset in ("quick", "paper")]
    assert f"works for {lazy[0]:.0f} % of the time with one thread in `quick`" in LIMITS
    assert lazy[1] < 0.1 and "less than 0.1 % in `paper`" in LIMITS


def test_the_notebook_tells_what_bfq_makes_of_eight_threads():
    rows = load("innodb_commit", "reference/paper").query(
        "experiment == 'table' and threads == 8 and flush_log_at_trx_commit == 1"
    )
    run = ["device", "arm", "repetition"]
    made = rows.pivot_table(index=run, columns="scheduler", values="tps")
    ratio = made["bfq"] / made["mq-deadline"]
    notebook = (PROJECT / "notebooks/analysis/04-innodb-commit.ipynb").read_text()
    assert (
        f"makes {ratio.min():.2f} to {ratio.max():.2f} times as many commits with bfq" in notebook
    )


def of_turns(rows, threads):
    """Return the ratio of commits in turns of 100 to those in turns of 200, over both costs."""
    cell = ["device", "arm", "scheduler", "flush_log_at_trx_commit"]
    rows = rows.query("experiment == 'table' and threads == @threads")
    turns = ["slot_instructions", "transfer_instructions"]
    mean = rows.pivot_table(index=cell, columns=turns, values="tps").T.groupby(level=0).mean().T
    return mean[100] / mean[200]


def test_what_the_length_of_a_turn_does_to_eight_threads_of_study_4():
    rows = load("innodb_commit", "reference/paper")
    eight, one = of_turns(rows, 8), of_turns(rows, 1)
    flushed = eight.xs(1, level="flush_log_at_trx_commit")
    assert f"makes {eight.min():.2f} to {eight.max():.2f} times as many commits" in LIMITS
    assert f"and {flushed.min():.2f} to {flushed.max():.2f} times as many if" in LIMITS
    assert f"With one thread it makes {one.min():.2f} to {one.max():.2f} times" in LIMITS


TURNS = re.findall(
    r"\| (\d) \| (at each commit|once a second) " + r"\| ([\d.]+) " * 5 + r"\|",
    (PROJECT / "docs/multicore.md").read_text(),
)


def test_the_page_of_processors_tells_how_short_a_turn_must_be():
    rows = pd.read_csv(DATA / "multicore/turns.csv")
    cell = ["threads", "flush_log_at_trx_commit"]
    mean = rows.pivot_table(index=cell, columns="slot_instructions", values="tps")
    found = mean.div(mean[200], axis=0)[[1000, 500, 200, 100, 50]]
    assert len(TURNS) == len(found) == 4
    for threads, flush, *printed in TURNS:
        of_cell = found.loc[int(threads), 1 if flush == "at each commit" else 0]
        assert [f"{one:.2f}" for one in of_cell] == printed


def test_every_study_has_a_line_of_how_far_repetitions_differ():
    assert {line[0] for line in SPREADS} == set(CELLS)


def test_the_findings_tell_two_laws_through_the_papers_first_point():
    first, second = predictions().itertuples()
    assert (
        f"{first.published_ms:g} ms and {second.published_ms:g} ms, this law gives "
        f"{first.closed_ms:.1f} ms and {second.closed_ms:.1f} ms. M/M/1 gives "
        f"{first.mm1_ms:.1f} ms and {second.mm1_ms:.1f} ms."
    ) in FINDINGS


def test_the_page_tells_of_eight_hours_of_one_regulator():
    seen = pd.read_csv(DATA / "frontier/soak_hours.csv")
    first, last = seen.iloc[0], seen.iloc[-1]
    assert (len(seen), last["time_s"]) == (48, 8 * 3600)
    assert last["missed_periods"] == 0 and "it missed no control period" in SOAK
    assert first["memory_kib"] == last["memory_kib"]
    assert f"memory was {last['memory_kib'] / 1024:.2f} MiB" in SOAK
    of_each = seen["missed_s"].diff().fillna(first["missed_s"])
    assert set(of_each) == {2, 3} and "in two or three seconds" in SOAK
    assert f"{last['missed_s']:.0f} seconds in all" in SOAK


def test_the_page_of_elevators_tells_how_long_each_is():
    page = words_of((PROJECT / "docs/elevators.md").read_text())
    lines = {
        folder.name: sum(len(one.read_text().splitlines()) for one in folder.glob("*.[ch]"))
        for folder in (PROJECT / "environments/kernel/schedulers").iterdir()
        if folder.is_dir()
    }
    for name in ("cfq", "sbq"):
        assert f"`{name}` has {lines.pop(name)} lines" in page
    assert max(lines.values()) < 300 and "less than 300 lines of C" in page
