"""Study 5: its trials, its tidy rows, its published points, its claims and its figures."""

import re

import pandas as pd
import pytest

from elevatorlab import studies
from elevatorlab.errors import ElevatorLabError
from elevatorlab.judging import claims, engine
from elevatorlab.judging.families import statements
from elevatorlab.judging.verdicts import DECIDED, Verdict
from elevatorlab.plugins.schedulers import colour_of
from elevatorlab.studies import stream_batching as study
from elevatorlab.studies.stream_batching.claims import crossing
from elevatorlab.studies.stream_batching.document import core_ratios, gone, gone_from, size_ratios
from elevatorlab.studies.stream_batching.figures import CAPTIONS
from elevatorlab.studies.stream_batching.measures import limit_kiops
from elevatorlab.studies.stream_batching.published import noop_beside, points
from elevatorlab.trial import parse
from stream_batching_tables import as_published, measured

NOTHING = pd.DataFrame(columns=study.COLUMNS)


def expanded(preset, **overrides):
    return study.trials(studies.parameters(study, preset, overrides))


def of_one_core(**overrides):
    """Return the trials of `paper` in which host and target share their processors."""
    return [trial for trial in expanded("paper", **overrides) if "cores" not in trial.labels]


# Trials


def test_service_time_and_timeout_are_scaled_together():
    by_scale = {}
    for trial in of_one_core(targets="nvme_ssd", drivers="stock", schedulers="sbq"):
        if trial.labels["driver"] == "stock" and trial.labels["batch_nr"] == "16":
            timeout_us = trial.scheduler.tunables["batch_timeout_us"]
            times = trial.device.backing.service_time_us, timeout_us
            if trial.labels["batch_timeout_us"] == "50":
                by_scale[trial.labels["time_scale"]] = times
    assert by_scale == {"1": (80, 50), "7": (560, 350)}


def test_the_link_is_scaled_like_everything_else():
    trials = of_one_core(drivers="stock", schedulers="none")
    links = {t.labels["time_scale"]: t.device.link for t in trials if t.labels["driver"] == "stock"}
    found = {scale: (link.rate_gbit_s, link.delay_us) for scale, link in links.items()}
    assert found == {"1": (100, 5), "7": (pytest.approx(100 / 7), 35)}


def test_a_cable_without_a_link_is_a_contrast():
    with_link, without = expanded("paper"), expanded("paper", link=False)
    assert len(with_link) == len(without)
    changed = [a.labels["driver"] for a, b in zip(with_link, without, strict=True) if a != b]
    assert set(changed) == {"stock", "one_send"}  # what has no network stays as it is
    assert all(trial.device.link is None for trial in without if trial.device.kind == "nvme_tcp")


def test_reads_come_before_what_writes():
    for trial in expanded("full"):
        shares = [point["rwmixread"] for point in trial.workloads[0].points]
        assert shares == sorted(shares, reverse=True)


def test_a_disk_of_ones_own_replaces_the_simulated_ssd():
    trials = of_one_core(disk="nvme-eui.1", destroy=True, time_scale=1)
    served = {
        trial.labels["target"]: trial.device.backing.kind
        for trial in trials
        if trial.labels["driver"] != "local"
    }
    assert served == {"nvme_ssd": "disk", "ram": "null_blk"}
    local = {t.labels["target"] for t in trials if t.labels["driver"] == "local"}
    assert local == {"ram"}  # a simulated SSD says nothing about a real one
    assert {trial.labels["time_scale"] for trial in trials} == {"1"}


@pytest.mark.parametrize("preset", study.PRESETS)
def test_one_of_ours_is_also_compared_without_a_network(preset):
    trials = expanded(preset, schedulers="none,sbq,mq-deadline,fifo", repetitions=1)
    targets = {trial.labels["target"] for trial in trials}
    local = [trial for trial in trials if trial.labels["driver"] == "local"]
    found = {(trial.scheduler.name, trial.labels["target"]) for trial in local}
    assert found == {(name, one) for name in ("none", "sbq", "fifo") for one in targets}
    for trial in local:
        assert [point["iodepth"] for point in trial.workloads[0].points] == [1, 64]


def test_where_the_gain_is_explained_it_is_traced():
    for trial in of_one_core():
        (fio,) = trial.workloads
        points = [fio.points[number] for number in fio.traced_points]
        own_knobs = trial.labels.get("batch_nr", "16") == "16"
        explained = trial.scheduler.name in ("none", "sbq") and own_knobs
        if trial.labels.get("batch_timeout_us", "50") == "50":
            expected = [{"iodepth": 64, "rwmixread": 100, "bs": "4k"}] if explained else []
            assert points == expected


@pytest.mark.parametrize("preset", ["smoke", "paper"])
@pytest.mark.parametrize("experiments", [["knobs"], ["local", "knobs"], ["depth", "knobs"]])
def test_a_sweep_has_noop_and_its_own_pair_once(preset, experiments):
    trials = expanded(preset, experiments=experiments, targets=["ram"], repetitions=1)
    sweep = {"iodepth": 64, "rwmixread": 100, "bs": "4k"}
    driver = [t for t in trials if t.labels["driver"] == "one_send"]
    at_it = [t for t in driver if sweep in t.workloads[0].points]
    pairs = [
        (t.scheduler.name, *map(t.labels.get, ("batch_nr", "batch_timeout_us"))) for t in at_it
    ]
    assert len(set(pairs)) == len(pairs)
    assert {("none", None, None), ("sbq", "16", "50")} <= set(pairs)
    pairs_asked = 1 if preset == "smoke" else 6
    assert sum(name == "sbq" for name, *_ in pairs) == pairs_asked


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("mtu_bytes", 100, "device: mtu_bytes: "),
        ("link_gbit_s", 100_000, "link: rate_gbit_s: "),
        ("device_mib", 4096, "leaves too little of it"),
        (
            "disk",
            "nvme-eui.1",
            "time_scale: expected 1 (the default on real machines) with a disk, whose time is its",
        ),
    ],
)
def test_what_cannot_be_is_refused(name, value, said, error_of):
    assert said in error_of(expanded, "smoke", **{name: value})


def test_the_memory_of_the_target_counts(make_trial, error_of):
    content = make_trial().model_dump(mode="json")
    large = {**content["device"], "size_mib": 512}
    device = {"kind": "nvme_tcp", "backing": large, "driver": "stock"}
    assert "lives in memory" in error_of(parse, {**content, "device": device})


# Rows


def point(requests=100, **more):
    counters = {"requests": requests, "duration_ns": 1_000_000, "busy_ns": 500_000}
    counters |= {"context_switches": 50, "interrupts": 7, "host_sends": 10, **more}
    way = {"requests": 300, "iops": 3000.0, "latency_mean_ns": 2000.0, "latency_p99_ns": 5000}
    slow = {"requests": 100, "iops": 1000.0, "latency_mean_ns": 6000.0, "latency_p99_ns": 9000}
    options = {"iodepth": 64, "rwmixread": 75, "bs": "8k"}
    return {"point": options, "read": way, "write": slow, "counters": counters}


def row_of(labels=None, traced=None, **counters):
    trial = {"machine": "host", "device": {"link": {"rate_gbit_s": 10, "delay_us": 35}}}
    trial["labels"] = {"target": "ram", "driver": "stock", "time_scale": "7", **(labels or {})}
    found = {**point(**counters), "processor_time": traced}
    (row,) = study.rows(trial, {"workloads": {"reader": {"points": [found]}}})
    return row


def test_reads_and_writes_are_joined():
    row = row_of()
    assert (row["throughput_iops"], row["latency_mean_us"], row["latency_p99_us"]) == (4000, 3, 9)
    assert (row["depth"], row["read_percent"], row["request_kib"]) == (64, 75, 8)
    assert row["requests"] == 400


def test_a_row_tells_its_link():
    row = row_of()
    assert (row["link_gbit_s"], row["link_delay_us"]) == (10, 35)


def test_costs_are_for_a_request():
    row = row_of()
    assert (row["busy_ratio"], row["busy_ns_per_request"]) == (0.5, 5000)
    assert (row["switches_per_request"], row["host_sends_per_request"]) == (0.5, 0.1)
    assert "target_sends_per_request" not in row and "batch_requests" not in row


def test_batches_and_why_they_were_released():
    causes = {"released_by_nr": 6, "released_by_bytes": 0, "released_by_timeout": 2}
    row = row_of({"batch_nr": "16", "batch_timeout_us": "50"}, scheduler={"held": 80, **causes})
    assert (row["batch_nr"], row["batch_requests"], row["released_by_nr_ratio"]) == (16, 10, 0.75)


def test_processor_time_is_without_what_tracing_cost():
    """Three events of a request cost 600 ns together, for it takes 5000 ns without them."""
    time_ns = {"host submit": 30_000, "target driver": 20_000, "other": 6_000, "idle": 9_000}
    events = {"host submit": 10, "target driver": 20, "other": 0, "idle": 70}
    row = row_of(traced={"requests": 10, "time_ns": time_ns, "events": events})
    assert row["host_submit_busy_ns_per_request"] == pytest.approx(2800)
    assert row["target_busy_ns_per_request"] == pytest.approx(1600)
    together = row["host_busy_ns_per_request"] + row["target_busy_ns_per_request"] + 600
    assert together == pytest.approx(row["busy_ns_per_request"])


@pytest.mark.parametrize("traced", [None, {"requests": 0, "time_ns": {}, "events": {}}])
def test_processor_time_that_was_not_traced_has_no_figures(traced):
    assert "host_busy_ns_per_request" not in row_of(traced=traced)


# What was published


def test_every_point_is_there_with_its_source():
    table = points()
    assert table[["document", "table", "row"]].notna().all(axis=None)
    assert not table.duplicated(["table", "row"]).any()
    assert table.groupby("table").size().to_dict() == {
        **{"Figure 1a": 21, "Figure 1b": 20, "Figure 2a": 21, "Figure 2b": 21},
        **{"Figure 3a": 20, "Figure 3b": 20, "Figure 4a": 48, "Figure 4b": 48},
        **{"Figure 5a": 10, "Figure 5b": 10, "Figure 6a": 12, "Figure 6b": 12},
    }


def test_noop_beside_a_point():
    row = {"table": "Figure 1a", "scheduler": "sbq", "io_depth": 64, "latency_kind": "mean"}
    assert noop_beside(row, "throughput_kiops") == 141
    assert noop_beside({**row, "io_depth": 1024}, "throughput_kiops") is None


@pytest.mark.parametrize(
    "ratios, end",
    [
        (core_ratios("nvme_ssd", "randread"), 10),
        (core_ratios("nvme_ssd", "randwrite"), 7),
        (core_ratios("ram", "randread"), None),
        (size_ratios("randread"), 16),
        (size_ratios("randwrite"), 16),
    ],
)
def test_the_cores_or_the_size_with_which_the_gain_ends_in_the_figure(ratios, end):
    assert gone_from(ratios) == end


def test_gone_is_what_two_figures_of_one_run_differ_by():
    """Figure 2a shows 248, Figure 4a 234 kIOPS of SBQ on one core, the farthest apart."""
    assert gone() == pytest.approx(248 / 234)


def test_the_documents_rig_ends_at_the_link_or_the_ssd():
    assert limit_kiops("ram", "randread") == pytest.approx(3051.8, abs=0.1)
    assert limit_kiops("nvme_ssd", "randwrite") == 397


# Claims


POINT = ["target", "driver", "time_scale", "scheduler", "depth", "repetition"]
STATEMENTS = {one.claim["id"]: one for one in statements(study.NAME)}


def claim_of(name, table):
    """Judge one statement alone."""
    item = STATEMENTS[f"{study.NAME}/{name}"]
    (claim,) = engine.judge([item], study.claims.JUDGES, table)
    return claim


#: Points to which the others of noop's curve are relative, so that nothing is claimed of them.
REFERENCES = {(f"Figure 5{panel}", "noop, 100 % reads") for panel in "ab"}
REFERENCES |= {(f"Figure 6{panel}", f"noop, {kib} KB") for panel in "ab" for kib in (4, 8)}


def test_every_published_point_has_a_claim():
    sources = [one.claim["source"] for one in STATEMENTS.values()]
    about = {(source.place, source.row) for source in sources}
    chosen = points()["cores"].isna() | points()["cores"].isin(study.PRESETS["paper"]["cores"])
    shown = set(points()[chosen][["table", "row"]].itertuples(index=False, name=None))
    assert shown - about == REFERENCES


@pytest.mark.parametrize(
    "gain, name, verdict",
    [
        (as_published, "figure-1a/sbq-depth-64/stock/throughput", Verdict.REPRODUCED),
        (as_published, "figure-3a/sbq-1-core/one_send/throughput", Verdict.REPRODUCED),
        (as_published, "peak-ratio/nvme_ssd/stock/scaled", Verdict.REPRODUCED),
        (lambda depth: 1 / 1.56, "figure-1a/sbq-depth-64/stock/throughput", Verdict.CONTRADICTED),
        (lambda depth: 1 / 1.56, "peak-ratio/ram/one_send/scaled", Verdict.CONTRADICTED),
    ],
)
def test_a_claim_is_reproduced_as_published_and_contradicted_by_the_opposite(gain, name, verdict):
    assert claim_of(name, measured(gain)).verdict == verdict


@pytest.mark.parametrize(
    "name",
    [
        *("figure-4a/sbq-16-cores/stock/throughput", "figure-3a/noop-1-core/throughput"),
        *("gain-is-gone/ssd-read/stock", "gain-is-gone/ram-read-by-size/stock"),
    ],
)
def test_one_core_says_nothing_of_more(name):
    assert claim_of(name, measured(as_published)).verdict == Verdict.NOT_TESTABLE


def with_noop_changed(depth, factor):
    table = measured(as_published)
    here = (table["scheduler"] == "none") & (table["depth"] == depth)
    return table.assign(throughput_iops=table["throughput_iops"].where(~here, lambda x: x * factor))


@pytest.mark.parametrize(
    "ratio, verdict",
    [
        (102 / 141, Verdict.REPRODUCED),  # as published, at depths 16 and 64
        (0.5, Verdict.DIRECTION_ONLY),
        (1.2, Verdict.CONTRADICTED),
    ],
)
def test_the_shape_of_noop(ratio, verdict):
    name = "figure-1a/noop-depth-16/throughput"
    found, as_it_was = (claim_of(name, with_noop_changed(16, by)) for by in (ratio, 1))
    assert found.verdict == verdict
    assert found.compared[0].value == pytest.approx(ratio, rel=1e-3)
    assert found.measured == pytest.approx(as_it_was.measured * ratio, rel=1e-3)


def test_the_shapes_point_of_reference_is_held_against_nothing():
    claim = claim_of("figure-1a/noop-depth-64/throughput", with_noop_changed(64, 2))
    assert claim.verdict == Verdict.NOT_TESTABLE


@pytest.mark.parametrize(
    "name, said",
    [
        ("figure-2b/noop-depth-64/p99-latency", "This point is the reference of the other points"),
        ("figure-6a/noop-32-kb/throughput", "Here, only one core was measured"),
        ("figure-6a/sbq-4-kb/stock/throughput", "Here, only one core was measured"),
        ("figure-5b/noop-50-reads/throughput", "Here, only one core was measured"),
        ("figure-5b/sbq-100-reads/stock/throughput", "Here, only one core was measured"),
    ],
)
def test_what_cannot_be_judged(name, said):
    claim = claim_of(name, measured(as_published))
    assert claim.verdict == Verdict.NOT_TESTABLE and said in claim.reason


@pytest.mark.parametrize("name", ["sbq-depth-64/stock/p99-latency", "noop-depth-16/p99-latency"])
def test_a_99th_percentile_takes_enough_requests(name):
    few = claim_of(f"figure-2b/{name}", measured(as_published, requests=298))
    assert few.verdict == Verdict.NOT_TESTABLE
    assert "Only 298 requests were measured at this point" in few.reason
    assert "With fewer than 299," in few.reason
    enough = claim_of(f"figure-2b/{name}", measured(as_published, requests=299))
    assert "Only" not in enough.reason and enough.measured is not None


@pytest.mark.parametrize(
    "gain_at_1, verdict",
    [
        (122 / 178, Verdict.REPRODUCED),  # 178 us instead of 122, as published
        (0.4, Verdict.DIRECTION_ONLY),
        (1.5, Verdict.CONTRADICTED),
    ],
)
def test_the_price_of_a_request_alone(gain_at_1, verdict):
    table = measured(lambda depth: gain_at_1 if depth == 1 else 1.5)
    assert claim_of("latency-at-depth-1/nvme_ssd/stock/scaled", table).verdict == verdict


@pytest.mark.parametrize(
    "ratio, verdict",
    [(0.8, Verdict.REPRODUCED), (0.95, Verdict.DIRECTION_ONLY), (1.3, Verdict.CONTRADICTED)],
)
def test_the_negative_control(ratio, verdict):
    table = measured(lambda depth: ratio, driver="local").drop_duplicates(POINT)
    assert claim_of("local/ram", table).verdict == verdict


def test_without_the_negative_control_nothing_is_said_of_it():
    assert claim_of("local/ram", measured(as_published)).verdict == Verdict.NOT_TESTABLE


def test_unscaled_times_are_judged_once():
    """Where no times are scaled, the claim about the scaled ones is the same one."""
    unscaled = measured(as_published, time_scale=1.0)
    names = [f"peak-ratio/ram/stock/{scale}" for scale in ("scaled", "unscaled")]
    scaled, again = (claim_of(name, unscaled) for name in names)
    assert scaled.verdict != Verdict.NOT_TESTABLE
    assert again.verdict == Verdict.NOT_TESTABLE and "No times are scaled" in again.reason
    both = pd.concat([unscaled, measured(as_published, trial="u")])
    assert claim_of(names[1], both).verdict != Verdict.NOT_TESTABLE


def test_one_repetition_decides_nothing():
    once = study.judge(measured(as_published, repetitions=1))
    about = [one for one in once if claims.is_measured(one)]
    assert not {one.verdict for one in about} & set(DECIDED)
    assert Verdict.UNDECIDED in {one.verdict for one in about}


def test_a_point_twice_is_refused():
    table = measured(as_published)
    with pytest.raises(ElevatorLabError, match="expected each point once per repetition"):
        study.judge(pd.concat([table, table]))


@pytest.mark.parametrize(
    "sides, between",
    [
        ({1: -1, 16: 1}, (1, 16)),
        ({1: 1, 16: -1, 32: 1}, (16, 32)),
        ({1: -1, 16: 0, 32: 1}, (1, 32)),
        ({1: 1, 16: 1}, None),
        ({1: -1, 16: -1}, None),
        ({1: -1, 16: 0}, None),
    ],
)
def test_crossings(sides, between):
    assert crossing(sides) == between


@pytest.mark.parametrize(
    "gains, verdict",
    [
        # The document's curves of the RAM target cross between 16 and 32.
        ({1: 0.4, 16: 0.8, 32: 1.3, 64: 1.5}, Verdict.REPRODUCED),
        ({1: 0.4, 8: 0.8, 16: 1.3, 64: 1.5}, Verdict.DIRECTION_ONLY),
        ({1: 0.4, 64: 1.5}, Verdict.UNDECIDED),
        ({1: 0.4, 16: 0.8, 64: 1.0}, Verdict.UNDECIDED),
        ({1: 0.4, 16: 0.8, 64: 0.9}, Verdict.CONTRADICTED),
        ({1: 1.4, 16: 1.4, 64: 1.4}, Verdict.CONTRADICTED),
        # The document shows no noop at depth 1024.
        ({1: 0.4, 16: 0.8, 32: 1.3, 1024: 0.9}, Verdict.REPRODUCED),
    ],
)
def test_where_the_curves_cross(gains, verdict):
    table = measured(gains.get, depths=tuple(gains))
    # Of two repetitions, both are a little on either side of the mean.
    odd = (table["repetition"] == 1) & (table["scheduler"] == "sbq")
    table.loc[odd, "throughput_iops"] *= 1 + 1e-3
    assert claim_of("crossing/ram/stock", table).verdict == verdict


def test_what_is_within_the_tolerance_does_not_contradict_the_direction():
    """Figure 1a shows 1.09 at depth 32: with 10 %, a repetition might show 0.98."""
    name = "figure-1a/sbq-depth-32/stock/throughput"
    found = {
        ratio: claim_of(name, measured(lambda depth, at=ratio: at, depths=(32, 64))).verdict
        for ratio in (0.9, 0.99, 1.0, 1.1, 1.4)
    }
    assert found == {
        0.9: Verdict.CONTRADICTED,
        **dict.fromkeys((0.99, 1.0), Verdict.UNDECIDED),
        1.1: Verdict.REPRODUCED,
        1.4: Verdict.DIRECTION_ONLY,
    }


# Figures and tables


@pytest.fixture(scope="module")
def drawn():
    return study.figures(study.published(), measured(as_published))


def test_captions_say_what_was_done_with_times_and_where_host_and_target_were(drawn):
    real = {"testbed": "ssh-pair", "machine": "0123456789abcdef", "time_scale": 1.0}
    two = measured(as_published, **real, target_sends_per_request=float("nan"))
    apart = study.figures(study.published(), two)
    for name, one in drawn.items():
        assert "Host and target share the machine's processors" in one.details
        assert name == "unscaled" or re.search(r"by 7\.|× 7[.;]", one.details), name
    for one in apart.values():
        assert "Times are not scaled. Host and target are two machines" in one.details


def test_a_percentile_of_a_few_requests_is_not_drawn():
    def points_of(requests):
        table = measured(as_published, requests=requests)
        mean, p99 = study.figures(study.published(), table)["figures-1-and-2"].figure.axes[-2:]
        solid = [
            [line for line in axis.lines if line.get_linestyle() in ("-", "-.")]
            for axis in (mean, p99)
        ]
        return [sum(len(line.get_xdata()) for line in lines) for lines in solid]

    assert points_of(299) == [6, 6]
    assert points_of(298) == [6, 0]


def words_beside(table, **knobs):
    """Return what the panel of a sweep says where SBQ ran with other knobs, too."""
    other = table.query("scheduler == 'sbq' and depth == 64").assign(**knobs, trial="u")
    axis = study.figures(study.published(), pd.concat([table, other]))["knobs"].figure.axes[0]
    return sorted(text.get_text() for text in axis.texts)


def test_a_sweep_without_noop_says_so_and_a_pair_of_knobs_that_was_not_run_is_no_number():
    table = measured(as_published)
    alone = table.query("scheduler == 'sbq' and depth == 64")
    assert words_beside(alone, batch_nr=4.0) == ["noop was not run beside it"]
    said = words_beside(table, batch_nr=4.0, batch_timeout_us=12.0)
    assert said == ["1.56×\n(16 a batch)"] * 2 + ["was not run"] * 2


def test_published_data_alone_is_drawn():
    drawn = study.figures(study.published(), NOTHING)
    assert list(drawn) == [
        *("overview", "figures-1-and-2", "figures-3-and-4"),
        *("figure-5-read-share", "figure-6-request-size"),
    ]


def test_every_figure_is_drawn(drawn):
    assert list(drawn) == list(CAPTIONS)


def test_published_markers_are_open_and_measured_ones_filled(drawn):
    """The published curve is dashed."""
    axis = drawn["overview"].figure.axes[0]
    lines = [line for line in axis.lines if len(line.get_xdata()) > 2]
    lines = [line for line in lines if line.get_linestyle() != "None"]  # no caps of intervals
    is_open = {line.get_linestyle(): line.get_markerfacecolor() == "white" for line in lines}
    assert is_open == {"--": True, "-": False}


def test_panels_of_one_quantity_share_their_range_and_cut_no_point(drawn):
    ssd, ram = drawn["overview"].figure.axes
    assert ssd.get_ylim() == ram.get_ylim()
    for axis in (ssd, ram, *drawn["figures-1-and-2"].figure.axes):
        low, high = axis.get_ylim()
        values = [value for line in axis.lines for value in line.get_ydata()]
        assert low <= min(values) and max(values) <= high


def with_one_more(name):
    """Return rows of noop and SBQ, and of one more scheduler that is three times as fast as SBQ."""
    rows = measured(as_published).query("driver == 'stock'")
    rows = pd.concat([rows, rows.assign(driver="local", trial="l")])
    more = rows.query("scheduler == 'sbq'").assign(scheduler=name, batch_nr=None, trial="m")
    more["batch_timeout_us"] = None
    more["throughput_iops"] *= 3
    return pd.concat([rows, more.astype({"batch_nr": float, "batch_timeout_us": float})])


def test_a_scheduler_of_ones_own_is_in_a_table_with_and_without_a_network():
    _, table = study.tables(with_one_more("mine"))[-1]
    assert set(table["scheduler"]) == {"mine"}
    assert set(table["driver"]) == {"stock driver", "no network"}
    at_64 = table[table["depth"] == "64"]
    assert set(at_64["relative to noop"].str[:4]) == {"4.68"}
    assert set(at_64["kIOPS"]) == {"93.61"}
    assert len(table) == 2 * 2 * 3


def test_without_one_there_is_no_such_table():
    captions = [caption for caption, _ in study.tables(measured(as_published))]
    assert not any("neither in the document" in caption for caption in captions)


def test_a_scheduler_of_ones_own_has_a_curve_of_its_own_colour():
    drawn = study.figures(study.published(), with_one_more("mine"))
    axis = drawn["overview"].figure.axes[1]
    (curve,) = [
        line
        for line in axis.lines
        if line.get_color() == colour_of("mine") and len(line.get_xdata()) > 2
        if line.get_linestyle() != "None"
    ]
    assert curve.get_ydata()[-1] == pytest.approx(4.68, abs=0.01)


def test_the_table_recomputes_the_scale_of_time():
    (_, overview), _, (_, scale), _ = study.tables(measured(as_published))
    assert set(overview["SBQ / noop"].str[:4]) == {"1.56"}
    assert set(scale["published / measured"]) == {"6.90"}


def test_the_table_says_what_each_side_would_gain_alone():
    rows = measured(as_published)
    sbq = rows["scheduler"] == "sbq"
    rows["host_busy_ns_per_request"] = sbq.map({False: 24_000.0, True: 16_000.0})
    rows["target_busy_ns_per_request"] = sbq.map({False: 24_000.0, True: 20_000.0})
    _, (_, apart), *_ = study.tables(rows)
    assert set(apart["host alone"]) == {"1.50"} and set(apart["target alone"]) == {"1.20"}
    _, (_, apart), *_ = study.tables(rows.assign(target_busy_ns_per_request=0.0))  # two machines
    assert set(apart["host alone"]) == {"1.50"} and set(apart["target alone"]) == {"–"}
