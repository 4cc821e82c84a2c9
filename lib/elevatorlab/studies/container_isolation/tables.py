"""Small tables of what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ...analysis import operational_laws as laws
from ...analysis.intervals import Interval
from ...analysis.models import QUEUES, WAIT_LAWS
from ...analysis.number_texts import EXACT_DIGITS, plain, rounded
from ...analysis.queueing import mean_value_analysis
from ...analysis.rivals import ModelComparison
from ...judging.matching import without_needless_machine
from ..kit.cells import in_order, mean_of, rows_of
from ..kit.contrast import turned, with_arm
from ..kit.tables import PLACE, Captioned, cells, value_and_interval
from .claims import judge
from .measures import (
    CELL,
    FRONTIER_LABELS,
    FRONTIER_LOADS,
    LABELS,
    LEAST_SHARE,
    LOAD_LABELS,
    ONE_SERVER,
    QUANTITIES,
    SETTLING_S,
    STUDY_DISK,
    UNTESTED,
    best_for_each_load,
    by_load,
    cells_of,
    compare_curves,
    curves_over_containers,
    for_all_loads,
    front,
    loads_in,
    of_trials,
    overloads,
    phase,
    points,
    present,
    rate_mb_s,
    rises,
    runs_by_scheduler,
    seconds,
    share_of_rate,
    totals,
    wait_ms,
    waits,
    without_needless_scheduler,
)
from .trials_containers import DISKS, NORMAL, OVERLOADED, THINK_US, service_ms

OBSERVED = ("equal", "overload", "open")
WAITS = {
    "normal_ms": "wait, normal (ms)",
    "overloaded_ms": "wait, overloaded (ms)",
    "rise_ms": "rise, normal (ms)",
    "overloaded_rise_ms": "rise, overloaded (ms)",
    "system_rise_ms": "rise, all (ms)",
}
AXES = {
    "iops": "writes/s",
    "write_kib_s": "write rate",
    "utilization_ratio": "utilisation",
    "queue_length": "queue length",
    "wait_ms": "wait",
}

LOADS = (
    "Measured at each load: means over containers and repetitions, with the 95 % confidence "
    "interval of the wait. “disk busy” is the busy share that the simulated disk itself counts; "
    "“kernel's busy time” is the same from /proc/diskstats. “MVA” is the exact wait at one server "
    "with exponentially distributed service times, by mean-value analysis."
)
FITS = (
    "Rival curves, best first, with R2, AICc relative to the best, and what speaks against each. "
    "The points are the means of each load."
)
QUEUED = (
    "M/M/1 and M/D/1 fitted to the wait against the utilisation of the shared server. The server's "
    f"mean service time is {service_ms():.2f} ms. If a law holds, the service time from its fit is "
    "close to this mean. The laws can be fitted to closed writers, too, but the result has "
    "nothing to do with the disk."
)
NOTHING_FITTED = (
    "The table is empty: a fit needs at least four loads of each kind, and this run has fewer."
)
OVERLOADS = (
    "Mean waits of Figure 6, and how much longer they are than the waits without the other "
    "containers. The paper does not say how many writers overload the disk, so several numbers "
    "were measured. For each number, the size of the writes was chosen so that the writers alone "
    "wait about as long as the paper says."
)
LAWS = (
    "Operational laws as checks on every trial: how many samples were tested, how many are off by "
    f"more than {laws.TOLERANCE_PERCENT:g} %, and the worst. Queue length and wait come from the "
    "same counters. So Little's law is also checked with the wait that the container itself saw."
)


def overview_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each experiment, disk and load."""
    rows = []
    for place, run in runs_by_scheduler(measured):
        for experiment in OBSERVED:
            loads = by_load(run, experiment, disk=None)
            keys = ["disk", "containers", "offered_ratio"]
            for load, some in cells(loads, keys):
                rows.append({**place, **_load(experiment, load, some)})
    return LOADS, _shown(rows)


def _load(experiment: str, load: dict[str, Any], some: pd.DataFrame) -> dict[str, Any]:
    count, offered = int(load["containers"]), load["offered_ratio"]
    wait, interval = value_and_interval(mean_of(some["wait_ms"]))
    exact = mean_value_analysis(service_ms(), THINK_US / 1e3, count)["wait_ms"]
    return {
        "experiment": experiment,
        "disk": load["disk"],
        "normal": count,
        "offered": "" if pd.isna(offered) else f"{offered:g}",
        "repetitions": len(some),
        "writes/s": _mean(some["iops"]),
        "wait (ms)": wait,
        "95 % interval (ms)": interval,
        "MVA (ms)": plain(exact[count], EXACT_DIGITS) if experiment == "equal" else "",
        "utilisation": _mean(some["utilization_ratio"]),
        "disk busy": _mean(some["disk_busy_ratio"]),
        "kernel's busy time": _mean(some["disk_utilization_ratio"]),
    }


def _mean(values: pd.Series[float]) -> str:
    """Write a mean; a dash if all values are NaN, as a modelled hard disk counts no busy time."""
    return value_and_interval(mean_of(values))[0]


def fits_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each quantity and rival curve."""
    rows = []
    for place, run in runs_by_scheduler(measured):
        loads = by_load(run)
        for quantity, column in QUANTITIES.items():
            found = curves_over_containers(loads, quantity)
            rows += _fits({**place, "y over x": f"{AXES[column]} over containers"}, found)
        found = compare_curves(loads, WAIT_LAWS, "utilization_ratio", "wait_ms")
        rows += _fits({**place, "y over x": "wait over utilisation"}, found)
    return FITS, _shown(rows)


def queues_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each load of `ONE_SERVER` and each queueing law."""
    rows = []
    for place, run in runs_by_scheduler(measured):
        for load, (experiment, disk) in ONE_SERVER.items():
            found = compare_curves(
                by_load(run, experiment, disk), QUEUES, "disk_busy_ratio", "wait_ms"
            )
            rows += _fits({**place, "load": load}, found)
    return (QUEUED if rows else f"{QUEUED} {NOTHING_FITTED}"), _shown(rows)


def _fits(what: dict[str, Any], found: ModelComparison | None) -> list[dict[str, Any]]:
    """Return one row for each rival curve."""
    if found is None:
        return []
    return [
        {
            **what,
            "curve": one.model.name,
            "parameters": ", ".join(
                f"{name} = {_with_error(value.value, value.error)}"
                for name, value in one.parameters.items()
            ),
            "noise": one.noise,
            "R2": f"{one.r2:.4f}",
            "AICc": f"+{one.aicc - found.best.aicc:.1f}",
            "against it": " ".join(one.warnings) or "nothing known",
        }
        for one in found.fits
    ]


def _with_error(value: float, error: float) -> str:
    """Write a fitted parameter with the decimals that its standard error justifies.

    >>> _with_error(0.0002223, 0.00005), _with_error(8.0714, 0.12), _with_error(1.0, math.inf)
    ('0.00022 ± 0.00005', '8.07 ± 0.12', '1 ± inf')
    """
    if not math.isfinite(error):
        return f"{plain(value, EXACT_DIGITS)} ± {error:g}"
    number, _ = rounded(value, value - error, value + error)
    decimals = len(number.partition(".")[2])
    return f"{number} ± {f'{error:.{decimals}f}' if decimals else plain(error, 2)}"


def overloads_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each number of writers and of normal containers."""
    rows = []
    for place, run in runs_by_scheduler(measured):
        for overload, one in overloads(run).items():
            found = waits(one).merge(rises(one), how="left", on=["containers", "repetition"])
            beside = found[found["overloaded"] == 1]
            for count, some in beside.groupby("containers"):
                shown = {words: _mean(some[column]) for column, words in WAITS.items()}
                rows.append({**place, "overload": overload, "normal": count, **shown})
    return OVERLOADS, _shown(rows)


def laws_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each operational law and experiment."""
    rows = []
    for place, run in runs_by_scheduler(measured):
        for experiment, samples in run[run["experiment"].isin(OBSERVED)].groupby("experiment"):
            for what, checked in checks(samples):
                broken = checked[checked["beyond"]]
                worst = checked["violation_percent"].abs().max()
                rows.append(
                    {
                        **place,
                        "experiment": experiment,
                        "law": what,
                        "tested": int(checked["violation_percent"].notna().sum()),
                        "broken": len(broken),
                        "worst (%)": f"{worst:.1f}" if pd.notna(worst) else "–",
                    }
                )
    return LAWS, _shown(rows)


def checks(samples: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each law, and the outcome of checking an experiment's rows by it."""
    own = samples[["iops", "wait_ms", "queue_length", "utilization_ratio"]].astype(float)
    yield "Little: L = X W, kernel's counters", laws.check(own, laws.LITTLE)
    seen = own.assign(wait_ms=samples["latency_mean_ms"].astype(float))
    yield "Little: L = X W, wait as the container saw it", laws.check(seen, laws.LITTLE)
    if (samples["experiment"] != "open").all():
        yield "one write outstanding: U = L", laws.check(own, laws.DEPTH_ONE)
    names = {"disk_iops": "iops", "disk_busy_ratio": "utilization_ratio"}
    disk = samples.drop_duplicates("trial")[["disk_iops", "service_ms", "disk_busy_ratio"]]
    disk = disk.astype(float).rename(columns=names)
    yield "disk: U = X S, the server's account", laws.check(disk, laws.UTILIZATION)
    kernel = samples.drop_duplicates("trial")["disk_utilization_ratio"].astype(float)
    disk = disk.assign(utilization_ratio=kernel)
    yield "disk: U = X S, the kernel's busy time", laws.check(disk, laws.UTILIZATION)


def _shown(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return without_needless_machine(without_needless_scheduler(pd.DataFrame(rows)))


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


def regulation_tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the tables of experiments ``regulation`` and ``comparison``, without empty ones."""
    each = [regulation_table(measured), comparison_table(measured), targets_table(measured)]
    return [(caption, table) for caption, table in each if len(table)]


def regulation_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run, policy and phase."""
    rows = []
    for where, run in runs_by_scheduler(measured):
        for policy in present(seconds(run, "regulation")):
            of_policy = seconds(run, "regulation", mechanism=policy)
            for name in ("before", "after"):
                of_phase = phase(of_policy, name)
                normal = of_phase[of_phase["role"] == NORMAL]
                overloaded = of_phase[of_phase["role"] == OVERLOADED]
                rows.append(
                    {
                        **where,
                        "policy": policy,
                        "phase": name,
                        "overloaded_mb_s": _text(rate_mb_s(overloaded)),
                        "normal_wait_ms": _text(wait_ms(normal)),
                        "normal_mb_s": _text(rate_mb_s(normal)),
                    }
                )
    return REGULATION, without_needless_scheduler(pd.DataFrame(rows))


def comparison_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run, load and mechanism."""
    rows = []
    for where, run in cells(measured, PLACE):
        whole = totals(run, "comparison")
        for kind in loads_in(whole):
            of_load = whole[whole["load"] == kind]
            for name in present(of_load):
                of_one = of_load[of_load["mechanism"] == name]
                normal = of_one[of_one["role"] == NORMAL]
                rows.append(
                    {
                        **where,
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
    return COMPARISON, pd.DataFrame(rows)


def targets_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run and mechanism: which targets it met."""
    rows = []
    for where, run in cells(measured, PLACE):
        whole = totals(run, "comparison", load="step", role=NORMAL)
        each_second = seconds(run, "comparison", load="step", role=NORMAL)
        for name in present(whole):
            of_one = whole[whole["mechanism"] == name]
            late = phase(each_second[each_second["mechanism"] == name], "after")
            share = share_of_rate(of_one)
            met = {
                "recovered in time": bool((of_one["recovery_s"] <= SETTLING_S).all()),
                "no violation later": bool((late["latency_mean_ms"] <= late["sla_wait_ms"]).all()),
                "disk in use": share is not None and share.value >= LEAST_SHARE,
            }
            met["all"] = all(met.values())
            said = {target: "met" if is_met else "not met" for target, is_met in met.items()}
            rows.append({**where, "mechanism": LABELS[name], **said})
    return TARGETS, pd.DataFrame(rows)


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


def _text(found: Interval | None) -> str:
    if found is None:
        return "–"
    return f"{found.value:.3g}"


FRONTIER = (
    "Beyond the paper: each mechanism in its best settings. No other setting of the mechanism has "
    "both fewer missed seconds and a higher rate of the offenders. A second is missed when a "
    "normal container's mean wait is above the SLA. A second is missed by p99 when the 99th "
    "percentile of a normal container's waits is above the SLA. The first 250 ms are not judged. "
    "“oscillation” is the standard deviation of the offenders' rate over its mean. “more busy” is "
    "the share of time in which the disk is busy, minus that share with the normal containers "
    "alone."
)
FOR_ALL_LOADS = (
    "Beyond the paper: each mechanism with one setting for all loads. The first seed chose the "
    "setting that misses the fewest seconds under all loads, and of such the one with the highest "
    "rate of the offenders. The table has the other seeds: the seconds missed in all trials "
    "together, and the means over the trials. A mechanism is missing where the setting was not "
    "run equally often under each load."
)
FOR_EACH_LOAD = (
    "Beyond the paper: each mechanism with the setting that suits each load best: the one that "
    "misses the fewest seconds a trial, and of such the one with the highest rate of the "
    "offenders. A cell is empty if that one did not run with all seeds. The first number is the "
    "seconds missed in all trials together. The second is the rate of all offenders (MB/s)."
)
OF_ALL = ("wait_ms", "p99_ms", "offenders_mb_s")
MEASURES = {
    "missed_s": "missed (s)",
    "missed_p99_s": "missed by p99 (s)",
    "wait_ms": "wait (ms)",
    "p99_ms": "p99 (ms)",
    "offenders_mb_s": "offenders (MB/s)",
    "recovery_s": "recovery (s)",
    "oscillation": "oscillation",
    "more_busy": "more busy",
    "cpu_busy_ratio": "processor",
}


def frontier_tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the tables of experiment ``frontier``; an empty list if it was not run."""
    on_disks = [
        ({**where, "disk": disk}, rows_of(found, disk=disk))
        for where, run in cells(measured, PLACE)
        for found in (points(run),)
        for disk in in_order(found, "disk", DISKS)
    ]
    tables_of = (
        (FOR_ALL_LOADS, _lines_for_all_loads),
        (FOR_EACH_LOAD, _lines_for_each_load),
        (FRONTIER, _frontier_lines),
    )
    captioned = []
    for caption, lines_of in tables_of:
        if lines := [{**where, **line} for where, found in on_disks for line in lines_of(found)]:
            captioned.append((caption, pd.DataFrame(lines).fillna("–")))
    return captioned


def _lines_for_all_loads(found: pd.DataFrame) -> list[dict[str, Any]]:
    judged = found[found["repetition"] > 1]
    lines = []
    for chosen in for_all_loads(found).itertuples():
        rows = rows_of(judged, mechanism=chosen.mechanism, setting=chosen.setting)
        trials = rows.groupby("load").size().reindex(found["load"].unique(), fill_value=0)
        if trials.nunique() == 1 and len(rows):
            line = {"mechanism": FRONTIER_LABELS[str(chosen.mechanism)], "setting": chosen.setting}
            line |= {"n": len(rows), MEASURES["missed_s"]: rows["missed_s"].sum()}
            lines.append(line | {MEASURES[name]: f"{rows[name].mean():.3g}" for name in OF_ALL})
    return lines


def _lines_for_each_load(found: pd.DataFrame) -> list[dict[str, Any]]:
    best = best_for_each_load(found[found["mechanism"] != "alone"])
    return [
        {
            "load": label,
            **{
                FRONTIER_LABELS[mechanism]: f"{one['missed_s']:.0f}, {one['offenders_mb_s']:.2f}"
                for mechanism in in_order(of_load, "mechanism", FRONTIER_LABELS)
                for _, one in of_load[of_load["mechanism"] == mechanism].iterrows()
            },
        }
        for load, label in FRONTIER_LOADS.items()
        if len(of_load := best[best["load"] == load])
    ]


def _frontier_lines(found: pd.DataFrame) -> list[dict[str, Any]]:
    lines = []
    for load in FRONTIER_LOADS:
        for mechanism in in_order(found, "mechanism", FRONTIER_LABELS):
            of_one = found[(found["load"] == load) & (found["mechanism"] == mechanism)]
            if len(of_one):
                best = front(cells_of(of_one)) if mechanism != "alone" else cells_of(of_one)
                lines += [_frontier_line(of_one, cell) for _, cell in best.iterrows()]
    return lines


def _frontier_line(found: pd.DataFrame, cell: pd.Series[Any]) -> dict[str, Any]:
    rows = found[(found[CELL] == cell[CELL]).all(axis=1)]
    return {
        "load": FRONTIER_LOADS[cell["load"]],
        "mechanism": FRONTIER_LABELS[cell["mechanism"]],
        "setting": cell["setting"],
        "n": len(rows),
        **{label: _with_half(mean_of(rows[name])) for name, label in MEASURES.items()},
    }


def _with_half(found: Interval | None) -> str:
    if found is None:
        return "–"
    half = f" ± {found.high - found.value:.2g}" if found.bounded else ""
    return f"{found.value:.3g}{half}"


def tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the study's tables, each with its caption."""
    of_interference = (overview_table, fits_table, laws_table, queues_table, overloads_table)
    found = [table(measured) for table in of_interference]
    found += [*regulation_tables(measured), *frontier_tables(measured)]
    calibrated = measured[measured["disk"] == STUDY_DISK]
    drives = measured[with_arm(measured)].assign(disk=STUDY_DISK)
    return [*found, *turned(judge, calibrated, drives)]
