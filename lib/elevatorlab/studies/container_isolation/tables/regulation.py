"""Small tables of what the regulator and the kernel's own mechanisms did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from ....analysis.intervals import Interval
from ...kit.tables import PLACE, Captioned, cells
from ..measures.mechanisms import LABELS, LOAD_LABELS, UNTESTED, loads_in, present
from ..measures.regulation import (
    LEAST_SHARE,
    SETTLING_S,
    of_trials,
    phase,
    rate_mb_s,
    seconds,
    share_of_rate,
    totals,
    wait_ms,
)
from ..measures.schedulers import runs_by_scheduler, without_needless_scheduler
from ..trials.containers import NORMAL, OVERLOADED

COMPARISON = (
    "Beyond the paper: three normal containers next to those that overload the disk. A violation "
    "is a period of 1 s in which any of the three waits longer than the SLA. The disk's share is "
    "the share of time in which its server worked, since the overload began. " + UNTESTED
)
TARGETS = (
    "This project's own targets under the step load, set on 2026-11-21, and whether each mechanism "
    f"meets them. The targets are: recover within {SETTLING_S} control periods, have no violation "
    f"later, and keep the disk busy for at least {LEAST_SHARE:.0%} of the time. The kernel's "
    "mechanisms have the same targets."
)
REGULATION = (
    "Write rates and waits of Figures 8 and 9. “before”: before the regulator began. “after”: from "
    "two control periods after its start."
)


def tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the tables of experiments ``regulation`` and ``comparison``, without empty ones."""
    each = [regulation_table(measured), comparison_table(measured), targets_table(measured)]
    return [(caption, table) for caption, table in each if len(table)]


def regulation_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run, policy and phase."""
    runs = runs_by_scheduler(measured)
    lines = [{**where, **line} for where, run in runs for line in _regulation(run)]
    return REGULATION, without_needless_scheduler(pd.DataFrame(lines))


def comparison_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run, load and mechanism."""
    return COMPARISON, _of_each_run(measured, _comparison)


def targets_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run and mechanism: which targets it met."""
    return TARGETS, _of_each_run(measured, _targets)


def _of_each_run(
    measured: pd.DataFrame, lines_of: Callable[[pd.DataFrame], list[dict[str, Any]]]
) -> pd.DataFrame:
    """Return one table of all runs, which are never pooled."""
    lines = [{**where, **line} for where, run in cells(measured, PLACE) for line in lines_of(run)]
    return pd.DataFrame(lines)


def _regulation(measured: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for policy in present(seconds(measured, "regulation")):
        of_policy = seconds(measured, "regulation", mechanism=policy)
        for name in ("before", "after"):
            of_phase = phase(of_policy, name)
            normal = of_phase[of_phase["role"] == NORMAL]
            overloaded = of_phase[of_phase["role"] == OVERLOADED]
            rows.append(
                {
                    "policy": policy,
                    "phase": name,
                    "overloaded_mb_s": _text(rate_mb_s(overloaded)),
                    "normal_wait_ms": _text(wait_ms(normal)),
                    "normal_mb_s": _text(rate_mb_s(normal)),
                }
            )
    return rows


def _comparison(measured: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    whole = totals(measured, "comparison")
    for kind in loads_in(whole):
        of_load = whole[whole["load"] == kind]
        for name in present(of_load):
            of_one = of_load[of_load["mechanism"] == name]
            normal = of_one[of_one["role"] == NORMAL]
            rows.append(
                {
                    "load": LOAD_LABELS[kind],
                    "mechanism": LABELS[name],
                    "violation_s": _text(of_trials(normal, "violation_s")),
                    "recovery_s": _text(of_trials(normal, "recovery_s")),
                    "disk's share": _text(share_of_rate(normal)),
                    "normal_mb_s": _text(rate_mb_s(normal)),
                    "offenders_mb_s": _text(rate_mb_s(of_one[of_one["role"] == OVERLOADED])),
                    "Jain": _text(of_trials(normal, "jain_ratio")),
                }
            )
    return rows


def _targets(measured: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    whole = totals(measured, "comparison", load="step", role=NORMAL)
    each_second = seconds(measured, "comparison", load="step", role=NORMAL)
    for name in present(whole):
        of_one = whole[whole["mechanism"] == name]
        late = violated_late(each_second[each_second["mechanism"] == name])
        share = share_of_rate(of_one)
        met = {
            "recovered in time": bool((of_one["recovery_s"] <= SETTLING_S).all()),
            "no violation later": late == 0,
            "disk in use": share is not None and share.value >= LEAST_SHARE,
        }
        rows.append(
            {
                "mechanism": LABELS[name],
                **{target: "met" if is_met else "not met" for target, is_met in met.items()},
                "all": "met" if all(met.values()) else "not met",
            }
        )
    return rows


def better_than_slae(measured: pd.DataFrame) -> str:
    """Say for each load which mechanisms missed the SLA for a shorter time than our SLAE."""
    sentences = []
    whole = totals(measured, "comparison", role=NORMAL)
    for kind in loads_in(whole):
        of_load = whole[whole["load"] == kind]
        missed_s = {
            name: found.value
            for name in present(of_load)
            if (found := of_trials(of_load[of_load["mechanism"] == name], "violation_s"))
        }
        if "slae" not in missed_s:
            continue
        better = [
            f"{LABELS[name].replace(',', '')} ({value:.3g} s)"
            for name, value in missed_s.items()
            if value < missed_s["slae"]
        ]
        sentences.append(
            f"Under the load “{LOAD_LABELS[kind]}”, our SLAE missed its SLA for "
            f"{missed_s['slae']:.3g} s. {_shorter(better)}"
        )
    return " ".join(sentences)


def _shorter(better: list[str]) -> str:
    if not better:
        return "No other mechanism missed the SLA for a shorter time."
    missed = "These mechanisms" if len(better) > 1 else "This mechanism"
    return f"{missed} missed the SLA for a shorter time, or never: {'; '.join(better)}."


def fairness(measured: pd.DataFrame) -> str:
    """Say how equal the normal containers were, by Jain's index.

    The index is usually so near 1 that a panel of a figure would show nothing.
    """
    found = totals(measured, "comparison", role=NORMAL)["jain_ratio"].dropna()
    if found.empty:
        return ""
    return (
        "Jain's index of fairness among the normal containers is between "
        f"{found.min():.3g} and {found.max():.3g} (1: all equal); the table has each."
    )


def violated_late(rows: pd.DataFrame) -> int:
    """Return the number of seconds after settling in which a normal container missed its SLA."""
    late = phase(rows, "after")
    missed = late[~(late["latency_mean_ms"] <= late["sla_wait_ms"])]
    return len(missed[["trial", "time_s"]].drop_duplicates())


def _text(found: Interval | None) -> str:
    if found is None:
        return "–"
    return f"{found.value:.3g}"
