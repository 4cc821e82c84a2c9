"""How each claim of the document is judged; the claims are in data/claims/stream_batching.yaml.

A judging function takes a statement and the measured rows of one run. Only ratios are compared
with the document: SBQ relative to noop at the same point, or a curve relative to its own reference
point. The value shown as measured is the rate or time itself, which nothing is scaled to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any

import pandas as pd

from ...analysis.intervals import Interval
from ...judging import engine
from ...judging.claim import Claim, Constant
from ...judging.constants import TIES, DecidedBy
from ...judging.engine import Judge
from ...judging.families import Statement, statements
from ...judging.verdicts import (
    TIE_MARGIN,
    Held,
    Judgement,
    Verdict,
    compare,
    excluding,
    not_testable,
    sentence,
    six_digits,
    undecided,
    widened,
)
from ...plugins.profiles import PROFILES
from ..kit.cells import once_a_table, paired_ratio
from ..kit.choices import Choice, compared_with, whichever
from ..kit.turns import one_way
from .columns import TABLE, WHERE
from .document import core_ratios, gone, gone_from, size_ratios
from .measures import (
    FULL_DEPTH,
    FULL_RAM_DEPTH,
    FULL_SSD_DEPTH,
    MEAN,
    P99,
    READ_PERCENT,
    THROUGHPUT,
    apart,
    at,
    cell_of,
    cores_in,
    gain,
    gains,
    limit_kiops,
    peak,
    scale_of,
    shared,
    times,
    where_of,
    words,
)
from .published import (
    BAR_STEP,
    GBPS_STEP,
    KIB_BITS,
    KIOPS_STEP,
    LATENCY_STEP_US,
    LINK_GBPS,
    NAME,
    NOOP,
    POINT_STEP,
    SBQ,
    SCHEDULER,
    gain_by_depth,
    noop_beside,
    published_at,
    request_size,
    single_core_latency,
)
from .trials import CORES_OF_SIZES, FEWEST_FOR_P99, LINKED_KIB, LOCAL, PROFILE, REQUEST_KIB

# Points of the document's curves: SBQ relative to noop, and noop's own shape.

_ONE_CORE = "Here, only one core was measured; the document's curves go on to several cores."


def _point_gain(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge a point of SBQ's curve by its ratio to noop's point."""
    row = item.select
    column, quantity, step = _quantity(row)
    noop = noop_beside(row, quantity)
    if noop is None:
        return not_testable("The document shows no noop at this point to compare with.")
    where = where_of(row, table)
    if column == P99 and (few := _too_few(table, where, "none", "sbq")):
        return not_testable(few)
    if refused := _one_way(table, **where):
        return refused
    found = _in_unit(at(table, column, scheduler="sbq", **where), column)
    return _held_against(item, gain(table, column, **where), noop, step, where, found)


def _quantity(row: Mapping[str, Any]) -> tuple[str, str, float]:
    """Return the measured column, the published one, and the resolution of its reading."""
    return {
        "throughput": (THROUGHPUT, "throughput_kiops", POINT_STEP),
        "mean": (MEAN, "latency_us", LATENCY_STEP_US),
        "p99": (P99, "latency_us", LATENCY_STEP_US),
    }[row["of"]]


def _too_few(table: pd.DataFrame, where: Mapping[str, Any], *schedulers: str) -> str:
    """Say that there are too few requests for a 99th percentile; empty if there are enough."""
    counts = [at(table, "requests", **{**where, "scheduler": name}) for name in schedulers]
    fewest = min((count.min() for count in counts if len(count)), default=FEWEST_FOR_P99)
    if fewest >= FEWEST_FOR_P99:
        return ""
    return (
        f"Only {fewest:g} requests were measured at this point ({words(where)}). With fewer than "
        f"{FEWEST_FOR_P99}, all may be below the 99th percentile. A preset with a longer window "
        "measures more."
    )


def _in_unit(values: pd.Series[float], column: str) -> pd.Series[float]:
    """Return measured values in the unit of the published ones: kIOPS, or microseconds."""
    return values / 1000 if column == THROUGHPUT else values


def _held_against(
    item: Statement,
    measured: Interval | None,
    beside: float | None,
    step: float,
    where: Mapping[str, Any],
    found: pd.Series[float],
    relative_to: str = "noop",
) -> Judgement:
    """Compare a measured ratio with the published ratio, which is `item.number` / `beside`.

    `beside`: Published value of the reference; None if the document shows none. `step`: Resolution
    of the reading of both published values. `found`: What was measured, in the unit of the
    published value. `relative_to`: What the ratio is relative to, in words.
    """
    if measured is None or beside is None:
        return not_testable(f"Not run here together with {relative_to} ({words(where)}).")
    published = item.number / beside
    low, high = (item.number - step) / (beside + step), (item.number + step) / (beside - step)
    tolerance = item.tolerance
    allowed = widened((low, high), tolerance)
    verdict, why, evidence = _held(measured, (low, high), allowed, published)
    reason = (
        f"Measured: {measured.text()}. Published: {published:.3g}; reading error and a tolerance "
        f"of {tolerance:.0%} allow {allowed[0]:.3g} to {allowed[1]:.3g}. {sentence(why)}. The "
        f"trials had the {words(where)}."
    )
    return Judgement(
        verdict, six_digits(found.mean()), reason, evidence, cell_of(where), relative_to
    )


def _held(
    measured: Interval, printed: tuple[float, float], allowed: tuple[float, float], published: float
) -> Held:
    """Compare a ratio with what the document may show.

    A published ratio up to `gone` claims no direction. One whose tolerance reaches to the other
    side of 1 does, but what is within that tolerance does not contradict it.
    """
    either = min(printed[0], 1), max(printed[1], 1)
    judged = partial(compare, measured, neutral=1, margin=TIE_MARGIN, allowed=allowed)
    if 1 / gone() <= published <= gone():
        return judged(either)
    found = judged(printed)
    within = found.verdict == Verdict.CONTRADICTED and allowed[0] <= measured.value <= allowed[1]
    if not within:
        return found
    why = "the tolerance leaves open in which direction the document would differ again"
    return Held(Verdict.UNDECIDED, why, found.evidence._replace(p_value=1.0))


_REFERENCE_DEPTH = 64
"""Depth of the reference point of noop's curve."""

_IS_REFERENCE = "This point is the reference of the other points of noop in its figure."


def _noop_shape(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge a point of noop's curve by its ratio to the reference point of the same curve."""
    row = item.select
    reference = {**row, "io_depth": _REFERENCE_DEPTH}
    column, quantity, step = _quantity(row)
    if row == reference:
        return not_testable(_IS_REFERENCE)
    here, there = ({**where_of(one, table), "scheduler": "none"} for one in (row, reference))
    if column == P99 and (few := _too_few(table, here, "none") or _too_few(table, there, "none")):
        return not_testable(few)
    one, other = at(table, column, **here), at(table, column, **there)
    ratio = paired_ratio(one, other)
    if ratio is None:
        return not_testable(f"Not run here together with its reference ({words(here)}).")
    printed, found = noop_beside(reference, quantity), _in_unit(one, column)
    beside = f"depth {_REFERENCE_DEPTH}"
    return _held_against(item, ratio, printed, step, here, found, beside)


def _cores(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge a point of Figures 3 and 4 where host and target share the processors: of one core."""
    row = item.select
    if row["cores"] > 1 or row["scheduler"] != SBQ:
        return _needs_cores(item, table)
    where = where_of(row, table)
    beside = noop_beside(row, "throughput_kiops")
    found = _in_unit(at(table, THROUGHPUT, scheduler="sbq", **where), THROUGHPUT)
    return _held_against(item, gain(table, **where), beside, KIOPS_STEP, where, found)


def _needs_cores(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge nothing that the document measured on several cores."""
    return not_testable(_ONE_CORE)


# Whole curves: peaks, crossings, and where a gain ends.


def _peak_ratio(item: Statement, table: pd.DataFrame) -> Judgement:
    row = item.select
    where = where_of(row, table)
    table_of_peaks = single_core_latency()
    printed = table_of_peaks[table_of_peaks["target"] == row["target"]]
    printed = printed.groupby("scheduler")["throughput_kiops"].max()
    if refused := _one_way(table, **where):
        return refused
    own, noop = (peak(table, scheduler=name, **where) for name in ("sbq", "none"))
    item, ratio = item._replace(published=printed[SBQ]), paired_ratio(own, noop)
    found = _in_unit(own, THROUGHPUT)
    return _held_against(item, ratio, printed[NOOP], POINT_STEP, where, found)


def _latency_price(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge the latency at depth 1, where each request waits for others that do not come."""
    row = {**item.select, "io_depth": 1}
    where = where_of(row, table)
    printed = single_core_latency().query("io_depth == 1 and latency_kind == 'mean'")
    printed = printed[printed["target"] == row["target"]].set_index("scheduler")["latency_us"]
    item = item._replace(published=float(printed[SBQ]))
    measured, found = gain(table, MEAN, **where), at(table, MEAN, scheduler="sbq", **where)
    return _held_against(item, measured, float(printed[NOOP]), LATENCY_STEP_US, where, found)


def _crossing(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge between which depths, of those that the document shows, SBQ passes noop for good."""
    row = item.select
    where = where_of(row, table)
    shown = gain_by_depth(single_core_latency(), row["target"])
    printed = crossing(dict(zip(shown.index.astype(float), shown - 1, strict=True)))
    found = {depth: one for depth, one in gains(table, "depth", **where) if depth in shown.index}
    if len(found) < 2:
        return not_testable(f"Fewer than two depths were run ({words(where)}).")
    found = {depth: ratio for depth, ratio in found.items() if ratio.bounded}
    if len(found) < 2:
        return undecided(f"One repetition does not decide it ({words(where)}).", needed=2)
    sides = {depth: ratio.direction(1, 0) or 0 for depth, ratio in found.items()}
    ratios = ", ".join(f"{depth:g}: {ratio.text()}" for depth, ratio in found.items())
    said = f"SBQ / noop by depth: {ratios}; published: between {_between(printed)}. {words(where)}."
    here = crossing(sides)
    if here is None:
        never = sides[max(sides)] < 0 or min(sides.values()) > 0  # or it is never behind
        verdict = Verdict.CONTRADICTED if never else Verdict.UNDECIDED
        within = tuple(depth for depth, side in sides.items() if side)
    else:
        verdict, within = _of_ranges(here, printed), here
    measured = f"between {_between(here)}" if here else "no crossing"
    if verdict == Verdict.UNDECIDED:
        return undecided(said, measured)
    sides_of = [excluding(found[depth], (1.0,)) for depth in within]
    weakest = max(sides_of, key=lambda one: one.p_value or 0)
    last, first = (cell_of({**where, "depth": depth}) for depth in (within[-1], within[0]))
    return Judgement(verdict, measured, said, weakest, cell=last, reference_cell=first)


def _of_ranges(here: tuple[float, float], printed: tuple[float, float] | None) -> Verdict:
    """Compare the range of depths in which the curves cross here with the document's."""
    if printed is None or here[1] <= printed[0] or printed[1] <= here[0]:
        return Verdict.DIRECTION_ONLY
    inside = printed[0] <= here[0] and here[1] <= printed[1]
    return Verdict.REPRODUCED if inside else Verdict.UNDECIDED


def crossing(sides: Mapping[float, float]) -> tuple[float, float] | None:
    """Return the last depth at which a ratio is below 1, and the first from which on it is above.

    `sides`: By depth, positive above 1, negative below, and 0 where an interval leaves that open.
    None if the ratio does not pass 1 for good.

    >>> crossing({1: -1, 8: -1, 16: 0, 32: 1, 64: 1})
    (8, 32)
    """
    depths = sorted(sides)
    below = [depth for depth in depths if sides[depth] < 0]
    above = [depth for depth in depths if all(sides[one] > 0 for one in depths if one >= depth)]
    return (below[-1], above[0]) if below and above else None


def _between(pair: tuple[float, float] | None) -> str:
    return "no depths" if pair is None else f"{pair[0]:g} and {pair[1]:g}"


def _local_loss(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge the negative control: without a network, a batch can save nothing."""
    row = item.select
    where = {"target": row["target"], "driver": LOCAL, "time_scale": scale_of(table)}
    measured = gain(table, **where)
    if measured is None:
        return not_testable("Not run here (experiment local).")
    low, high = row["range"]["low"], row["range"]["high"]
    verdict, why, evidence = compare(measured, (low, high), neutral=1, margin=TIE_MARGIN)
    reason = (
        f"SBQ / noop without a network: {measured.text()}; said: {low:g} to {high:g}: {why}. "
        f"{times(where['time_scale'])}."
    )
    return Judgement(verdict, float(f"{measured.value:.4g}"), reason, evidence)


# Figures 3 to 6 where host and target had several cores of their own. As everywhere, only ratios
# are compared with the document: SBQ relative to noop on the same cores, or noop relative to the
# reference point of its curve. Repetitions differ in how emulated cores take turns: `kit.turns`.


def _on_cores(judge: Judge, of_one_core: Judge) -> Judge:
    """Let a claim be judged by the rows in which host and target have cores of their own.

    Without such rows, the claim is judged by `of_one_core`.
    """

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        measured = apart(table)
        if measured.empty:
            return of_one_core(item, table)
        return judge(item, measured)

    return judged


def _on_one_core(judge: Judge) -> Judge:
    """Let a claim about one core be judged by the rows in which host and target share it.

    Without such rows, it is judged by the rows with one core for each side.
    """

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        if not (sharing := shared(table)).empty:
            return judge(item, sharing)
        own = table[table["cores"] == 1]
        unscaled = item.select.get("scale") == "unscaled"
        if own.empty or (unscaled and 1 not in set(own["time_scale"])):
            return not_testable("Not run here with one core for the host and one for the target.")
        return _on(1, judge(item, own))

    return judged


_RIG = Choice(
    "The document's host and target have a processor each and a link, of which each rig here lacks "
    "one with requests of 4 KiB",
    "rig",
)
_SHARED_CPU = "with a shared processor and a link"
_OWN_CPUS = "with a processor each and no link"


def _by_depth(judge: Judge) -> Judge:
    """Let a claim about one core be judged in both rigs, or in one where only that one matters.

    Where host and target share a processor, they have a link; where each has a processor of its
    own, they have none. With a full queue, a link's delay takes no part, and what it costs to
    emulate the link is no cost of the document's: the second rig is like the document's. With fewer
    requests in flight, no rig decides alone, even where the other one has too few requests to tell.
    """
    otherwise = _on_one_core(judge)

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        alike, driver = shared(table), item.select["driver"]
        own = table[(table["cores"] == 1) & (table["driver"] == driver)]
        if item.select.get("scale") == "unscaled" or own.empty:
            return otherwise(item, table)
        apart_of_it = _on(1, judge(item, own))
        is_full = item.select.get("io_depth", math.inf) >= FULL_DEPTH[item.select["target"]]
        if is_full or alike.empty:
            named = compared_with(_OWN_CPUS, apart_of_it)
            return apart_of_it._replace(evidence=apart_of_it.evidence._replace(compared=named))
        both = {_SHARED_CPU: judge(item, alike), _OWN_CPUS: apart_of_it}
        return whichever(both, _RIG, len(both))

    return judged


def _one_way(table: pd.DataFrame, **where: Any) -> Judgement | None:
    """Refuse emulated processors that all took turns in one way at a point; None if they did not.

    Repetitions count that have both SBQ and noop there. On a real machine there is nothing to vary.
    """
    both = [at(table, "repetition", **{**where, "scheduler": one}) for one in ("sbq", "none")]
    rows = table[table["repetition"].isin(set(both[0]) & set(both[1]))]
    return one_way(rows)


def _point_apart(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge a point of Figures 3 to 6."""
    # The published table of Figure 6 does not give the number of cores in each row.
    row = {"cores": CORES_OF_SIZES, **item.select}
    there, cores = cores_in(table), row["cores"]
    if cores not in there:
        return not_testable(f"Not run here on {cores} cores, but on {', '.join(map(str, there))}.")
    where = where_of(row, table)
    column, step = _column(row)
    per_unit = 1e9 / KIB_BITS if column == "throughput_gbps" else 1000
    rows = _of(table, cores)
    if row["scheduler"] == SBQ:
        if refused := _one_way(rows, **where):
            return refused
        if unlike := _unlike(table, row, NOOP) or _unlike(table, row, SBQ) or _full(table, row):
            return not_testable(unlike)
        beside = noop_beside(row, column)
        ratio, found = gain(rows, **where), _rate(table, row, "sbq") / per_unit
        return _on(cores, _held_against(item, ratio, beside, step, where, found))
    reference, called = _reference(row)
    if reference == row:
        return not_testable(_IS_REFERENCE)
    if unlike := _unlike(table, row, NOOP) or _unlike(table, reference, NOOP):
        return not_testable(unlike)
    rate, printed = _rate(table, row), noop_beside(reference, column)
    ratio, found = paired_ratio(rate, _rate(table, reference)), rate / per_unit
    return _on(cores, _held_against(item, ratio, printed, step, where, found, called))


def _of(table: pd.DataFrame, cores: int) -> pd.DataFrame:
    return table[table["cores"] == cores]


def _rate(table: pd.DataFrame, row: Mapping[str, Any], scheduler: str = "none") -> pd.Series[float]:
    """Return a rate at a point, by repetition: in requests/s, for Figure 6 in KiB/s."""
    where = {**where_of(row, table), "scheduler": scheduler}
    request_kb: float = row.get("request_kb", 1)
    return at(_of(table, row["cores"]), THROUGHPUT, **where) * request_kb


def _column(row: Mapping[str, Any]) -> tuple[str, float]:
    """Return the published column of a point, and the resolution of its reading."""
    if "request_kb" in row:
        return "throughput_gbps", GBPS_STEP
    return "throughput_kiops", BAR_STEP if "read_percent" in row else KIOPS_STEP


def _reference(row: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the reference point of noop's curve, and what it is called."""
    if "request_kb" in row:
        kib = 4 if row["request_kb"] < LINKED_KIB else LINKED_KIB
        return {**row, "request_kb": kib}, f"{kib} KiB"
    if "read_percent" in row:
        return {**row, "read_percent": 100}, "reads only"
    return {**row, "cores": 1}, "1 core"


FULL_SHARE = 0.9
"""Of what a link or an SSD can carry: with more, it and not the processors decides."""


def _unlike(table: pd.DataFrame, row: Mapping[str, Any], scheduler: str) -> str:
    """Say that a link or an SSD is full at a point of the document and not here, or only here.

    Then one shows what the scheduler does, and the other how much the link or SSD carries. Empty
    where both are full, or neither.
    """
    there, here = _shares(table, row, scheduler)
    if min(there, here) < FULL_SHARE <= max(there, here):
        return (
            f"{_what_fills(row)} is full in one of the two and not in the other: {scheduler} takes "
            f"{there:.1%} of what it carries in the document, and {here:.1%} here."
        )
    return ""


def _full(table: pd.DataFrame, row: Mapping[str, Any]) -> str:
    """Say that SBQ fills a link or an SSD in the document and here; empty where it does not.

    What these carry is modelled after the document, and noop's rate is calibrated. So the ratio
    holds whatever SBQ does, as long as it does enough.
    """
    if not all(share >= FULL_SHARE for share in _shares(table, row, SBQ)):
        return ""
    return (
        f"{_what_fills(row)} is full with SBQ, here as in the document. So SBQ / noop says how "
        "much it carries beside noop's calibrated rate, and not what SBQ gains."
    )


def _what_fills(row: Mapping[str, Any]) -> str:
    return "The SSD" if row["target"] == "nvme_ssd" else "The link"


def _shares(table: pd.DataFrame, row: Mapping[str, Any], scheduler: str) -> tuple[float, float]:
    """Return a scheduler's part of what the link or the SSD carries: in the document, and here."""
    column, _ = _column(row)
    printed = published_at({**row, "scheduler": scheduler}, column) or math.nan
    rate = _rate(table, row, SCHEDULER[scheduler]).mean() * (scale_of(table) or 1)
    if row["target"] == "nvme_ssd":
        there, here = _limits_of_ssd(row)
        return printed / there, rate / here
    kib = row.get("request_kb", REQUEST_KIB)
    gbps = printed if "request_kb" in row else printed * 1000 * kib * KIB_BITS / 1e9
    # Smaller requests have no link here, so none is full.
    here = rate / _most_kib_s(table, row) if kib >= LINKED_KIB else 0.0
    return gbps / _most_gbps(row), here


def _most_kib_s(table: pd.DataFrame, row: Mapping[str, Any]) -> float:
    """Return the most that the link carries here, of reads, of writes, or of a mix, in KiB/s.

    That is the highest rate that was measured with a link, since messages, too, take a part of the
    link's own rate; but at least `FULL_SHARE` of that, as all requests may be small.
    """
    rows = _of(table, row["cores"])
    rows = rows[(rows["request_kib"] >= LINKED_KIB) & (rows["read_percent"] == _reads(row))]
    most = (rows[THROUGHPUT] * rows["request_kib"]).max() * (scale_of(table) or 1)
    own = LINK_GBPS * 1e9 / KIB_BITS
    return min(max(float(most), FULL_SHARE * own), own)


def _reads(row: Mapping[str, Any]) -> float:
    """Return the percentage of reads at a point."""
    percent: float = READ_PERCENT[row["operation"]] if "operation" in row else row["read_percent"]
    return percent


def _most_gbps(row: Mapping[str, Any]) -> float:
    """Return the most that the document's link carries of reads or of writes, or of a mix of both.

    With writes, both curves of Figure 6 end at 85 to 89 of 100 Gb/s.
    """
    shown = request_size().groupby("operation")["throughput_gbps"].max()
    return float(shown["randread"] if _reads(row) else shown["randwrite"])


def _limits_of_ssd(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return what the document's SSD does at a point, in kIOPS, and the model here, in requests/s.

    The document shows its SSD full with reads and with writes. A mix takes the time of its parts,
    or what the document shows if that is less: SBQ's bars are as low with a mix as with writes.
    """
    reads = _reads(row)
    parts = {"randread": reads / 100, "randwrite": 1 - reads / 100}
    printed = 1 / sum(part / limit_kiops("nvme_ssd", of) for of, part in parts.items())
    if 0 < reads < 100:
        bars = (published_at({**row, "scheduler": one}, "throughput_kiops") for one in (NOOP, SBQ))
        printed = min(printed, max(bar for bar in bars if bar is not None))
    model = PROFILES.get(PROFILE["nvme_ssd"]).bandwidth_mib_s
    return printed, model * 1024 / REQUEST_KIB


def _on(cores: int, judgement: Judgement) -> Judgement:
    words_of = "1 core" if cores == 1 else f"{cores} cores"
    said = f"{words_of} of the host, as many of the target: {judgement.reason}"
    cell, reference = (
        f"{one}, {words_of}" if one else "" for one in (judgement.cell, judgement.reference_cell)
    )
    return judgement._replace(reason=said, cell=cell, reference_cell=reference)


def _gain_is_gone_apart(item: Statement, table: pd.DataFrame) -> Judgement:
    """Find the number of cores, among those that ran, from which on SBQ is no faster than noop."""
    case = {**item.select["case"], "driver": item.select["driver"], "scheduler": NOOP}
    where = where_of({name: case[name] for name in ("target", "operation", "driver")}, table)
    found = {float(cores): gain(_of(table, cores), **where) for cores in cores_in(table)}
    shown = core_ratios(case["target"], case["operation"])
    return _end(found, shown, words(where))


def _gain_is_gone_by_size_apart(item: Statement, table: pd.DataFrame) -> Judgement:
    """Find the size, among those that ran, from which on SBQ is no faster than noop."""
    case = {**item.select["case"], "driver": item.select["driver"]}
    where = where_of({name: case[name] for name in ("target", "operation", "driver")}, table)
    rows = _of(table, case["cores"])
    found = dict(gains(rows, "request_kib", **where))
    shown = size_ratios(case["operation"])
    lacking = [f"{kib:g}" for kib in shown.index if kib not in found]
    if lacking:
        return not_testable(f"Not run here with {', '.join(lacking)} KiB ({words(where)}).")
    for kib in shown.index:
        point = {**case, "table": case["place"], "scheduler": NOOP, "request_kb": kib}
        if refused := _one_way(rows, request_kib=kib, **where):
            return refused
        if unlike := _unlike(table, point, NOOP):
            return not_testable(f"With {kib:g} KiB: {unlike}")
    return _end(found, shown, words(where), "KiB")


def _end(
    found: Mapping[float, Interval | None], shown: pd.Series, said: str, unit: str = "cores"
) -> Judgement:
    """Compare the number from which on there is no gain with the document's.

    Of either it is a range. The document's curve `shown` met noop's where it did, or where a
    repetition might have. What was `found` has intervals. An end that was not reached is infinite.
    """
    ratios = {cores: one for cores, one in found.items() if one is not None}
    last = int(shown.index[-1])
    printed = _range_of_ends(shown, shown, 1.0)
    needed = last if math.isinf(printed[0]) else int(printed[0])
    if len(ratios) < 2 or max(ratios) < needed:
        ran = ", ".join(f"{one:g}" for one in ratios) or "none"
        return not_testable(
            f"A verdict needs a run with {needed} {unit}; SBQ and noop both ran here with: {ran}. "
            f"{said}."
        )
    if not all(one.bounded for one in ratios.values()):
        return undecided(f"One repetition does not decide it ({said}).")
    lows, highs = (
        pd.Series({cores: getattr(one, end) for cores, one in ratios.items()})
        for end in ("low", "high")
    )
    here = _range_of_ends(lows, highs, gone())
    shown_here = ", ".join(f"{one:g}: {ratio.text()}" for one, ratio in ratios.items())
    reason = (
        f"SBQ / noop by {unit}: {shown_here}. {unit} from which on its gain is {gone():.3f} or "
        f"less: {_ends(here)}; published: {_ends(printed)}. {said}."
    )
    if printed[0] <= here[0] and here[1] <= printed[1]:
        return Judgement(Verdict.REPRODUCED, _ends(here), reason)
    if here[1] < printed[0] or printed[1] < here[0]:
        return Judgement(Verdict.CONTRADICTED, _ends(here), reason)
    return undecided(reason, _ends(here))


def _range_of_ends(lows: pd.Series, highs: pd.Series, most: float) -> tuple[float, float]:
    """Return the first and the last number from which on there may be no gain.

    Ratios of `lows` up to `gone` may be no gain; ratios of `highs` up to `most` surely are none.
    """
    first, last = gone_from(lows), gone_from(highs, most)
    return first or math.inf, last or math.inf


def _ends(ends: tuple[float, float]) -> str:
    words_of = ["none of them" if math.isinf(end) else f"{end:g}" for end in dict.fromkeys(ends)]
    return " or ".join(words_of)


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every point of the document its verdict.

    `measured`: The study's tidy table (`columns.TABLE`); empty for published data alone. Returns:
    Each claim about the document once; each other claim once per machine and preset.
    """
    TABLE.expect_columns(measured, "measured table")
    where = ["machine", "preset", "testbed", "target", "driver", "time_scale", "scheduler"]
    where += ["cores", "batch_nr", "batch_timeout_us", *WHERE, "repetition"]
    engine.expect_once(measured, where, "each point once per repetition")
    return engine.judge(statements(NAME), JUDGES, measured, _DECIDED_BY)


def _once(judge: Judge) -> Judge:
    """Let a claim about unscaled times be judged only if the run has scaled times, too.

    Otherwise, it would be the same as the claim about scaled times.
    """

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        if item.select.get("scale") == "unscaled" and set(table["time_scale"]) == {1}:
            return not_testable(
                "No times are scaled on this machine, so this claim is the same as the one about "
                "scaled times."
            )
        return judge(item, table)

    return judged


LEAST_IN_FLIGHT, MOST_IN_FLIGHT = 0.9, 1.03
"""Bounds of throughput x mean latency, relative to the depth, in the steady state.

By Little's law it is the mean number of requests in flight. What fio itself does between two
requests is missing: up to 5 % in windows of more than twenty turnarounds. The shortest window has
32 ms, and fio says 33 or 34: it rounds up to whole milliseconds. At depth 1, nothing else is in
flight that could be unsteady."""


@once_a_table
def _steady_rows(table: pd.DataFrame) -> pd.DataFrame:
    in_flight = table["in_flight_ratio"].between(LEAST_IN_FLIGHT, MOST_IN_FLIGHT)
    return table[in_flight | (table["depth"] == 1)]


def _steady(judge: Judge) -> Judge:
    """Judge a claim by the rows alone that were measured in the steady state."""

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        steady = _steady_rows(table)
        judgement = judge(item, steady)
        if judgement.verdict != Verdict.NOT_TESTABLE or len(steady) == len(table):
            return judgement
        whole = judge(item, table)
        if whole.verdict == Verdict.NOT_TESTABLE:
            return whole
        return not_testable(
            "The rows were not measured in the steady state: by Little's law, the requests in "
            f"flight are not {LEAST_IN_FLIGHT:g} to {MOST_IN_FLIGHT:g} times the depth "
            "(in_flight_ratio)."
        )

    return judged


_POINTS = ("point_gain", "noop_shape")
_OF_DEPTH = ("point_gain", "peak_ratio")

_OF_ONE_CORE: dict[str, Judge] = {
    "point_gain": _point_gain,
    "noop_shape": _noop_shape,
    "cores": _cores,
    "many_cores": _needs_cores,
    "peak_ratio": _peak_ratio,
    "latency_price": _latency_price,
    "crossing": _crossing,
    "gain_is_gone": _needs_cores,
    "gain_is_gone_by_size": _needs_cores,
    "local_loss": _local_loss,
}
"""For rows in which host and target share their processors, or are two machines. Where a run has
none, all except those of `_APART` also judge rows in which both have cores of their own."""

_DECIDED_BY: DecidedBy = {
    TIES: (*_POINTS, "cores", "many_cores", "peak_ratio", "latency_price", "local_loss"),
    Constant(
        name="FEWEST_FOR_P99",
        value=FEWEST_FOR_P99,
        of="requests at least behind a 99th percentile",
        reason="so many have one above it in 95 of 100 cases",
        fixed=date(2026, 11, 21),
    ): _POINTS,
    Constant(
        name="LEAST_IN_FLIGHT",
        value=LEAST_IN_FLIGHT,
        of="of the depth at least is in flight in a row that is judged",
        reason="what fio itself does between two requests takes up to 5 %, and fio says that the "
        "shortest window lasts up to 6 % longer than it does",
        fixed=date(2026, 11, 27),
    ): tuple(_OF_ONE_CORE),
    Constant(
        name="FULL_SHARE",
        value=FULL_SHARE,
        of="of what link or SSD carry is so much that they decide",
        reason="the document's own curves flatten from there on",
        fixed=date(2026, 11, 28),
    ): ("cores", "many_cores", "gain_is_gone_by_size"),
    Constant(
        name="FULL_SSD_DEPTH",
        value=FULL_SSD_DEPTH,
        of="requests in flight at least keep the SSD's queue full",
        reason="the document's curves are flat from there on",
        fixed=date(2026, 11, 28),
    ): _OF_DEPTH,
    Constant(
        name="FULL_RAM_DEPTH",
        value=FULL_RAM_DEPTH,
        of="requests in flight at least keep the RAM disk's queue full",
        reason="the document's curves are flat from there on",
        fixed=date(2026, 11, 28),
    ): _OF_DEPTH,
}

_APART: dict[str, Judge] = {
    "cores": _point_apart,
    "many_cores": _point_apart,
    "gain_is_gone": _gain_is_gone_apart,
    "gain_is_gone_by_size": _gain_is_gone_by_size_apart,
}


def _by_rig(name: str, judge: Judge) -> Judge:
    """Let a claim be judged by the rows of the rig that is like the document's."""
    if name in _APART:
        return _on_cores(_APART[name], judge)
    return _by_depth(judge) if name in _OF_DEPTH else _on_one_core(judge)


JUDGES: dict[str, Judge] = {
    name: _steady(_by_rig(name, _once(judge))) for name, judge in _OF_ONE_CORE.items()
}
