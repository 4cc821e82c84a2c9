"""Small tables of what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...judging.matching import runs
from ...plugins.schedulers import shown_name
from ..kit.cells import paired_ratio
from ..kit.tables import Captioned, cells
from .columns import WHERE, WORK, busy_column
from .measures import (
    DRIVERS,
    READ_PERCENT,
    TARGETS,
    THROUGHPUT,
    apart,
    at,
    gain,
    scale_of,
    shared,
)
from .published import NOOP, SBQ, SCHEDULER, core_scaling, gain_by_depth, single_core_latency
from .trials import LOCAL, SCHEDULERS

OVERVIEW = (
    "Measured at depth 64 with 4 KiB random reads: thousand requests per second, as means over "
    "repetitions. SBQ is also shown relative to noop, with a 95 % confidence interval. For each "
    "request, the table also has the processor's time and the TCP segments with data that the host "
    "sent."
)
APART = (
    "Host and target apart, depth 64, 4 KiB random reads. “host alone” is the host's processor "
    "time per request with noop, divided by that with SBQ: the gain if the host alone were the "
    "limit. “target alone” is the same for the target. “together” is the measured gain: SBQ's "
    "throughput divided by noop's. “published” is the document's gain; there, host and target are "
    "two machines."
)
CALIBRATION = (
    "The scale of time. “published / measured” is the throughput of the document's host core "
    "divided by that of this machine: noop and a RAM target, depth 64. Neither a disk's time nor "
    "SBQ's timeout has a part in this. “scale of time” is the ratio for the stock driver, rounded: "
    "a calibration point, not a result. “published / host alone” leaves out the target's part of "
    "this machine's time. To see what depends on the scale, compare the rows with times × 1 in the "
    "other tables with the rows beside them."
)
ON_CORES = (
    "Host and target on processors of their own, depth 64, 4 KiB: thousand requests per second on "
    "the document's scale. SBQ relative to noop was measured on the emulated processors, and has a "
    "95 % confidence interval. Beside it is the published ratio. docs/multicore.md says what these "
    "processors leave out."
)
_RIG = ("target", "driver", "time_scale")


def tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the study's tables, each with its caption."""
    alike = shared(measured)
    return [
        overview_table(alike),
        processor_time_table(alike),
        calibration_table(alike),
        cores_table(apart(measured)),
        *([] if alike["scheduler"].isin(SCHEDULERS).all() else [others_table(alike)]),
    ]


def overview_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run, target, driver and scale of time."""
    rows = []
    for run in runs(measured):
        for where, some in cells(run.rows, _RIG):
            ratio = gain(some, **where)
            if ratio is not None:
                rows.append(
                    {
                        "run": run.label,
                        "target": TARGETS[where["target"]],
                        "driver": DRIVERS.get(where["driver"], "no network"),
                        "times": f"x {where['time_scale']:g}",
                        **_pair(some, where),
                        "SBQ / noop": ratio.text(),
                    }
                )
    columns = ["run", "target", "driver", "times", *_COLUMNS, "SBQ / noop"]
    return OVERVIEW, pd.DataFrame(rows, columns=columns)


_COLUMNS = [f"{what}, {name}" for what in ("kIOPS", "us", "segments") for name in ("noop", "SBQ")]


def _pair(rows: pd.DataFrame, where: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    units = {THROUGHPUT: 1e-3, "busy_ns_per_request": 1e-3, "host_sends_per_request": 1}
    for (column, unit), what in zip(units.items(), ("kIOPS", "us", "segments"), strict=True):
        for scheduler, name in (("none", "noop"), ("sbq", "SBQ")):
            value = at(rows, column, scheduler=scheduler, **where).mean() * unit
            sent = what != "segments" or where["driver"] != LOCAL
            found[f"{what}, {name}"] = f"{value:.2f}" if sent else "–"
    return found


def processor_time_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run, target and driver: what SBQ saves on each side."""
    published_gains = {one: gain_by_depth(single_core_latency(), one) for one in TARGETS}
    rows = []
    for run in runs(measured):
        traced = run.rows[run.rows[busy_column("host")].notna()]
        for where, some in cells(traced, _RIG):
            if where["driver"] != LOCAL and (together := gain(some, **where)):
                rows.append(
                    {
                        "run": run.label,
                        "target": TARGETS[where["target"]],
                        "driver": DRIVERS[where["driver"]],
                        "times": f"x {where['time_scale']:g}",
                        **{f"{one} alone": _saved(some, one, where) for one in WORK},
                        "together": together.text(),
                        "published": f"{published_gains[where['target']][WHERE['depth']]:.2f}",
                    }
                )
    alone = [f"{one} alone" for one in WORK]
    columns = ["run", "target", "driver", "times", *alone, "together", "published"]
    return APART, pd.DataFrame(rows, columns=columns)


def _saved(rows: pd.DataFrame, endpoint: str, where: Mapping[str, Any]) -> str:
    column = busy_column(endpoint)
    noop, sbq = (at(rows, column, scheduler=name, **where) for name in ("none", "sbq"))
    ours = (noop > 0).all() and (sbq > 0).all()  # another machine's time is not counted
    ratio = paired_ratio(noop, sbq) if ours else None
    return "–" if ratio is None else f"{ratio.value:.2f}"


def calibration_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each run and driver: the scale of time that it suggests."""
    shown = single_core_latency().query(
        "target == 'ram' and scheduler == 'noop' and io_depth == 64 and latency_kind == 'mean'"
    )
    published_iops = 1000 * float(shown["throughput_kiops"].iloc[0])
    rows = []
    for run in runs(measured):
        scale = scale_of(run.rows)
        for driver, words in DRIVERS.items():
            where = {"target": "ram", "driver": driver, "time_scale": scale}
            noop = at(run.rows, THROUGHPUT, scheduler="none", **where)
            published = pd.Series(published_iops, noop.index)
            ratio = paired_ratio(published, noop)
            if ratio is None:
                continue
            rows.append(
                {
                    "run": run.label,
                    "driver": words,
                    "published / measured": f"{ratio.value:.2f}",
                    "published / host alone": _host_alone(run.rows, where, published),
                    "scale of time": f"{scale:g}",
                }
            )
    columns = ["run", "driver", "published / measured", "published / host alone", "scale of time"]
    return CALIBRATION, pd.DataFrame(rows, columns=columns)


def _host_alone(
    rows: pd.DataFrame, where: Mapping[str, Any], published_iops: pd.Series[float]
) -> str:
    host_ns = at(rows, busy_column("host"), scheduler="none", **where)
    return f"{(published_iops * host_ns / 1e9).mean():.2f}" if host_ns.notna().all() else "–"


def cores_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and a row for each point of Figures 3 and 4.

    `measured`: Rows in which host and target have cores of their own.
    """
    shown = core_scaling().pivot(
        index=["target", "operation", "cores"], columns="scheduler", values="throughput_kiops"
    )
    rows = []
    for run in runs(measured):
        for what, some in cells(run.rows, ("target", "driver", "time_scale", "cores")):
            for operation, read_percent in READ_PERCENT.items():
                found = _of_cores(some, what, read_percent)
                place = (what["target"], operation, what["cores"])
                if found and place in shown.index:
                    rows.append(
                        {
                            **{"run": run.label, "target": TARGETS[what["target"]]},
                            **{"operation": operation, "cores": f"{what['cores']:g}", **found},
                            "published noop": f"{shown.loc[place, NOOP]:g}",
                            "published": f"{shown.loc[place, SBQ] / shown.loc[place, NOOP]:.3f}",
                        }
                    )
    columns = ["run", "target", "operation", "cores", "noop", "SBQ", "SBQ / noop"]
    columns += ["published noop", "published"]
    return ON_CORES, pd.DataFrame(rows, columns=columns)


def _of_cores(
    some: pd.DataFrame, what: Mapping[str, Any], read_percent: int
) -> dict[str, str] | None:
    """Return both schedulers' rates in kIOPS on the document's scale, and their ratio."""
    where = {"target": what["target"], "driver": what["driver"], "read_percent": read_percent}
    rates = {name: at(some, THROUGHPUT, **where, scheduler=SCHEDULER[name]) for name in (NOOP, SBQ)}
    ratio = paired_ratio(rates[SBQ], rates[NOOP])
    if ratio is None:
        return None
    kiops = {name: rate.mean() / 1000 * what["time_scale"] for name, rate in rates.items()}
    named = {NOOP: "noop", SBQ: "SBQ"}
    return {
        **{named[name]: f"{one:.0f}" for name, one in kiops.items()},
        "SBQ / noop": ratio.text(),
    }


OTHERS = (
    "Schedulers that are neither in the document nor in the study's presets, with 4 KiB random "
    "reads: thousand requests per second, as means over repetitions. Throughput is also shown "
    "relative to noop, with a 95 % confidence interval. “no network” is the same disk on the "
    "machine itself."
)

_OTHERS_COLUMNS = (
    "run",
    "scheduler",
    "target",
    "driver",
    "times",
    "depth",
    "kIOPS",
    "relative to noop",
)


def others_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each other scheduler, target, driver and depth.

    `measured`: The study's tidy table, without rows that had cores of their own.
    """
    found = []
    for run in runs(measured):
        others = run.rows[~run.rows["scheduler"].isin(SCHEDULERS)]
        for point, _ in cells(others, ("scheduler", "target", "driver", "time_scale", "depth")):
            row = _of_other(run.rows, point)
            if row:
                found.append({"run": run.label, **row})
    return OTHERS, pd.DataFrame(found, columns=list(_OTHERS_COLUMNS))


def _of_other(rows: pd.DataFrame, point: dict[str, Any]) -> dict[str, str] | None:
    """Return the row of a point; None if noop was not measured at this point."""
    ratio = gain(rows, **point)
    if ratio is None:
        return None
    return {
        "scheduler": shown_name(point["scheduler"]),
        "target": TARGETS[point["target"]],
        "driver": DRIVERS.get(point["driver"], "no network"),
        "times": f"x {point['time_scale']:g}",
        "depth": f"{point['depth']:g}",
        "kIOPS": f"{at(rows, THROUGHPUT, **point).mean() / 1000:.2f}",
        "relative to noop": ratio.text(),
    }
