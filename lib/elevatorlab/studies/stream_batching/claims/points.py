"""How points of the document's curves are judged: SBQ relative to noop, and noop's own shape.

The value shown as “measured” is the measured ratio times the published value of its reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ....analysis.intervals import Interval
from ....judging.claims import Judge
from ....judging.families import Statement
from ....judging.verdicts import TIE_MARGIN, Judgement, compare, not_testable, sentence, widened
from ...kit.cells import paired_ratio
from ..measures import (
    FEWEST_FOR_P99,
    MEAN,
    P99,
    THROUGHPUT,
    at,
    cell_of,
    curve,
    gain,
    predicted_kiops,
    where_of,
    words,
)
from ..published import (
    KIB_BITS,
    KIOPS_STEP,
    LATENCY_STEP_US,
    LINK_GBPS,
    SBQ,
    SCHEDULER,
    noop_beside,
)

ONE_CORE = "Here, only one core was measured; the document's curves go on to several cores."


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
    return held_against(item, gain(table, column, **where), noop, step, where)


def _quantity(row: Mapping[str, Any]) -> tuple[str, str, float]:
    """Return the measured column, the published one, and the resolution of its reading."""
    return {
        "throughput": (THROUGHPUT, "throughput_kiops", KIOPS_STEP),
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


def held_against(
    item: Statement,
    measured: Interval | None,
    beside: float | None,
    step: float,
    where: Mapping[str, Any],
) -> Judgement:
    """Compare a measured ratio with the published ratio, which is `item.number` / `beside`.

    `beside`: Published value of the reference; None if the document shows none. `step`: Resolution
    of the reading of both published values.
    """
    if measured is None or beside is None:
        return not_testable(f"Not run here with noop beside it ({words(where)}).")
    published = item.number / beside
    low, high = (item.number - step) / (beside + step), (item.number + step) / (beside - step)
    tolerance = item.tolerance
    allowed = widened((low, high), tolerance)
    verdict, why, evidence = compare(
        measured, (low, high), neutral=1, margin=TIE_MARGIN, allowed=allowed
    )
    reason = (
        f"Measured: {measured.text()}. Published: {published:.3g}; reading error and a tolerance "
        f"of {tolerance:.0%} allow {allowed[0]:.3g} to {allowed[1]:.3g}. {sentence(why)}. The "
        f"trials had the {words(where)}."
    )
    found = float(f"{measured.value * beside:.4g}")
    return Judgement(verdict, found, reason, evidence, cell_of(where))


_REFERENCE_DEPTH = 64
"""Depth of the reference point of noop's curve."""


def _noop_shape(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge a point of noop's curve by its ratio to the reference point of the same curve."""
    row = item.select
    reference = {**row, "io_depth": _REFERENCE_DEPTH}
    column, quantity, step = _quantity(row)
    if row == reference:
        if column == THROUGHPUT:
            return _reference_of_shape(item, table)
        return not_testable("The other points of noop in this figure are relative to it.")
    here, there = ({**where_of(one, table), "scheduler": "none"} for one in (row, reference))
    if column == P99 and (few := _too_few(table, here, "none") or _too_few(table, there, "none")):
        return not_testable(few)
    one, other = at(table, column, **here), at(table, column, **there)
    ratio = paired_ratio(one, other)
    if ratio is None:
        return not_testable(f"Not run here with its reference beside it ({words(here)}).")
    return held_against(item, ratio, noop_beside(reference, quantity), step, here)


def _reference_of_shape(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge the reference point of noop's curve by its ratio to the mean of the other depths."""
    row = item.select
    here = {**where_of(row, table), "scheduler": "none"}
    along = {name: value for name, value in here.items() if name != "depth"}
    others: dict[float, float] = {}
    for depth, _ in curve(table, THROUGHPUT, "depth", **along):
        printed = noop_beside({**row, "io_depth": depth}, "throughput_kiops")
        if depth != _REFERENCE_DEPTH and printed is not None:
            others[depth] = printed
    if not others:
        return not_testable(f"Not run here with other depths beside it ({words(here)}).")
    rates = {depth: at(table, THROUGHPUT, **{**here, "depth": depth}) for depth in others}
    ratio = paired_ratio(at(table, THROUGHPUT, **here), _geometric_mean(pd.DataFrame(rates)))
    kiops = pd.DataFrame([others])
    mean, most = (float(_geometric_mean(kiops + step).iloc[0]) for step in (0, KIOPS_STEP))
    return held_against(item, ratio, mean, max(KIOPS_STEP, most - mean), here)


def _geometric_mean(columns: pd.DataFrame) -> pd.Series[float]:
    """Return the geometric mean of each row that has all columns."""
    mean: pd.Series[float] = np.exp(np.log(columns.dropna().astype(float)).mean(axis=1))
    return mean


def _cores(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge a point of Figures 3 and 4 on one core; on more cores, only give a prediction."""
    row = item.select
    if row["cores"] == 1 and row["scheduler"] == SBQ:
        where = where_of(row, table)
        beside = noop_beside(row, "throughput_kiops")
        return held_against(item, gain(table, **where), beside, KIOPS_STEP, where)
    predicted = predicted_kiops(table, row, row["cores"])
    if predicted is None:
        return not_testable(ONE_CORE)
    share = predicted / item.number
    return not_testable(
        f"{ONE_CORE} From the cost of a request on one core, {predicted:.4g} kIOPS are "
        f"predicted: {share:.2f} times the published value."
    )


def _many_cores(item: Statement, table: pd.DataFrame) -> Judgement:
    """Say what one core does at a point of Figures 5 and 6, measured there on 4 or 16 cores."""
    row = item.select
    told = f"{ONE_CORE}{_share_of_link(row, table)}"
    beside = noop_beside(row, row["quantity"])
    if row["scheduler"] != SBQ or beside is None:
        return not_testable(told)
    ratio = gain(table, **where_of(row, table))
    published = item.number / beside
    here = "was not run" if ratio is None else f"is {ratio.text()}"
    return not_testable(
        f"{told} SBQ / noop on one core {here}; published for all cores: {published:.3g}."
    )


def _share_of_link(row: Mapping[str, Any], table: pd.DataFrame) -> str:
    """Say how much of the link one core needs, at a point of Figure 6; empty for Figure 5."""
    where = {**where_of(row, table), "scheduler": SCHEDULER[row["scheduler"]]}
    found = at(table, THROUGHPUT, **where)
    if "request_kb" not in row or found.empty:
        return ""
    gbit_s = found.mean() * where["time_scale"] * row["request_kb"] * KIB_BITS / 1e9
    return f" Here one core does {gbit_s:.3g} Gb/s; the document's link carries {LINK_GBPS}."


JUDGES: dict[str, Judge] = {
    "point_gain": _point_gain,
    "noop_shape": _noop_shape,
    "cores": _cores,
    "many_cores": _many_cores,
}
