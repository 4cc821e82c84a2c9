"""Small tables of what was measured: loads, fitted curves, and checks by operational laws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ....analysis import laws
from ....analysis.models import QUEUES, WAIT_LAWS
from ....analysis.queueing import mean_value_analysis
from ....analysis.rivals import ModelComparison
from ....analysis.wording import EXACT_DIGITS, plain, rounded
from ....judging.matching import without_needless_machine
from ...kit.cells import mean_of
from ...kit.tables import Captioned, cells, value_and_interval
from ..measures.curves import compare_curves, curves_over_containers
from ..measures.interference import ONE_SERVER, QUANTITIES, by_load, overloads, rises, waits
from ..measures.schedulers import runs_by_scheduler, without_needless_scheduler
from ..trials.disks import THINK_US, service_ms

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
