"""How each claim of the document is judged; the claims are in data/claims/stream_batching.yaml.

A judging function takes a statement and the measured rows of one run. Only ratios are held
against the document: SBQ against noop at the same point, or a curve against its own reference
point. What is shown as measured is that ratio on the document's scale.
"""

from __future__ import annotations

import pandas as pd

from ... import claims
from ...analysis.intervals import Interval
from ...claims import Claim, Judge
from ...families import Statement, statements
from ...measured import expect_columns, expect_once
from ...verdicts import TIE_MARGIN, Finding, Verdict, compare, not_testable
from . import document, prediction
from .document import core_ratios, gone, gone_from, size_ratios
from .measures import (
    DRIVERS,
    FEWEST_FOR_P99,
    MEAN,
    P99,
    THROUGHPUT,
    at,
    curve,
    gain,
    gains,
    peak,
    ratio_of,
    scale_of,
)
from .published import (
    BAR_STEP,
    GBPS_STEP,
    KIB_BITS,
    KIOPS_STEP,
    LATENCY_STEP_US,
    LINK_GBPS,
    NOOP,
    SBQ,
    SCHEDULER,
    STUDY,
    gain_by_depth,
    noop_beside,
    request_size,
    single_core_latency,
    varied,
)
from .rows import COLUMNS, WHERE
from .trials import LOCAL

_OPERATION = {"randread": 100, "randwrite": 0}

_CEILING = 0.95
"""From this share of a figure's highest point on, its link decides, and not the scheduler."""

_ONE_CORE = "One core's work is measured here; the document's scale with cores."


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every point of the document its verdict.

    Parameters
    ----------
    measured : pandas.DataFrame
        One row a point, with `rows.COLUMNS`; empty for published data alone.

    Returns
    -------
    list of Claim
        Claims about the document once; the others once for each machine and preset.

    Raises
    ------
    ElevatorLabError
        When a column is missing, or a point was measured twice in the same repetition.
    """
    expect_columns(measured, COLUMNS, "point")
    where = ["machine", "preset", "testbed", "target", "driver", "time_scale", "scheduler"]
    where += ["batch_nr", "batch_timeout_us", *WHERE, "repetition"]
    expect_once(measured, where, "each point once per repetition")
    return claims.judge(statements(STUDY), JUDGES, measured)


# Points of the curves


def _point_gain(item: Statement, table: pd.DataFrame) -> Finding:
    """Judge a point of SBQ's curve by what it is relative to noop's."""
    row = item.select
    column, quantity, step = _quantity(row)
    noop = noop_beside(row, quantity)
    if noop is None:
        return not_testable("The document shows no noop at this point to compare with.")
    where = _where(row, table)
    if _at_the_link(item):
        ratio = gain(table, **where)
        here = "was not run" if ratio is None else f"is {ratio.text()}"
        return not_testable(f"{_link(item)} SBQ / noop {here}.")
    if column == P99 and (few := _too_few(table, where, "none", "sbq")):
        return not_testable(few)
    return _held_against(item, gain(table, column, **where), noop, step, where)


def _quantity(row: dict) -> tuple[str, str, float]:
    """Return the measured column, the published one, and the resolution of its reading."""
    lines = BAR_STEP if row["table"].startswith("Figure 5") else KIOPS_STEP
    return {
        "throughput": (THROUGHPUT, "throughput_kiops", lines),
        "mean": (MEAN, "latency_us", LATENCY_STEP_US),
        "p99": (P99, "latency_us", LATENCY_STEP_US),
        "rate": (THROUGHPUT, "throughput_gbps", GBPS_STEP),
    }[row["of"]]


def _too_few(table: pd.DataFrame, where: dict, *schedulers: str) -> str:
    """Say that a 99th percentile was made of too few requests; nothing where it was not."""
    counts = [at(table, "requests", **{**where, "scheduler": name}) for name in schedulers]
    fewest = min((count.min() for count in counts if len(count)), default=FEWEST_FOR_P99)
    if fewest >= FEWEST_FOR_P99:
        return ""
    return (
        f"Only {fewest:g} requests were measured at this point; expected {FEWEST_FOR_P99} or more, "
        f"or all may be below the 99th percentile ({_words(where)}). A preset with a longer window "
        "has them."
    )


def _where(row: dict, table: pd.DataFrame) -> dict:
    """Return which measured rows a published row stands for."""
    where = {"target": row["target"], "driver": row["driver"]}
    where["time_scale"] = scale_of(table, row.get("scale", "scaled") == "scaled")
    names = {"io_depth": "depth", "read_percent": "read_percent", "request_kb": "request_kib"}
    where |= {ours: row[theirs] for theirs, ours in names.items() if theirs in row}
    if "operation" in row:
        where["read_percent"] = _OPERATION[row["operation"]]
    return where


def _held_against(
    item: Statement, measured: Interval | None, beside: float, step: float, where: dict
) -> Finding:
    """Hold a measured ratio against the published one, `item.published` / `beside`."""
    if measured is None:
        return not_testable(f"Not run here with noop beside it ({_words(where)}).")
    published = item.published / beside
    low, high = (item.published - step) / (beside + step), (item.published + step) / (beside - step)
    tolerance = item.claim["tolerance"]
    allowed = low * (1 - tolerance), high * (1 + tolerance)
    verdict, why = compare(measured, (low, high), neutral=1, margin=TIE_MARGIN, allowed=allowed)
    reason = (
        f"{measured.text()}; published {published:.3g} (reading the figure, and a tolerance of "
        f"{tolerance:.0%}, allow {allowed[0]:.3g} to {allowed[1]:.3g}): {why}. {_words(where)}."
    )
    return Finding(verdict, float(f"{measured.value * beside:.4g}"), reason)


def _words(where: dict) -> str:
    return f"{DRIVERS[where['driver']]}, {_times(where['time_scale'])}"


def _times(scale: float | None) -> str:
    return "times unscaled" if scale == 1 else f"all times x {scale:g}" if scale else "no run"


def _at_the_link(item: Statement) -> bool:
    row = item.select
    return row["of"] == "rate" and item.published > _CEILING * _highest_gbps(row["table"])


def _link(item: Statement) -> str:
    return (
        f"There the document's curves end: {item.published:g} Gb/s, of at most "
        f"{_highest_gbps(item.select['table']):g} in this figure, over a link of {LINK_GBPS}. That "
        "link is not here."
    )


def _highest_gbps(table: str) -> float:
    shown = request_size()
    return float(shown.loc[shown["table"] == table, "throughput_gbps"].max())


_REFERENCE = {"io_depth": 64, "request_kb": 4, "read_percent": 100}
"""What a curve of noop is relative to: where the document varies everything else."""


def _noop_shape(item: Statement, table: pd.DataFrame) -> Finding:
    """Judge a point of noop's curve by what it is relative to the same curve's reference."""
    row = item.select
    name = varied(row)
    reference = {**row, name: _REFERENCE[name]}
    if row == reference:
        return not_testable("What the other points of noop in this figure are relative to.")
    if _at_the_link(item):
        return not_testable(_link(item))
    column, quantity, step = _quantity(row)
    here, there = ({**_where(one, table), "scheduler": "none"} for one in (row, reference))
    if column == P99 and (few := _too_few(table, here, "none") or _too_few(table, there, "none")):
        return not_testable(few)
    one, other = at(table, column, **here), at(table, column, **there)
    if row["of"] == "rate":  # what is measured counts requests
        one, other = one * here["request_kib"], other * there["request_kib"]
    ratio = ratio_of(one, other)
    if ratio is None:
        return not_testable(f"Not run here with its reference beside it ({_words(here)}).")
    return _held_against(item, ratio, noop_beside(reference, quantity), step, here)


def _cores(item: Statement, table: pd.DataFrame) -> Finding:
    """Judge a point of Figures 3 and 4: one core as any other point, more by a prediction."""
    row = item.select
    if row["cores"] == 1 and row["scheduler"] == SBQ:
        where = _where(row, table)
        beside = noop_beside(row, "throughput_kiops")
        return _held_against(item, gain(table, **where), beside, KIOPS_STEP, where)
    predicted = predicted_kiops(table, row, row["cores"])
    if predicted is None:
        return not_testable(_ONE_CORE)
    share = predicted / item.published
    return not_testable(
        f"{_ONE_CORE} From one core's cost of a request, {predicted:.4g} kIOPS are "
        f"predicted: {share:.2f} of what is published."
    )


def predicted_kiops(table: pd.DataFrame, row: dict, cores: int) -> float | None:
    """Predict a point of Figures 3 and 4 from one core, on the document's scale.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of one run.
    row : dict
        target, operation, driver, and scheduler as the document calls it.
    cores : int
    """
    where = _where(row, table)
    found = at(table, THROUGHPUT, **where, scheduler=SCHEDULER[row["scheduler"]])
    if found.empty:
        return None
    one_core = found.mean() / 1000 * where["time_scale"]
    most = prediction.limit_kiops(row["target"], row["operation"])
    return prediction.throughput_kiops(one_core, cores, most)


# What the curves say together


def _peak_ratio(item: Statement, table: pd.DataFrame) -> Finding:
    row = item.select
    where = _where(row, table)
    printed = _printed_peaks(row["target"])
    sides = (peak(table, scheduler=name, **where) for name in ("sbq", "none"))
    found = _with(item, printed[SBQ])
    return _held_against(found, ratio_of(*sides), printed[NOOP], KIOPS_STEP, where)


def _printed_peaks(target: str) -> pd.Series:
    table = single_core_latency()
    return table[table["target"] == target].groupby("scheduler")["throughput_kiops"].max()


def _latency_price(item: Statement, table: pd.DataFrame) -> Finding:
    """The price at depth 1: every request waits for company that does not come."""
    row = {**item.select, "io_depth": 1}
    where = _where(row, table)
    printed = single_core_latency().query("io_depth == 1 and latency_kind == 'mean'")
    printed = printed[printed["target"] == row["target"]].set_index("scheduler")["latency_us"]
    found = _with(item, float(printed[SBQ]))
    measured = gain(table, MEAN, **where)
    return _held_against(found, measured, float(printed[NOOP]), LATENCY_STEP_US, where)


def _with(item: Statement, published: float) -> Statement:
    return item._replace(published=published)


def _crossing(item: Statement, table: pd.DataFrame) -> Finding:
    """Judge between which depths SBQ's throughput passes noop's."""
    row = item.select
    where = _where(row, table)
    printed = crossing(list(gain_by_depth(single_core_latency(), row["target"]).items()))
    found = gains(table, "depth", **where)
    if len(found) < 2:
        return not_testable(f"Fewer than two depths were run ({_words(where)}).")
    if not all(ratio.bounded for _, ratio in found):
        return not_testable(f"One repetition does not decide it ({_words(where)}).")
    here = crossing([(depth, ratio.value) for depth, ratio in found])
    shown = ", ".join(f"{depth:g}: {ratio.value:.3g}" for depth, ratio in found)
    said = f"SBQ / noop by depth: {shown}; published: between {_between(printed)}. {_words(where)}."
    if here is None:
        return Finding(Verdict.CONTRADICTED, "no crossing", said)
    overlap = here[0] < printed[1] and printed[0] < here[1]
    verdict = Verdict.REPRODUCED if overlap else Verdict.DIRECTION_ONLY
    return Finding(verdict, f"between {_between(here)}", said)


def crossing(ratios: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the two neighbouring depths between which a gain passes 1 for good; None: never.

    Examples
    --------
    >>> crossing([(1, 0.5), (16, 0.9), (32, 1.1), (64, 1.5)])
    (16, 32)
    """
    below = [place for place, (_, ratio) in enumerate(ratios) if ratio < 1]
    if not below or below[-1] + 1 == len(ratios):
        return None
    return ratios[below[-1]][0], ratios[below[-1] + 1][0]


def _between(pair: tuple[float, float]) -> str:
    return f"{pair[0]:g} and {pair[1]:g}"


def _gain_is_gone(item: Statement, table: pd.DataFrame) -> Finding:
    row = {**item.select["case"], "driver": item.select["driver"], "scheduler": NOOP}
    one_core = predicted_kiops(table, row, 1)
    if one_core is None:
        return not_testable(_ONE_CORE)
    most = prediction.limit_kiops(row["target"], row["operation"])
    cores = prediction.gain_is_gone_cores(one_core, most)
    printed = gone_from(core_ratios(row["target"], row["operation"]))
    there = f"{printed} cores" if printed else "never within the figure"
    return not_testable(
        f"{_ONE_CORE} Predicted: on {cores} cores noop alone reaches the {most:.4g} kIOPS "
        f"that link or SSD allow; published: {there} (a gain of {gone():.3f} or less)."
    )


def _gain_is_gone_by_size(item: Statement, table: pd.DataFrame) -> Finding:
    row = {**item.select["case"], "driver": item.select["driver"]}
    where = _where(row, table)
    rates = curve(table, THROUGHPUT, "request_kib", **where, scheduler="none")
    if not rates:
        return not_testable(_ONE_CORE)
    bits = row["cores"] * KIB_BITS
    gbps = {kib: bits * kib * rate.value * where["time_scale"] / 1e9 for kib, rate in rates}
    full = [kib for kib, one in gbps.items() if one * gone() >= LINK_GBPS]
    found = (
        f"from {full[0]:g} KiB on, which leaves nothing to gain" if full else "with none of them"
    )
    shown = ", ".join(f"{kib:g} KiB: {one:.3g}" for kib, one in gbps.items())
    printed = gone_from(size_ratios(row["operation"]))
    return not_testable(
        f"{_ONE_CORE} Predicted for noop on {row['cores']} cores, in Gb/s: {shown}; it fills the "
        f"link of {LINK_GBPS} {found}. Published: no gain from {printed} KiB on ({gone():.3f} or "
        f"less). {_words(where)}."
    )


def _local_loss(item: Statement, table: pd.DataFrame) -> Finding:
    """The negative control: without a network there is nothing that a batch could save."""
    row = item.select
    where = {"target": row["target"], "driver": LOCAL, "time_scale": scale_of(table)}
    measured = gain(table, **where)
    if measured is None:
        return not_testable("Not run here (experiment local).")
    low, high = row["range"]["low"], row["range"]["high"]
    verdict, why = compare(measured, (low, high), neutral=1, margin=TIE_MARGIN)
    reason = (
        f"SBQ / noop without a network: {measured.text()}; said: {low:g} to {high:g}: {why}. "
        f"{_times(where['time_scale'])}."
    )
    return Finding(verdict, float(f"{measured.value:.4g}"), reason)


def _once(judge: Judge) -> Judge:
    """Judge what is said with times unscaled only where others are scaled: not the same twice."""

    def judged(item: Statement, table: pd.DataFrame) -> Finding:
        if item.select.get("scale") == "unscaled" and set(table["time_scale"]) == {1}:
            return not_testable(
                "No times are scaled on this machine, so that this is the claim about the scaled "
                "ones again."
            )
        return judge(item, table)

    return judged


JUDGES: dict[str, Judge] = {
    **document.JUDGES,
    "point_gain": _once(_point_gain),
    "noop_shape": _noop_shape,
    "cores": _cores,
    "peak_ratio": _once(_peak_ratio),
    "latency_price": _once(_latency_price),
    "crossing": _once(_crossing),
    "gain_is_gone": _gain_is_gone,
    "gain_is_gone_by_size": _gain_is_gone_by_size,
    "local_loss": _local_loss,
}
