"""How Figures 3 to 6 are judged where host and target had several cores of their own.

As everywhere, only ratios are compared with the document: SBQ relative to noop on the same cores,
or noop relative to the reference point of its curve. The cores are emulated. The emulated machine
can be arranged in several ways: by the length of its slots, and by what moving a cache line costs.
A verdict stands only if every measured arrangement gives it (`steadied`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ....analysis.intervals import Interval
from ....judging.claim import Claim
from ....judging.claims import Judge
from ....judging.families import Statement
from ....judging.verdicts import Judgement, Verdict, not_testable, undecided
from ...kit.cells import paired_ratio
from ..document import core_ratios, gone, gone_from, size_ratios
from ..measures import (
    THROUGHPUT,
    apart,
    at,
    cores_in,
    gain,
    one_core,
    where_of,
    words,
)
from ..published import BAR_STEP, GBPS_STEP, KIOPS_STEP, NOOP, SBQ, noop_beside
from ..trials import CORES_OF_SIZES
from .points import held_against

#: The arrangement in the name of an accelerator (`testbeds.deterministic.multicore`).
ARRANGEMENT = re.compile(r"cpus (\d+), slot (\d+), transfer (\d+)")


def on_cores(judge: Judge, of_one_core: Judge) -> Judge:
    """Let a claim be judged by the rows in which host and target have cores of their own.

    Without such rows, the claim is judged by `of_one_core`.
    """

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        measured = apart(table)
        return of_one_core(item, table) if measured.empty else judge(item, measured)

    return judged


def on_one_core(judge: Judge) -> Judge:
    """Let a claim about one core be judged by the rows with one core for each side.

    If host and target have no cores of their own in the run, all rows are used.
    """

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        if apart(table).empty:
            return judge(item, table)
        table = one_core(table)
        unscaled = item.select.get("scale") == "unscaled"
        if table.empty or (unscaled and 1 not in set(table["time_scale"])):
            return not_testable("Not run here with one core for the host and one for the target.")
        return _on(1, judge(item, table))

    return judged


def _point(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge a point of Figures 3 to 6."""
    # The published table of Figure 6 does not give the number of cores in each row.
    row = {"cores": CORES_OF_SIZES, **item.select}
    there, cores = cores_in(table), row["cores"]
    if cores not in there:
        return not_testable(f"Not run here on {cores} cores, but on {', '.join(map(str, there))}.")
    where = where_of(row, table)
    column, step = _column(row)
    if row["scheduler"] == SBQ:
        beside = noop_beside(row, column)
        ratio = gain(_of(table, cores), **where)
        return _on(cores, held_against(item, ratio, beside, step, where))
    reference = _reference(row)
    if reference == row:
        return not_testable("What the other points of noop in this figure are relative to.")
    ratio = paired_ratio(_rate(table, row), _rate(table, reference))
    return _on(cores, held_against(item, ratio, noop_beside(reference, column), step, where))


def _of(table: pd.DataFrame, cores: int) -> pd.DataFrame:
    return table[table["cores"] == cores]


def _rate(table: pd.DataFrame, row: Mapping[str, Any]) -> pd.Series[float]:
    """Return noop's rate at a point, by repetition: in requests/s, for Figure 6 in KiB/s."""
    where = {**where_of(row, table), "scheduler": "none"}
    request_kb: float = row.get("request_kb", 1)
    return at(_of(table, row["cores"]), THROUGHPUT, **where) * request_kb


def _column(row: Mapping[str, Any]) -> tuple[str, float]:
    """Return the published column of a point, and the resolution of its reading."""
    if "request_kb" in row:
        return "throughput_gbps", GBPS_STEP
    return "throughput_kiops", BAR_STEP if "read_percent" in row else KIOPS_STEP


def _reference(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reference point of noop's curve, to which its other points are relative."""
    for name, value in {"request_kb": 4, "read_percent": 100}.items():
        if name in row:
            return {**row, name: value}
    return {**row, "cores": 1}


def _on(cores: int, judgement: Judgement) -> Judgement:
    words_of = "1 core" if cores == 1 else f"{cores} cores"
    said = f"{words_of} of the host, as many of the target: {judgement.reason}"
    cell = f"{judgement.cell}, {words_of}" if judgement.cell else ""
    return judgement._replace(reason=said, cell=cell)


def _gain_is_gone(item: Statement, table: pd.DataFrame) -> Judgement:
    """Find the number of cores, among those that ran, from which on SBQ is no faster than noop."""
    case = {**item.select["case"], "driver": item.select["driver"], "scheduler": NOOP}
    where = where_of({name: case[name] for name in ("target", "operation", "driver")}, table)
    found = {cores: gain(_of(table, cores), **where) for cores in cores_in(table)}
    shown = core_ratios(case["target"], case["operation"])
    return _end(found, gone_from(shown), int(shown.index[-1]), words(where))


def _gain_is_gone_by_size(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge as not testable: with cores apart, the cable has no rate, so it is never full."""
    case = item.select["case"]
    printed = gone_from(size_ratios(case["operation"]))
    return not_testable(
        "Host and target apart have a cable without a rate here: one link for all processors would "
        f"be one queue, for which they would wait. Published: no gain from {printed} KiB on, where "
        "the link is full."
    )


def _end(
    found: Mapping[int, Interval | None], printed: int | None, last: int, said: str
) -> Judgement:
    """Compare the number of cores from which on there is no gain with the published number.

    The published number is `printed`. If it is None, the document shows a gain up to `last` cores.
    """
    ratios = {cores: one for cores, one in found.items() if one is not None}
    needed = printed or last
    if len(ratios) < 2 or max(ratios) < needed:
        ran = ", ".join(map(str, ratios)) or "none"
        return not_testable(
            f"It takes {needed} cores to see it; run here with noop beside: {ran}. {said}."
        )
    if not all(one.bounded for one in ratios.values()):
        return undecided(f"One repetition does not decide it ({said}).")
    values = pd.Series({cores: one.value for cores, one in ratios.items()})
    here = gone_from(values)
    shown = ", ".join(f"{cores}: {value:.3g}" for cores, value in values.items())
    published = f"from {printed} cores on" if printed else f"on none of {last} cores"
    reason = f"SBQ / noop by cores: {shown}; published: {gone():.3f} or less {published}. {said}."
    if here == printed:
        return Judgement(Verdict.REPRODUCED, here or "on none of them", reason)
    verdict = Verdict.DIRECTION_ONLY if here and printed else Verdict.CONTRADICTED
    return Judgement(verdict, here or "on none of them", reason)


def steadied(claims: Sequence[Claim], measured: pd.DataFrame) -> list[Claim]:
    """Withdraw the verdicts on emulated cores that depend on the emulated machine's arrangement.

    Returns: The claims in the same order. A verdict stands if at least two slot lengths and two
    costs of a transfer were measured, and all of them give this verdict. Otherwise the claim is not
    testable, and its reason has the verdict of this arrangement alone.
    """
    emulated = _arrangements(measured)
    found: dict[Key, dict[Arrangement, Verdict]] = {}
    for claim in claims:
        if claim.machine in emulated and claim.verdict != Verdict.NOT_TESTABLE:
            arrangement = emulated[claim.machine]
            found.setdefault(_key(claim, arrangement), {})[arrangement] = claim.verdict
    return [
        _unless_unsteady(claim, found.get(_key(claim, emulated[claim.machine]), {}))
        if claim.machine in emulated and claim.verdict != Verdict.NOT_TESTABLE
        else claim
        for claim in claims
    ]


class Arrangement(NamedTuple):
    """How an emulated machine is arranged."""

    #: Number of processors.
    cpus: str
    #: slot, transfer: Instructions of a slot, and instructions that moving a cache line costs.
    slot: str
    transfer: str


#: A claim's id, its preset, and the number of processors.
Key = tuple[str, str, str]


def _key(claim: Claim, arrangement: Arrangement) -> Key:
    return claim.id, claim.preset, arrangement.cpus


def _arrangements(measured: pd.DataFrame) -> dict[str, Arrangement]:
    """Return the arrangement of each emulated machine; real machines have none."""
    rows = apart(measured)[["machine", "accelerator"]].drop_duplicates()
    texts = zip(rows["machine"], rows["accelerator"].astype(str), strict=True)
    read = ((machine, ARRANGEMENT.search(text)) for machine, text in texts)
    return {machine: Arrangement(*found.groups()) for machine, found in read if found}


def _unless_unsteady(claim: Claim, verdicts: Mapping[Arrangement, Verdict]) -> Claim:
    slots = {one.slot for one in verdicts}
    transfers = {one.transfer for one in verdicts}
    if len(set(verdicts.values())) > 1:
        why = (
            "The verdict depends on the length of the emulated machine's slots, or on what moving "
            "a cache line costs. So it says nothing of real processors."
        )
    elif len(slots) < 2 or len(transfers) < 2:
        why = (
            "A verdict about emulated processors takes two slot lengths and two costs of moving a "
            f"cache line (slot=200, transfer=100). This was run with slots of {_list(slots)} and "
            f"costs of {_list(transfers)}."
        )
    else:
        return claim
    changes = {
        "verdict": Verdict.NOT_TESTABLE,
        "reason": f"{why} By this arrangement alone: {claim.verdict}. {claim.reason}",
        **{"p_value": None, "p_adjusted": None, "repetitions_to_decide": None},
    }
    return claim.model_copy(update=changes)


def _list(numbers: Iterable[str]) -> str:
    return ", ".join(sorted(numbers, key=int))


def judges(of_one_core: Mapping[str, Judge]) -> dict[str, Judge]:
    """Return all judges that use measurements, for every kind of run.

    `of_one_core`: The judges for runs in which host and target share their processors, or are two
    machines. In the result, they also judge runs in which host and target have cores of their own.
    """
    several: dict[str, Judge] = {
        "cores": _point,
        "many_cores": _point,
        "gain_is_gone": _gain_is_gone,
        "gain_is_gone_by_size": _gain_is_gone_by_size,
    }
    return {
        name: on_cores(several[name], judge) if name in several else on_one_core(judge)
        for name, judge in of_one_core.items()
    }
