"""Judge the claims that need the document alone: do its figures agree with each other?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pandas as pd

from ...judging.engine import Judge
from ...judging.families import Statement, statements
from ...judging.verdicts import Judgement, reproduced_if
from .published import (
    BAR_STEP,
    GBPS_STEP,
    KIB_BITS,
    KIOPS_STEP,
    NAME,
    core_scaling,
    gain_along,
    points,
    request_size,
)


def _littles_law(item: Statement, _: pd.DataFrame) -> Judgement:
    """Judge by Little's law: throughput times mean latency is the number of requests in flight."""
    row, tolerance = item.select, item.tolerance
    in_flight = row["throughput_kiops"] * row["latency_us"] / 1000
    share = in_flight / row["io_depth"]
    low, high = (
        (row["throughput_kiops"] + sign * KIOPS_STEP) * row["latency_us"] / 1000 / row["io_depth"]
        for sign in (-1, 1)
    )
    fits = low <= 1 + tolerance and high >= 1 - tolerance
    digits = 1 if f"{low:.0%}" == f"{high:.0%}" else 0
    reason = (
        f"{row['throughput_kiops']:g} kIOPS x {row['latency_us']:g} us = {in_flight:.4g} requests "
        f"in flight, {share:.{digits}%} of the depth; the figure's resolution allows "
        f"{low:.{digits}%} to {high:.{digits}%}."
    )
    if not fits:
        reason += " The rest is in flight, but is not counted as latency."
    return Judgement(reproduced_if(fits), float(f"{in_flight:.4g}"), reason)


def _same_experiment(item: Statement, _: pd.DataFrame) -> Judgement:
    """Compare two figures that show the same run."""
    (one, value, step), (other, beside, beside_step) = _both(item)
    difference = beside / value - 1
    reading = step / value + beside_step / beside
    fits = abs(difference) <= item.tolerance + reading
    reason = (
        f"{one} shows {value:.4g} kIOPS, {other} {beside:.4g} kIOPS: {difference:+.1%} "
        f"(reading the figures allows {reading:.1%})."
    )
    return Judgement(reproduced_if(fits), f"{difference:+.1%}", reason)


def _both(item: Statement) -> list[tuple[str, float, float]]:
    """Return the name, the point in kIOPS, and the resolution of each of two figures."""
    places = item.select["pair"]["one"], item.select["pair"]["other"]
    return [(place["table"], *_shown(place, item.select["scheduler"])) for place in places]


def _shown(place: Mapping[str, Any], scheduler: str) -> tuple[float, float]:
    """Return a point of a figure in kIOPS, and the resolution of its reading."""
    table = points()
    there = table["scheduler"] == scheduler
    for column, value in place.items():
        there &= table[column] == value
    (row,) = table[there].to_dict("records")
    if pd.isna(row["throughput_gbps"]):
        step = BAR_STEP if place["table"].startswith("Figure 5") else KIOPS_STEP
        return row["throughput_kiops"], step
    kiops_a_gbps = 1e9 / (row["request_kb"] * KIB_BITS) / 1000
    return row["throughput_gbps"] * kiops_a_gbps, GBPS_STEP * kiops_a_gbps


def _gain_is_gone(item: Statement, _: pd.DataFrame) -> Judgement:
    """Find the number of cores from which SBQ is no faster than noop, in the document's curves."""
    case = item.select["case"]
    return _gone(core_ratios(case["target"], case["operation"]), case["cores"], "cores")


def _gain_is_gone_by_size(item: Statement, _: pd.DataFrame) -> Judgement:
    """Find the size from which SBQ is no faster than noop, in the document's curves."""
    case = item.select["case"]
    return _gone(size_ratios(case["operation"]), case["request_kib"], "KiB")


def _gone(ratios: pd.Series, expected: float | None, unit: str) -> Judgement:
    found = gone_from(ratios)
    if found is None:
        reason = f"At {ratios.index[-1]:g} {unit} SBQ is still at {ratios.iloc[-1]:.2f} of noop."
        return Judgement(reproduced_if(expected is None), "not within the figure", reason)
    before = ratios.index[ratios.index < found]
    more = f", {ratios[before[-1]]:.3f} at {before[-1]:g}" if len(before) else ""
    reason = (
        f"SBQ / noop is {ratios[found]:.3f} at {found:g} {unit}{more}. A gain up to {gone():.3f} "
        "counts as gone: two figures of this document that show the same run differ by that much."
    )
    return Judgement(reproduced_if(found == expected), found, reason)


@cache
def gone() -> float:
    """Return the largest ratio between two figures that show the same run.

    A gain of no more than that counts as gone, because a repetition might have shown no gain.
    """
    same = [item for item in statements(NAME) if item.judge == "same_experiment"]
    pairs = [(one[1], other[1]) for one, other in map(_both, same)]
    return max(max(pair) / min(pair) for pair in pairs)


def core_ratios(target: str, operation: str) -> pd.Series:
    """Return SBQ's throughput relative to noop by number of cores, as the document shows it."""
    table = core_scaling()
    table = table[(table["target"] == target) & (table["operation"] == operation)]
    return gain_along(table, "cores", "throughput_kiops")


def size_ratios(operation: str) -> pd.Series:
    """Return SBQ's throughput relative to noop by request size, as the document shows it."""
    table = request_size()
    return gain_along(table[table["operation"] == operation], "request_kb", "throughput_gbps")


def gone_from(ratios: pd.Series) -> int | None:
    """Return the number of cores, or size, from which on there is no gain; None if it never ends.

    `ratios`: SBQ relative to noop, by number of cores or request size: as from `core_ratios`.
    """
    there = [place for place in ratios.index if (ratios.loc[place:] <= gone()).all()]
    return int(there[0]) if there else None


JUDGES: dict[str, Judge] = {
    "littles_law": _littles_law,
    "same_experiment": _same_experiment,
    "gain_is_gone_in_the_figure": _gain_is_gone,
    "gain_is_gone_by_size_in_the_figure": _gain_is_gone_by_size,
}
