"""How the claims are judged that the document alone can settle: its figures against each other."""

from __future__ import annotations

import pandas as pd

from ...claims import Judge
from ...families import Statement
from ...verdicts import Finding, Verdict
from .published import (
    BAR_STEP,
    GBPS_STEP,
    KIB_BITS,
    KIOPS_STEP,
    NOOP,
    SBQ,
    core_scaling,
    points,
)

GONE = 1.06
"""A gain of no more than this is called gone: the curves are closer than their wobble."""


def _littles_law(item: Statement, _: pd.DataFrame) -> Finding:
    """Throughput x mean latency is what is in flight, in any system that loses nothing."""
    row, tolerance = item.select, item.claim["tolerance"]
    in_flight = row["throughput_kiops"] * row["latency_us"] / 1000
    share = in_flight / row["io_depth"]
    low, high = (
        (row["throughput_kiops"] + sign * KIOPS_STEP) * row["latency_us"] / 1000 / row["io_depth"]
        for sign in (-1, 1)
    )
    fits = low <= 1 + tolerance and high >= 1 - tolerance
    reason = (
        f"{row['throughput_kiops']:g} kIOPS x {row['latency_us']:g} us = {in_flight:.4g} requests "
        f"in flight, {share:.0%} of the depth; the figure's resolution allows {low:.0%} to "
        f"{high:.0%}."
    )
    if not fits:
        reason += " What is missing is in flight without being counted as latency."
    return Finding(_verdict(fits), float(f"{in_flight:.4g}"), reason)


def _same_experiment(item: Statement, _: pd.DataFrame) -> Finding:
    """Hold two figures against each other that show the same run."""
    values = []
    for place in (item.select["pair"]["one"], item.select["pair"]["other"]):
        found = _shown(place, item.select["scheduler"])
        values.append((place["table"], *found))
    (one, value, step), (other, beside, beside_step) = values
    difference = beside / value - 1
    reading = step / value + beside_step / beside
    fits = abs(difference) <= item.claim["tolerance"] + reading
    reason = (
        f"{one} shows {value:.4g} kIOPS, {other} {beside:.4g} kIOPS: {difference:+.1%} "
        f"(reading the figures allows {reading:.1%})."
    )
    return Finding(_verdict(fits), f"{difference:+.1%}", reason)


def _shown(place: dict, scheduler: str) -> tuple[float, float]:
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


def _gain_is_gone(item: Statement, _: pd.DataFrame) -> Finding:
    """Find the number of cores from which SBQ is no faster than noop, in the document's curves."""
    case = item.select["case"]
    cores = gone_cores(case["target"], case["operation"])
    ratios = core_ratios(case["target"], case["operation"])
    if cores is None:
        reason = f"At {ratios.index[-1]} cores SBQ is still at {ratios.iloc[-1]:.2f} of noop."
        return Finding(_verdict(case["cores"] is None), "not within the figure", reason)
    before = f"{ratios[cores - 1]:.3f}" if cores > 1 else "nothing"
    reason = (
        f"SBQ / noop is {ratios[cores]:.3f} on {cores} cores and {before} on one core fewer; "
        f"up to {GONE:.2f} counts as gone."
    )
    return Finding(_verdict(cores == case["cores"]), cores, reason)


def core_ratios(target: str, operation: str) -> pd.Series:
    """Return SBQ's throughput relative to noop by cores, as the document shows it."""
    table = core_scaling()
    table = table[(table["target"] == target) & (table["operation"] == operation)]
    by_cores = table.pivot(index="cores", columns="scheduler", values="throughput_kiops")
    return by_cores[SBQ] / by_cores[NOOP]


def gone_cores(target: str, operation: str) -> int | None:
    """Return the number of cores from which on the document shows no gain; None: never."""
    ratios = core_ratios(target, operation)
    there = [cores for cores in ratios.index if (ratios.loc[cores:] <= GONE).all()]
    return int(there[0]) if there else None


def _verdict(fits: bool) -> Verdict:
    return Verdict.REPRODUCED if fits else Verdict.CONTRADICTED


JUDGES: dict[str, Judge] = {
    "littles_law": _littles_law,
    "same_experiment": _same_experiment,
    "gain_is_gone_in_the_figure": _gain_is_gone,
}
