"""Every claim gets a verdict, and the right one."""

import json
import re
from collections import Counter
from datetime import date

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from elevatorlab.analysis.intervals import Interval, geometric_interval
from elevatorlab.errors import ElevatorLabError
from elevatorlab.judging import engine
from elevatorlab.judging.claim import PUBLISHED_DATA, Role, is_measured
from elevatorlab.judging.claims import as_text, overview, summary
from elevatorlab.judging.families import statements
from elevatorlab.judging.independence import independent
from elevatorlab.judging.multiple_testing import adjust
from elevatorlab.judging.verdicts import DECIDED, Evidence, Judgement, Verdict, compare, ordering
from elevatorlab.plugins import studies
from elevatorlab.studies.vm_vs_container.claims import JUDGES, judge
from synthetic import (
    ARMS,
    MACHINE,
    NONE_YET,
    TCG,
    TEST_1,
    TEST_2,
    VARIANTS,
    as_printed,
    deterministic,
    emulated,
    judged,
)

STUDY = "vm_vs_container"


def verdicts(table, kind=""):
    """Verdict by id (without the study) of the claims whose id contains `kind`."""
    return {
        claim.id.removeprefix(f"{STUDY}/"): claim.verdict
        for claim in judge(table)
        if kind in claim.id
    }


@pytest.fixture(scope="module")
def published_alone():
    """Judge the article without any run."""
    return judge(NONE_YET)


@pytest.fixture(scope="module")
def exact():
    """Judge a rerun that gives exactly the article's times."""
    return {claim.id.removeprefix(f"{STUDY}/"): claim for claim in judged("container", "vm")}


def test_every_number_of_the_tables_is_a_claim(published_alone):
    """80 + 8 times; 44 percentages, as measured and as the printed times give them; 4 of sums."""
    kinds = Counter(claim.id.rsplit("/", 1)[-1] for claim in published_alone)
    assert kinds["time"] == 88
    assert kinds["percentage-arithmetic"] + kinds["percentage-erratum"] == 44
    assert kinds["improvement"] == 44 + 4


def test_nothing_is_skipped(published_alone):
    """Each statement has a verdict and a reason with any table, however little it holds."""
    ids = [item.claim["id"] for item in statements(STUDY)]
    few = as_printed(arms=("host",), repetitions=1).query(
        "scheduler == 'bfq' and variant == 'direct' and published_size_mb == 50"
    )
    for found in (published_alone, judge(few), judged("host")):
        assert [claim.id for claim in found] == ids
        assert all(claim.reason for claim in found)


def test_every_judge_is_used():
    """And every name in the YAML file is a judge."""
    assert {item.judge for item in statements(STUDY)} == set(JUDGES)


def test_the_percentages_of_four_tables_follow_from_their_times(published_alone):
    """At printed precision."""
    found = [claim for claim in published_alone if "arithmetic" in claim.id]
    assert {claim.verdict for claim in found} == {Verdict.REPRODUCED}
    assert all(claim.testbed == PUBLISHED_DATA for claim in found)


def test_the_erratum_shows_both_values(published_alone):
    """Table 5 divides by the container's time, Tables 1 to 4 by the VM's."""
    found = {c.source.row: c for c in published_alone if "erratum" in c.id}
    assert {claim.verdict for claim in found.values()} == {Verdict.CONTRADICTED}
    assert all("is relative to the container's time" in claim.reason for claim in found.values())
    values = {row: (claim.published, round(claim.measured, 2)) for row, claim in found.items()}
    assert values == {
        "none": (17.9537623, 15.22),
        "mq-deadline": (21.32728511, 17.58),
        "kyber": (15.64088672, 13.53),
        "bfq": (23.37189583, 18.94),
    }


def test_what_the_tables_say_about_themselves(published_alone):
    """None is best in the VM columns; not in every row of the container's."""
    found = {claim.id.removeprefix(f"{STUDY}/"): claim for claim in published_alone}
    best = "sentence/none-was-best/writes_starving_reads/{}/printed"
    assert found[best.format("vm")].verdict == Verdict.REPRODUCED
    assert found[best.format("container")].verdict == Verdict.CONTRADICTED
    assert "kyber at 50 MB" in found[best.format("container")].reason


def test_what_nothing_was_measured_for_is_no_arithmetic(published_alone):
    """It is counted apart, and the document's own claims are as many as with a measurement."""
    counts = ["225", "45", "41", "5", "175"]
    assert re.findall(r"\d+", summary(published_alone)) == counts


#: Times that are rounded to 1 ms: the container may have been slower.
ROUNDED_AWAY = {"table-1/10mb/improvement", "table-1/30mb/improvement"}


def test_a_rerun_with_the_printed_times_reproduces_them(exact):
    """All 88 times, on the article's own scale, and the percentages that rounding leaves."""
    times = [claim for name, claim in exact.items() if name.endswith("/time")]
    assert {claim.verdict for claim in times} == {Verdict.REPRODUCED}
    assert [claim.measured for claim in times] == pytest.approx([c.published for c in times])
    percentages = {name: one for name, one in exact.items() if name.endswith("/improvement")}
    lost = {name for name, one in percentages.items() if one.verdict != Verdict.REPRODUCED}
    assert lost == ROUNDED_AWAY
    assert {percentages[name].verdict for name in lost} == {Verdict.NOT_TESTABLE}
    printed = [c for n, c in percentages.items() if n not in lost and "total" not in n]
    assert [c.measured for c in printed] == pytest.approx([c.published for c in printed], abs=0.01)


@pytest.mark.parametrize(
    "name, too_short, long_enough",
    [
        ("table-2/10mb/improvement", 1, 30),  # a read of 2 ms beside turns of 4, and of 20
        ("table-1/total/improvement", 3, 100),
        ("table-5/none/improvement", 0.01, 10),  # 300 files in a second
    ],
)
def test_a_verdict_stands_whatever_turns_and_portions_do(name, too_short, long_enough):
    found = [
        verdicts(deterministic(arms=ARMS, factor=lambda row: factor), name)[name]  # noqa: B023
        for factor in (too_short, long_enough)
    ]
    assert found == [Verdict.NOT_TESTABLE, Verdict.REPRODUCED]


def test_a_single_repetition_is_undecided_and_no_matter_of_turns():
    name = "table-2/total/improvement"
    once = deterministic(arms=ARMS, repetitions=1, factor=lambda row: 10)
    assert verdicts(once, name)[name] == Verdict.UNDECIDED


def test_schedulers_are_judged_only_where_the_device_served_requests():
    table = deterministic(arms=ARMS, factor=lambda row: 10)
    name = "table-5/bfq/container/time"
    assert verdicts(table.assign(requests=9), name)[name] == Verdict.REPRODUCED
    for served in ("dropped", None):
        requests = table["variant"].eq(served).map({True: 9, False: 0})
        assert verdicts(table.assign(requests=requests), name)[name] == Verdict.NOT_TESTABLE


def test_its_sentences_hold_where_the_tables_support_them(exact):
    """In the container, Test 1 has ties: so the sentence holds in direction only."""
    best = "sentence/none-was-best/{}/{}/dropped"
    assert exact[best.format("both_tests", "vm")].verdict == Verdict.REPRODUCED
    assert exact[best.format("both_tests", "container")].verdict == Verdict.DIRECTION_ONLY
    assert "a tie" in exact[best.format("both_tests", "container")].reason
    for test in ("writes_starving_reads", "high_read_latency"):
        assert exact[f"sentence/container-was-better/{test}/direct"].verdict == Verdict.REPRODUCED
        assert exact[f"ranking/{test}/vm/dropped"].verdict == Verdict.REPRODUCED


def test_improvements_of_smaller_files_are_not_testable():
    smaller = as_printed()
    smaller.loc[smaller["test"] == TEST_1, "size_mib"] /= 10
    name = "table-4/60mb/improvement"
    assert verdicts(smaller, name) == {name: Verdict.NOT_TESTABLE}


def test_without_a_vm_the_container_layer_is_told():
    """Not testable, but the host-container difference with its interval is there."""
    table = as_printed(
        arms=("host", "container"), factor=lambda row: 1.25 if row["arm"] == "host" else 1
    )
    by_id = {claim.id: claim for claim in judge(table)}
    claim = by_id[f"{STUDY}/table-2/40mb/improvement"]
    assert claim.verdict == Verdict.NOT_TESTABLE
    assert (
        "No VM was measured on the testbeds docker and host (arms: container, host)" in claim.reason
    )
    assert "20 % (identical in all 3 repetitions" in claim.reason
    claim = by_id[f"{STUDY}/table-2/40mb/vm/time"]
    assert claim.verdict == Verdict.NOT_TESTABLE
    assert "With the host arm in its place" in claim.reason
    assert by_id[f"{STUDY}/table-2/40mb/container/time"].verdict == Verdict.REPRODUCED


def test_sizes_and_schedulers_that_were_not_run():
    """The largest size that was read is the reference; a missing scheduler is named."""
    few = as_printed().query("published_size_mb in (10, 50) and scheduler != 'kyber'")
    by_id = {claim.id: claim for claim in judge(few)}
    assert by_id[f"{STUDY}/table-1/10mb/vm/time"].verdict == Verdict.REPRODUCED
    assert "the 50 MB file" in by_id[f"{STUDY}/table-1/10mb/vm/time"].reason
    unread = by_id[f"{STUDY}/table-1/100mb/vm/time"]
    assert unread.verdict == Verdict.NOT_TESTABLE
    assert "10 MB" in unread.reason
    claim = by_id[f"{STUDY}/sentence/none-was-best/{TEST_1}/vm/dropped"]
    assert claim.verdict == Verdict.NOT_TESTABLE
    assert "not run: Test 1: kyber / none" in claim.reason


def test_an_emulated_vm_is_compared_with_nothing_but_itself():
    """Improvements are not testable, with the reason; orders within the VM are."""
    judged = judge(emulated(as_printed(arms=ARMS)))
    found = {claim.id.removeprefix(f"{STUDY}/"): claim for claim in judged}
    apart = [c for name, c in found.items() if name.endswith("/improvement")]
    apart += [found[f"sentence/container-was-better/{TEST_1}/{variant}"] for variant in VARIANTS]
    for claim in apart:
        assert claim.verdict == Verdict.NOT_TESTABLE
        assert claim.measured is None
        assert f"the VM's processor is emulated, not virtual ({TCG})" in claim.reason
    assert "From host to container" in found["table-2/40mb/improvement"].reason
    assert found["ranking/high_read_latency/vm/dropped"].verdict == Verdict.REPRODUCED
    assert found["table-2/40mb/vm/time"].verdict == Verdict.REPRODUCED


def test_the_text_says_what_was_decided_and_counts_the_rest():
    found = judge(deterministic(jitter=0.05))
    text = as_text(found)
    measured = [claim for claim in found if is_measured(claim)]
    counts = Counter(claim.verdict for claim in measured if claim.role == Role.PREDICTION)
    assert text.startswith(f"{STUDY}: deterministic, quick\n")
    for verdict, count in counts.items():
        assert f"\npredictions: {verdict} ({count})\n" in text
    said = "No VM was measured on the testbed deterministic (arms: container, host)"
    assert said in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert "percentage-erratum" in text
    assert as_text([]) == ""


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (["a"], "1 other claim rests on the same measurement (of it)."),
        (["a", "b"], "2 other claims rest on the same measurement (of it)."),
    ],
)
def test_the_text_counts_the_claims_on_the_same_measurement(others, said):
    claim = judge(deterministic())[0]
    shared = {"shared_with": others, "cell": "of it", "verdict": Verdict.CONTRADICTED}
    assert said in " ".join(as_text([claim.model_copy(update=shared)]).split())


def test_the_overview_counts_study_by_study():
    found = judge(deterministic())
    others = [claim.model_copy(update={"study": "other"}) for claim in found[:3]]
    first, second = overview([*found, *others]).split("\n\n")
    assert first.startswith(f"{STUDY}: 225 claims\n")
    assert "Measured on the testbed deterministic with the preset quick: " in first
    assert second.startswith("other: 3 claims\n")


def test_one_read_measured_twice_is_refused():
    table = as_printed()
    with pytest.raises(ElevatorLabError, match="once per repetition"):
        judge(pd.concat([table, table.assign(image_digest="other")]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"device": "disk, ata-1"}, "disk, ata-1 and file_backed, 3072 MiB"),
        ({"size_mib": 3.5}, "MiB.: 3.5 and 50.0"),
    ],
)
def test_arms_that_read_something_else_are_refused(change, said):
    """Another device, or other sizes: no comparison at all."""
    host = as_printed(arms=("host",)).assign(**change)
    with pytest.raises(ElevatorLabError, match=said):
        judge(pd.concat([as_printed(arms=("container",)), host]))


def claims_file(folder, **family):
    """Write a study with one family."""
    (folder / "claims").mkdir(exist_ok=True)
    lines = "\n".join(f"    {key}: {json.dumps(value)}" for key, value in family.items())
    text = f"study: s\ndocument: d\nfamilies:\n  -\n{lines}\n"
    (folder / "claims" / "s.yaml").write_text(text)


SENTENCE = {
    "id": "a",
    "quantity": "q",
    "kind": "text",
    "judge": "j",
    "formula": "f",
    "role": "arithmetic of the document",
    "text": "so it is",
    "place": "p",
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tolerence": 1}, "tolerence"),
        ({"text": None}, "`implied`"),
        ({"role": "evidence"}, "role"),
        ({"kind": "speed"}, "kind"),
        ({"tolerance": 0.1}, "tolerance"),
        ({"tolerance": {"value": 0.1, "of": "share", "reason": "so"}}, "fixed"),
        ({"place": None}, "needs `place`"),
        ({"each": {"x": [1, 2]}}, "one claim per id"),
        ({"quantity": "{colour}"}, "family a: .* 'colour'"),
        ({"quantity": "{"}, "family a: "),
    ],
)
def test_a_claims_file_that_makes_no_sense_is_refused(tmp_path, change, message):
    claims_file(tmp_path, **{**SENTENCE, **change})
    with pytest.raises(ElevatorLabError, match=message):
        statements("s", tmp_path)


def test_a_claims_file_that_is_no_yaml_or_not_there_is_named(tmp_path):
    file = tmp_path / "claims/s.yaml"
    with pytest.raises(ElevatorLabError, match=re.escape(str(file))):
        statements("s", tmp_path)
    file.parent.mkdir()
    file.write_text("study: [")
    with pytest.raises(ElevatorLabError, match=re.escape(str(file))):
        statements("s", tmp_path)


def test_an_unknown_judge_is_refused(tmp_path):
    claims_file(tmp_path, **SENTENCE)
    with pytest.raises(ValueError, match="found \\['j'\\]"):
        engine.judge(statements("s", tmp_path), {}, NONE_YET)


@pytest.mark.parametrize(
    ("measured", "published", "verdict"),
    [
        (Interval(1.20, 1.19, 1.21, 3), (1.18, 1.22), Verdict.REPRODUCED),
        (Interval(1.20, 1.15, 1.25, 3), (1.18, 1.22), Verdict.DIRECTION_ONLY),
        (Interval(1.00, 0.01, 100.0, 3), (0.90, 1.10), Verdict.UNDECIDED),
        (Interval(1.50, 1.40, 1.60, 3), (1.18, 1.22), Verdict.DIRECTION_ONLY),
        (Interval(0.80, 0.70, 0.90, 3), (1.18, 1.22), Verdict.CONTRADICTED),
        (Interval(1.00, 1.00, 1.00, 3), (1.18, 1.22), Verdict.CONTRADICTED),
        (Interval(1.20, 0.70, 1.90, 3), (1.18, 1.22), Verdict.UNDECIDED),
        (Interval(1.10, 0.90, 1.30, 3), (1.18, 1.22), Verdict.UNDECIDED),
        (Interval(1.00, 0.98, 1.02, 3), (0.95, 1.05), Verdict.REPRODUCED),
        (Interval(1.50, 1.40, 1.60, 3), (0.95, 1.05), Verdict.CONTRADICTED),
        (Interval(1.20, float("nan"), float("nan"), 1), (1.18, 1.22), Verdict.UNDECIDED),
        (Interval(1.50, float("nan"), float("nan"), 1), (1.18, 1.22), Verdict.UNDECIDED),
    ],
)
def test_compare(measured, published, verdict):
    assert compare(measured, published, neutral=1, margin=0.01)[0] == verdict


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (Interval(1.0, 0.995, 1.005, 3), "contradicted"),
        (Interval(1.02, 0.98, 1.06, 3), "undecided"),
        (Interval(1.03, 1.02, 1.04, 3), "reproduced"),
    ],
)
def test_no_effect_reproduces_no_difference(measured, verdict):
    """Printed 3 % with 5 % allowed: an interval that contains no effect is within, too."""
    found = compare(measured, (1.025, 1.035), neutral=1, margin=0.01, allowed=(0.97, 1.08))
    assert found.verdict == verdict


def test_a_p_value_says_what_the_interval_says():
    """Below 0.05 exactly where the decisive bound is outside; at an end, in test_improvement."""
    ratio = geometric_interval([1.1, 1.2, 1.4])
    by_scipy = stats.ttest_1samp(np.log([1.1, 1.2, 1.4]), 0).pvalue
    assert ratio.p_value(1) == pytest.approx(by_scipy)
    found = compare(geometric_interval([1.8, 2.0, 2.2]), (1.4, 1.5), neutral=1, margin=0.01)
    assert found.verdict == Verdict.DIRECTION_ONLY
    expected = stats.ttest_1samp(np.log([1.8, 2.0, 2.2]), np.log(1.01)).pvalue  # no tie
    assert found.evidence.p_value == pytest.approx(expected)


def test_what_scatters_by_rounding_alone_has_a_p_value():
    """One end is the estimate itself."""
    rounded = Interval(20.0, 20.0, 20.000000000000004, 3)
    found = [rounded.p_value(truth) for truth in (0, 20.0, 25)]
    assert found == pytest.approx([0, 1, 0], abs=1e-9)


def test_undecided_says_how_many_repetitions_would_decide():
    """As many as make the interval of the same scatter narrow enough, and not one fewer."""
    measured = geometric_interval([1.02, 1.10, 1.30])
    found = compare(measured, (1.1, 1.2), neutral=1, margin=0.01)
    needed = found.evidence.repetitions_to_decide
    assert found.verdict == Verdict.UNDECIDED
    for count, decided in ((needed, True), (needed - 1, False)):
        more = measured.with_repetitions(count)
        again = compare(more, (1.1, 1.2), neutral=1, margin=0.01).verdict
        assert (again != Verdict.UNDECIDED) == decided


def test_claims_of_one_datum_or_of_one_measurement_are_one():
    one = judged("container", "vm")[0]
    a, b, c, d = (
        one.model_copy(update={"id": name, "datum": datum, "cell": cell})
        for name, datum, cell in (("a", "x", "1"), ("b", "x", "2"), ("c", "y", "2"), ("d", "z", ""))
    )
    same = [sum(independent(some).values()) for some in ([a], [a, b], [b, c], [a, b, c, d], [])]
    assert same == [1, 1, 1, 2, 0]
    beside = d.model_copy(update={"cell": "3", "reference_cell": "1"})
    assert [sum(independent(some).values()) for some in ([a, beside], [c, beside])] == [1, 2]
    against = c.model_copy(update={"verdict": Verdict.CONTRADICTED})
    assert independent([a, b, against, d]) == {one.verdict: 1, Verdict.CONTRADICTED: 1}
    only = b.model_copy(update={"verdict": Verdict.DIRECTION_ONLY})
    open_one = c.model_copy(update={"verdict": Verdict.UNDECIDED})
    assert independent([open_one, only]) == {Verdict.DIRECTION_ONLY: 1}
    fine = b.model_copy(update={"verdict": Verdict.REPRODUCED})
    assert independent([open_one, fine]) == {Verdict.UNDECIDED: 1}
    shared = adjust([a, b, c, d])
    assert [claim.shared_with for claim in shared] == [(), ("c",), ("b",), ()]


def test_a_calibration_is_never_reproduced(tmp_path):
    """Met or missed: verdicts of its own, and no tests."""
    claims_file(tmp_path, **{**SENTENCE, "role": "calibration"})
    judged = [
        engine.judge(
            statements("s", tmp_path),
            {
                "j": lambda item, rows, verdict=verdict: Judgement(
                    verdict, 1.0, "So.", Evidence(0.01)
                )
            },
            as_printed(),
        )[0]
        for verdict in (Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.UNDECIDED)
    ]
    found = [claim.verdict for claim in judged]
    assert found == [Verdict.CALIBRATED, Verdict.CALIBRATION_MISSED, Verdict.UNDECIDED]
    assert {claim.p_value for claim in judged} == {None}


@pytest.mark.parametrize("study", studies.STUDIES.names())
def test_what_was_chosen_has_a_reason_and_a_date(study):
    for item in statements(study):
        for chosen in (item.claim["tolerance"], item.claim["threshold"]):
            assert chosen is None or (chosen.reason and chosen.fixed <= date.today())
        datum = item.claim["datum"]
        assert datum and not re.search(r"\{\w+\}", datum), "a name that was not filled in"
        assert "calibration" not in item.claim["formula"].lower()


def test_ordering_reaches_each_verdict():
    """From the pairs' sides and whether a tie excludes the published ratio."""
    above, below = Interval(1.2, 1.1, 1.3, 3), Interval(0.8, 0.7, 0.9, 3)
    tie, unsure = Interval(1.0, 1.0, 1.0, 3), Interval(1.2, 0.8, 1.8, 3)
    for ratios, excluded, verdict in [
        ([above, above], False, Verdict.REPRODUCED),
        ([above, tie], True, Verdict.DIRECTION_ONLY),
        ([above, below], False, Verdict.CONTRADICTED),
        ([tie, tie], True, Verdict.CONTRADICTED),
        ([tie, tie], False, Verdict.UNDECIDED),
        ([tie, unsure], True, Verdict.UNDECIDED),
    ]:
        pairs = {str(place): (ratio, excluded) for place, ratio in enumerate(ratios)}
        assert ordering(pairs, margin=0.01)[0] == verdict


def test_variants_of_the_table_and_the_claims_agree():
    """A variant that no claim names would never be judged."""
    named = {item.select.get("variant") for item in statements(STUDY)} - {None}
    assert named == set(VARIANTS)


def test_one_verdict_for_each_machine_and_preset():
    """Never pooled; the arms of a machine are compared; the document is judged once."""
    runs = pd.concat(
        [
            as_printed(arms=ARMS),
            as_printed(arms=ARMS, preset="quick"),
            as_printed(arms=ARMS, machine="fedcba9876543210"),
            deterministic(),
        ]
    )
    found = Counter((claim.testbed, claim.machine, claim.preset) for claim in judge(runs))
    document = found.pop((PUBLISHED_DATA, "", ""))
    everything = "docker+host+vagrant"
    assert found == dict.fromkeys(
        [
            (everything, MACHINE, "full"),
            (everything, MACHINE, "quick"),
            (everything, "fedcba9876543210", "full"),
            ("deterministic", "deterministic", "quick"),
        ],
        225 - document,
    )


def test_a_seed_of_noise_does_not_matter_but_a_lot_does():
    """The same jitter for all cancels in pairs; the shape is still there."""
    paired = verdicts(as_printed(jitter=0.2), "ranking/high_read_latency/vm/dropped")
    assert set(paired.values()) == {Verdict.REPRODUCED}

    spread = {"none": (1, 1.5, 1), "mq-deadline": (1.5, 1, 1), "kyber": (1, 1, 1.5)}

    def unpaired(row):
        return spread.get(row["scheduler"], (1.3, 1.6, 1))[row["repetition"] - 1]

    noisy = verdicts(as_printed(factor=unpaired), "ranking/high_read_latency/vm/dropped")
    assert set(noisy.values()) == {Verdict.UNDECIDED}


def test_the_same_order_with_other_sizes_is_direction_only():
    """Differences several times as large as printed."""
    wider = as_printed(factor=lambda row: 3 if row["scheduler"] == "bfq" else 1)
    assert verdicts(wider, "table-5/bfq/vm/time") == {"table-5/bfq/vm/time": "direction only"}
    slower = as_printed(factor=lambda row: 2 if row["arm"] == "vm" else 1)
    assert verdicts(slower, "table-5/none/improvement") == {
        "table-5/none/improvement": "direction only"
    }


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (["as_published"], Verdict.NOT_TESTABLE),
        (["as_published", "dropped", "direct"], Verdict.CONTRADICTED),
        (["dropped"], Verdict.NOT_TESTABLE),
    ],
)
def test_test_2_is_contradicted_only_where_no_state_of_the_cache_explains_it(states, verdict):
    """bfq as fast as the fastest, in some states."""
    table = as_printed()
    fast = table["variant"].isin(states) & (table["test"] == TEST_2)
    table.loc[fast, "time_s"] = (
        table.loc[fast].groupby(["arm", "repetition"])["time_s"].transform("min")
    )
    name = "table-5/bfq/container/time"
    assert verdicts(table, name) == {name: verdict}


def test_a_measurement_can_contradict():
    """none the slowest, and containers slower than the VM."""
    none_last = as_printed(factor=lambda row: 3 if row["scheduler"] == "none" else 1)
    found = verdicts(none_last, "sentence/none-was-best/high_read_latency")
    printed = {name for name in found if name.endswith("printed")}
    assert {found[name] for name in found if name not in printed} == {Verdict.CONTRADICTED}
    assert verdicts(none_last, "table-5/bfq/vm/time") == {"table-5/bfq/vm/time": "contradicted"}

    containers_slow = as_printed(factor=lambda row: 30 if row["arm"] == "container" else 1)
    improvements = verdicts(containers_slow, "/improvement")
    assert {improvements.pop(name) for name in ROUNDED_AWAY} == {Verdict.NOT_TESTABLE}
    assert set(improvements.values()) == {Verdict.CONTRADICTED}
    better = verdicts(containers_slow, "sentence/container-was-better")
    assert Verdict.CONTRADICTED in better.values()


def test_schedulers_that_make_no_difference_contradict_the_sentence():
    """All pairs tie, with intervals that exclude a difference."""
    table = as_printed()
    table["time_s"] = table["size_mib"] / 1000
    found = verdicts(table, "sentence/none-was-best/both_tests")
    assert set(found.values()) == {Verdict.CONTRADICTED}
    assert verdicts(table, "ranking/high_read_latency/vm")[
        "ranking/high_read_latency/vm/direct"
    ] == (Verdict.CONTRADICTED)


def test_one_repetition_calls_no_order():
    """Nor a value: one repetition does not say how far off it may be."""
    once = as_printed(repetitions=1)
    assert Verdict.UNDECIDED in verdicts(once, "ranking").values()
    assert not set(verdicts(once, "ranking").values()) & set(DECIDED)
    assert set(verdicts(once, "/vm/time").values()) == {Verdict.UNDECIDED}


def test_arms_of_two_machines_are_not():
    """The VM ran elsewhere."""
    elsewhere = as_printed(arms=("vm",), machine="fedcba9876543210")
    runs = judge(pd.concat([as_printed(arms=("host", "container")), elsewhere]))
    found = {c.testbed: c for c in runs if c.id == f"{STUDY}/table-2/40mb/improvement"}
    assert {claim.verdict for claim in found.values()} == {Verdict.NOT_TESTABLE}
    assert "No VM was measured on the testbeds docker and host" in found["docker+host"].reason
    assert "No container was measured on the testbed vagrant" in found["vagrant"].reason


def test_a_stable_order_is_told_and_an_unstable_one_is_not_called_one():
    name = f"{STUDY}/ranking/high_read_latency/vm/dropped"
    reason = {claim.id: claim for claim in judged("container", "vm")}[name].reason
    assert "100% keep the order none < mq-deadline < kyber < bfq (decided)" in reason
    once = {claim.id: claim for claim in judge(as_printed(repetitions=1))}[name].reason
    assert "One repetition says nothing" in once
