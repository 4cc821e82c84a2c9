"""How claims about whole curves are judged: peaks, crossings, and where a gain ends."""

from __future__ import annotations

import pandas as pd

from ....judging.claims import Judge
from ....judging.families import Statement
from ....judging.verdicts import (
    TIE_MARGIN,
    Judgement,
    Verdict,
    compare,
    excluding,
    not_testable,
    undecided,
)
from ...kit.cells import paired_ratio
from ..document import core_ratios, gone, gone_from, size_ratios
from ..measures import (
    MEAN,
    THROUGHPUT,
    curve,
    gain,
    gain_is_gone_cores,
    gains,
    limit_kiops,
    link_limit_kiops,
    peak,
    predicted_kiops,
    scale_of,
    times,
    where_of,
    words,
)
from ..published import (
    KIOPS_STEP,
    LATENCY_STEP_US,
    LINK_GBPS,
    NOOP,
    SBQ,
    gain_by_depth,
    single_core_latency,
)
from ..trials import LOCAL
from .points import ONE_CORE, held_against


def _peak_ratio(item: Statement, table: pd.DataFrame) -> Judgement:
    row = item.select
    where = where_of(row, table)
    printed = _printed_peaks(row["target"])
    sides = (peak(table, scheduler=name, **where) for name in ("sbq", "none"))
    found = _with(item, printed[SBQ])
    return held_against(found, paired_ratio(*sides), printed[NOOP], KIOPS_STEP, where)


def _printed_peaks(target: str) -> pd.Series:
    table = single_core_latency()
    return table[table["target"] == target].groupby("scheduler")["throughput_kiops"].max()


def _latency_price(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge the latency at depth 1, where each request waits for others that do not come."""
    row = {**item.select, "io_depth": 1}
    where = where_of(row, table)
    printed = single_core_latency().query("io_depth == 1 and latency_kind == 'mean'")
    printed = printed[printed["target"] == row["target"]].set_index("scheduler")["latency_us"]
    found = _with(item, float(printed[SBQ]))
    measured = gain(table, MEAN, **where)
    return held_against(found, measured, float(printed[NOOP]), LATENCY_STEP_US, where)


def _with(item: Statement, published: float) -> Statement:
    return item._replace(published=published)


def _crossing(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge between which depths SBQ's throughput passes noop's."""
    row = item.select
    where = where_of(row, table)
    shown = gain_by_depth(single_core_latency(), row["target"])
    printed = crossing(list(zip(shown.index, shown, strict=True)))
    found = gains(table, "depth", **where)
    if len(found) < 2:
        return not_testable(f"Fewer than two depths were run ({words(where)}).")
    if not all(ratio.bounded for _, ratio in found):
        return undecided(f"One repetition does not decide it ({words(where)}).", needed=2)
    here = crossing([(depth, ratio.value) for depth, ratio in found])
    ratios = ", ".join(f"{depth:g}: {ratio.value:.3g}" for depth, ratio in found)
    said = f"SBQ / noop by depth: {ratios}; published: between {_between(printed)}. {words(where)}."
    if here is None:
        return Judgement(Verdict.CONTRADICTED, "no crossing", said)
    overlap = printed is not None and here[0] < printed[1] and printed[0] < here[1]
    verdict = Verdict.REPRODUCED if overlap else Verdict.DIRECTION_ONLY
    sides = [excluding(ratio, (1.0,)) for depth, ratio in found if depth in here]
    weakest = max(sides, key=lambda one: one.p_value or 0)
    return Judgement(verdict, f"between {_between(here)}", said, weakest)


def crossing(ratios: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the two neighbouring depths between which a ratio rises above 1 for good.

    None if the ratio does not.

    Examples
    --------
    >>> crossing([(1, 0.5), (16, 0.9), (32, 1.1), (64, 1.5)])
    (16, 32)
    """
    below = [place for place, (_, ratio) in enumerate(ratios) if ratio < 1]
    if not below or below[-1] + 1 == len(ratios):
        return None
    return ratios[below[-1]][0], ratios[below[-1] + 1][0]


def _between(pair: tuple[float, float] | None) -> str:
    return "no depths" if pair is None else f"{pair[0]:g} and {pair[1]:g}"


def _gain_is_gone(item: Statement, table: pd.DataFrame) -> Judgement:
    row = {**item.select["case"], "driver": item.select["driver"], "scheduler": NOOP}
    one_core = predicted_kiops(table, row, 1)
    if one_core is None:
        return not_testable(ONE_CORE)
    most = limit_kiops(row["target"], row["operation"])
    cores = gain_is_gone_cores(one_core, most)
    printed = gone_from(core_ratios(row["target"], row["operation"]))
    there = f"{printed} cores" if printed else "never within the figure"
    return not_testable(
        f"{ONE_CORE} Predicted: on {cores} cores noop alone reaches the {most:.4g} kIOPS "
        f"that link or SSD allow; published: {there} (a gain of {gone():.3f} or less)."
    )


def _gain_is_gone_by_size(item: Statement, table: pd.DataFrame) -> Judgement:
    row = {**item.select["case"], "driver": item.select["driver"]}
    where = where_of(row, table)
    rates = curve(table, THROUGHPUT, "request_kib", **where, scheduler="none")
    if not rates:
        return not_testable(ONE_CORE)
    scale = row["cores"] * where["time_scale"] / 1000
    kiops = {kib: rate.value * scale for kib, rate in rates}
    share = {kib: one / link_limit_kiops(kib) for kib, one in kiops.items()}
    full = [kib for kib, one in share.items() if one >= 1]
    found = (
        f"from {full[0]:g} KiB on, so nothing is left to gain" if full else "at none of these sizes"
    )
    shown = ", ".join(f"{kib:g} KiB: {one * LINK_GBPS:.3g}" for kib, one in share.items())
    printed = gone_from(size_ratios(row["operation"]))
    return not_testable(
        f"{ONE_CORE} Predicted for noop on {row['cores']} cores, in Gb/s: {shown}. Noop fills the "
        f"link of {LINK_GBPS} {found}. Published: no gain from {printed} KiB on ({gone():.3f} or "
        f"less). {words(where)}."
    )


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


JUDGES: dict[str, Judge] = {
    "peak_ratio": _peak_ratio,
    "latency_price": _latency_price,
    "crossing": _crossing,
    "gain_is_gone": _gain_is_gone,
    "gain_is_gone_by_size": _gain_is_gone_by_size,
    "local_loss": _local_loss,
}
