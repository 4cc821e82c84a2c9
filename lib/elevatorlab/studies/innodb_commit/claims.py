"""How each claim of the article is judged; the claims are in data/claims/innodb_commit.yaml.

Only ratios between cells are compared with the article: its commits a second come from another
machine. Cells are paired by repetition.
"""

from __future__ import annotations

import math

import pandas as pd

from ...analysis.improvement import ratio_range
from ...analysis.intervals import Interval, mean_interval
from ...judging import engine
from ...judging.claim import Claim
from ...judging.constants import TIES, DecidedBy
from ...judging.families import Statement, statements
from ...judging.verdicts import (
    TIE_MARGIN,
    Judgement,
    Verdict,
    bounded,
    compare,
    not_testable,
    ordering,
    rounding_alone,
    sentence,
    six_digits,
    together,
    widened,
)
from ..kit.cells import by_repetition, mean_of, rows_of
from ..kit.reimplemented import REIMPLEMENTED, with_stand_ins
from ..kit.turns import one_way
from . import columns, document
from .document import cells_of
from .measures import TABLE, Cell, main_rows, ratio, rows_without_an_arm
from .published import CELL, NAME, printed
from .published import table as printed_table
from .trials import DURABLE, LAZY, MAPPING

#: The cell that the others are relative to.
REFERENCE = {"scheduler": "mq-deadline", "flush_log_at_trx_commit": DURABLE, "threads": 1}
#: What the commits of two cells are relative to instead: those of that cell itself, and those of
#: more threads that wait for no flush, either.
LAZY_REFERENCE = {**REFERENCE, "flush_log_at_trx_commit": LAZY}
BESIDE_LAZY = (REFERENCE, {**LAZY_REFERENCE, "threads": 8})
#: Half of the last digit that the article prints.
HALF_STEP = {"tps": 5, "utilization_ratio": 0.5}
PRINTED_IN = {"tps": 1, "utilization_ratio": 100}
"""By what a measured value is multiplied to have the unit of the printed one."""


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the article its verdict.

    `measured`: The study's tidy table (`columns.TABLE`); empty for published data alone.
    """
    columns.TABLE.expect_columns(measured, "measured table")
    cell = ["machine", "preset", "testbed", "arm", "device", "backing_scheduler", "experiment"]
    cell += [
        "scheduler",
        "idling",
        "slice_idle_ms",
        "flush_log_at_trx_commit",
        "threads",
        "repetition",
    ]
    engine.expect_once(measured, cell, "each cell once per repetition")
    return engine.judge(statements(NAME), JUDGES, measured, DECIDED_BY)


def _absent(rows: pd.DataFrame) -> Judgement:
    ran = ", ".join(sorted(set(rows["scheduler"])))
    threads = ", ".join(map(str, sorted(set(rows["threads"]))))
    return not_testable(
        f"Not run here together with its reference (ran: {ran or 'nothing'}; threads {threads})."
    )


def _experiment(item: Statement, table: pd.DataFrame) -> pd.DataFrame:
    return rows_of(main_rows(table), experiment=item.select.get("experiment", TABLE))


# The twelve figures of the table


def _cell(item: Statement, table: pd.DataFrame) -> Judgement:
    rows, quantity = _experiment(item, table), item.select["quantity"]
    cell = {name: item.select[name] for name in CELL}
    beside = LAZY_REFERENCE if quantity == "tps" and cell in BESIDE_LAZY else REFERENCE
    measured = ratio(rows, cell, beside, quantity)
    above, below = printed(cell, quantity), printed(beside, quantity)
    if item.select["ioutil_is_bound"] and quantity == "utilization_ratio":
        return _bound(rows, cell, beside, above / below)._replace(cell=_measured_cell(item, cell))
    if measured is None:
        return _absent(rows)
    low, high = ratio_range(above, below, HALF_STEP[quantity])
    tolerance = item.tolerance
    allowed = widened((low, high), tolerance)
    verdict, why, evidence = compare(
        measured, (low, high), neutral=1, margin=TIE_MARGIN, allowed=allowed
    )
    reason = (
        f"The value relative to {_named(beside)} is {measured.text()}. Printed: "
        f"{above / below:.3g}; with the tolerance, {allowed[0]:.3g} to {allowed[1]:.3g} is allowed "
        f"({rounding_alone(low, high)}). {sentence(why)}."
    )
    said = with_stand_ins(reason, [cell["scheduler"]])
    found = six_digits(PRINTED_IN[quantity] * by_repetition(rows, quantity, **cell).mean())
    return Judgement(
        verdict,
        found,
        said,
        evidence,
        cell=_measured_cell(item, cell),
        relative_to=_named(beside),
        reference_cell=_measured_cell(item, beside),
    )


def _bound(rows: pd.DataFrame, cell: Cell, beside: Cell, bound: float) -> Judgement:
    """Judge "<1 %": at most that share of what the device has to do in the reference."""
    shares = by_repetition(rows, "utilization_ratio", **cell)
    reference = by_repetition(rows, "utilization_ratio", **beside)
    common = shares.index.intersection(reference[reference > 0].index)
    if common.empty:
        return _absent(rows)
    found = mean_interval(shares[common] / reference[common])
    verdict, why, evidence = bounded(found, (-math.inf, bound), neutral=1)
    return Judgement(
        verdict,
        six_digits(PRINTED_IN["utilization_ratio"] * shares.mean()),
        f"The value relative to {_named(beside)} is {found.not_negative().text()}. Printed: less "
        f"than {bound:.3g}. {sentence(why)}.",
        evidence,
        relative_to=_named(beside),
    )


def _measured_cell(item: Statement, cell: Cell) -> str:
    """Name what was measured, for claims that share it."""
    return f"{item.select.get('experiment', TABLE)}: {_named(cell)}"


def _named(cell: Cell) -> str:
    threads = cell["threads"]
    return (
        f"{cell['scheduler']} ({MAPPING[cell['scheduler']]}), flush="
        f"{cell['flush_log_at_trx_commit']}, {threads} thread{'s' if threads > 1 else ''}"
    )


# The sentences


def _cells_ratio(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge a statement about two cells of the article's table, by the ratio that it prints."""
    above, below = (printed(cell, "tps") for cell in cells_of(item))
    return _over(item, table, ratio_range(above, below, HALF_STEP["tps"]))


def _much_faster(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge "much faster": but not faster than commits that wait for no flush."""
    ceiling = printed(LAZY_REFERENCE, "tps") / printed(REFERENCE, "tps")
    return _over(item, table, (1 + item.threshold, ceiling))


def _slightly_slower(item: Statement, table: pd.DataFrame) -> Judgement:
    return _over(item, table, (1 - item.threshold, 1 - TIE_MARGIN))


def _over(item: Statement, table: pd.DataFrame, claimed: tuple[float, float]) -> Judgement:
    """Hold one cell over another against a range."""
    rows = _experiment(item, table)
    above, below = cells_of(item)
    measured = ratio(rows, above, below)
    if measured is None:
        return _absent(rows)
    low, high = claimed
    allowed = widened(claimed, item.tolerance)
    verdict, why, evidence = compare(
        measured, claimed, neutral=1, margin=TIE_MARGIN, allowed=allowed
    )
    reason = (
        f"{_named(above)} / {_named(below)}: {measured.text()}; said {_said(low, high)}: "
        f"{why}.{_idle(rows, above)}"
    )
    said = with_stand_ins(reason, [above["scheduler"], below["scheduler"]])
    return Judgement(
        verdict,
        six_digits(measured.value),
        said,
        evidence,
        cell=_measured_cell(item, above),
        reference_cell=_measured_cell(item, below),
    )


def _similar(item: Statement, table: pd.DataFrame) -> Judgement:
    cell = {"flush_log_at_trx_commit": DURABLE, "threads": item.select["threads"]}
    none, deadline = ({**cell, "scheduler": name} for name in ("none", "mq-deadline"))
    measured = ratio(_experiment(item, table), none, deadline)
    if measured is None:
        return _absent(table)
    tolerance = item.tolerance
    verdict, why, evidence = compare(
        measured, (1, 1), neutral=1, margin=TIE_MARGIN, allowed=(1 - tolerance, 1 + tolerance)
    )
    return Judgement(
        verdict,
        six_digits(measured.value),
        f"{measured.text()}: {why}.",
        evidence,
        cell=_measured_cell(item, none),
        reference_cell=_measured_cell(item, deadline),
    )


def _said(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _idle(rows: pd.DataFrame, cell: Cell) -> str:
    """Say how long the device idled while a commit waited, where that is known."""
    shares = by_repetition(rows, "idle_while_waiting_ratio", **cell).dropna()
    if shares.empty:
        return ""
    return f" The device stood idle while requests waited for {shares.mean():.1%} of the time."


def _teleport(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge "no need for elevation or merging": none is not behind any other scheduler."""
    rows = _experiment(item, table)
    cell = {"flush_log_at_trx_commit": DURABLE, "threads": item.select["threads"]}
    pairs: dict[str, tuple[Interval, bool]] = {}
    for other in sorted({*rows["scheduler"]} - {"none", *REIMPLEMENTED}):
        found = ratio(rows, {**cell, "scheduler": "none"}, {**cell, "scheduler": other})
        if found is not None:
            pairs[f"none / {other}"] = (found, False)
    if not pairs:
        return _absent(rows)
    behind, margin = (1 - item.threshold, math.inf), item.threshold
    held = [bounded(one, behind, neutral=1) for one, _ in pairs.values()]
    _, order, drawn = ordering(pairs, margin)
    verdict, evidence = together(held)
    faster, ahead = (
        [one.verdict for one in held].count(which)
        for which in (Verdict.CONTRADICTED, Verdict.REPRODUCED)
    )
    reason = (
        f"{order}. In {ahead} of {len(pairs)} pairs, the interval excludes that none is behind."
    )
    return Judgement(
        verdict,
        f"{faster} of {len(pairs)} faster",
        with_stand_ins(reason, [name.removeprefix("none / ") for name in pairs]),
        evidence._replace(compared=drawn.compared),
        _measured_cell(item, {**cell, "scheduler": "none"}),
    )


def _waits(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge "the scheduler waits while nothing happens": the device idles over requests."""
    rows = rows_of(main_rows(table), experiment=item.select["experiment"])
    cell = {"scheduler": item.select["scheduler"], "idling": item.select["idling"], "threads": 8}
    cell["flush_log_at_trx_commit"] = DURABLE
    other = {**cell, "scheduler": "mq-deadline"}
    waits, base = (
        by_repetition(rows, "idle_while_waiting_ratio", **one).dropna() for one in (cell, other)
    )
    common = waits.index.intersection(base.index)
    if common.empty:
        return _absent(rows)
    more = mean_interval(waits[common] - base[common])
    verdict, why, evidence = bounded(more, (item.threshold, math.inf), neutral=0)
    there, beside = (
        mean_interval(100 * share[common]).not_negative().text(" %") for share in (waits, base)
    )
    reason = (
        f"Idle while requests waited, {cell['idling']}: {there} of the time, against {beside} "
        f"with mq-deadline; difference {more.text()}: {why}."
    )
    said = with_stand_ins(reason, [str(cell["scheduler"])])
    measured = six_digits(waits[common].mean())
    return Judgement(verdict, measured, said, evidence, _measured_cell(item, cell))


def _merges(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge "requests to merge do not come in": no fewer writes a commit than with none."""
    cell = {"flush_log_at_trx_commit": DURABLE, "threads": 1}
    name = str(item.select["scheduler"])
    measured = ratio(
        _experiment(item, table),
        {**cell, "scheduler": name},
        {**cell, "scheduler": "none"},
        "writes_per_commit",
    )
    if measured is None:
        return _absent(table)
    verdict, why, evidence = compare(
        measured,
        (1, math.inf),
        neutral=1,
        margin=TIE_MARGIN,
        allowed=(1 - item.tolerance, math.inf),
    )
    reason = f"Writes per commit, {name} / none: {measured.text()}. {sentence(why)}."
    said = with_stand_ins(reason, [name])
    shared = _measured_cell(item, {**cell, "scheduler": name})
    return Judgement(verdict, six_digits(measured.value), said, evidence, shared)


def _without_verdict(item: Statement, table: pd.DataFrame) -> Judgement:
    """Say what anticipatory did; no verdict, for what it is cannot support one."""
    rows = rows_of(rows_without_an_arm(table), experiment=TABLE)
    above, below = cells_of(item)
    measured = ratio(rows, above, below)
    if measured is None:
        return _absent(rows)
    reason = with_stand_ins(
        f"{_named(above)} / {_named(below)}: {measured.text()}.{_idle(rows, above)} No verdict: "
        "the article's kernel waited for a set time on any disk. Our anticipatory, after the "
        "paper of 2001, waits only where it has learned from the disk that a wait gains "
        "something. It ran on the disk without an arm alone.",
        [above["scheduler"], below["scheduler"]],
    )
    return not_testable(reason)._replace(measured=six_digits(measured.value))


def _only_writes(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge "there were only writes" by each cell of the article's table that ran."""
    rows = _experiment(item, table)
    rows = rows.assign(share=rows["reads"] / rows["commits"])
    found, schedulers = {}, {}
    for printed_cell in printed_table()[list(CELL)].to_dict("records"):
        cell = {str(name): value for name, value in printed_cell.items()}
        share = mean_of(by_repetition(rows, "share", **cell))
        if share is not None:
            found[_named(cell)] = share
            schedulers[_named(cell)] = str(cell["scheduler"])
    if not found:
        return _absent(rows)
    verdict, evidence = together(
        [bounded(one, (-math.inf, item.threshold), neutral=0) for one in found.values()]
    )
    most = max(found, key=lambda name: found[name].value)
    reason = (
        f"Most read requests a commit: {found[most].not_negative().text()} with {most}. Cells of "
        f"the article's table that ran: {len(found)}."
    )
    measured = f"{six_digits(found[most].value)} reads a commit"
    said = with_stand_ins(reason, [schedulers[most]])
    return Judgement(verdict, measured, said, evidence, f"{TABLE}: reads of all cells")


DECIDED_BY: DecidedBy = {
    TIES: ("cell", "cells_ratio", "much_faster", "slightly_slower", "similar", "merges"),
}


def _in_two_ways(judge: engine.Judge) -> engine.Judge:
    """Let a claim be judged only if its emulated processors, if several, took turns in two ways."""

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        return one_way(_experiment(item, table)) or judge(item, table)

    return judged


_MEASURED: dict[str, engine.Judge] = {
    "cell": _cell,
    "cells_ratio": _cells_ratio,
    "much_faster": _much_faster,
    "slightly_slower": _slightly_slower,
    "similar": _similar,
    "teleport": _teleport,
    "waits": _waits,
    "merges": _merges,
    "only_writes": _only_writes,
}

JUDGES: dict[str, engine.Judge] = {
    **document.JUDGES,
    **{name: _in_two_ways(judge) for name, judge in _MEASURED.items()},
    "without_verdict": _without_verdict,
    "named_reason": engine.named_reason,
}
