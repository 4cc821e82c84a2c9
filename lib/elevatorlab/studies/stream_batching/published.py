"""The document's six figures: points read off the vector drawing of the published PDF.

The document prints no numbers. So instead of a rounding step, there is a resolution of the reading
(`POINT_STEP` and its neighbours).
Figures 1 and 2 do not print the I/O depths of their points either. The depths (powers of two) were
assigned to the points by their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pandas as pd

from ...judging.families import read_once, read_published

NAME = "stream_batching"

NOOP, SBQ = "noop", "sbq"

#: What the document calls noop is the kernel's ``none``.
SCHEDULER = {NOOP: "none", SBQ: "sbq"}

POINT_STEP, KIOPS_STEP, BAR_STEP, GBPS_STEP, LATENCY_STEP_US = 0.2, 1.0, 5.0, 0.1, 0.5
"""Resolution of the reading: the points of Figures 1 and 2, the lines of 3 and 4 and the bars of 5
in thousand requests per second, Figure 6 in Gb/s, and latencies, which were read off in whole
microseconds. Figures 1 and 2 show each throughput twice, and no two readings differ by more than
0.1."""

LINK_GBPS = 100
"""What the document's link carries: "100Gbps links, directly connected without any intervening
switches" (section 1)."""

LINK_DELAY_US = 5
"""The delay of a message in each direction, without the time for its bytes.

The document gives no delay, so this is an estimate. The document has a cable without switches, and
network cards that wait a fixed time before they interrupt ("DIM disabled" in Table 1). Two cards
and a cable take about 1 us. By default, this card's driver in Linux waits up to 8 us (mlx5,
``MLX5E_PARAMS_DEFAULT_RX_CQ_MODERATION_USEC_FROM_CQE``). So the delay is between 1 and 9 us. The
middle was chosen before anything was measured with it.
"""

KIB_BITS = 8192


def single_core_latency() -> pd.DataFrame:
    """Return Figures 1 and 2: throughput and latency at each I/O depth, on one core.

    Returns: document, table, row, target, latency_kind ("mean" or "p99"), scheduler, io_depth,
    throughput_kiops, latency_us; 4 KiB random reads.
    """
    return read_published(NAME, "single_core_latency")


def core_scaling() -> pd.DataFrame:
    """Return Figures 3 and 4: throughput_kiops by cores, at depth 64."""
    return read_published(NAME, "core_scaling")


def read_ratio() -> pd.DataFrame:
    """Return Figure 5: throughput_kiops by share of reads, on 4 (SSD) and 16 cores (RAM)."""
    return read_published(NAME, "read_ratio")


def request_size() -> pd.DataFrame:
    """Return Figure 6: throughput_gbps by request size, RAM target, 16 cores."""
    return read_published(NAME, "request_size")


@read_once
def points() -> pd.DataFrame:
    """Return every point of the six figures in one table, one row per point.

    Returns: The columns of the four tables; NaN where a figure lacks one.
    """
    return pd.concat(
        [single_core_latency(), core_scaling(), read_ratio(), request_size()], ignore_index=True
    )


VARIED = ("io_depth", "request_kb", "read_percent", "cores")
"""A figure varies the first of these columns that its table has."""


def noop_beside(row: Mapping[str, Any], column: str) -> float | None:
    """Return what the document shows for noop at the point of a row; None if it shows nothing."""
    return published_at({**row, "scheduler": NOOP}, column)


def published_at(row: Mapping[str, Any], column: str) -> float | None:
    """Return what the document shows at the point of a row; None if it shows nothing."""
    there = _by_point().get((row["table"], row["scheduler"], row[varied(row)]))
    return None if there is None else float(there[column])


@cache
def _by_point() -> dict[tuple[str, str, float], dict[str, Any]]:
    rows = cast("list[dict[str, Any]]", points().to_dict("records"))
    return {(row["table"], row["scheduler"], row[varied(row)]): row for row in rows}


def varied(row: Mapping[str, Any]) -> str:
    """Return the column on the x-axis of the figure that the row comes from."""
    return next(name for name in VARIED if name in row and not pd.isna(row[name]))


def gain_by_depth(table: pd.DataFrame, target: str) -> pd.Series:
    """Return SBQ's throughput relative to noop's by I/O depth, as Figures 1 and 2 show it."""
    shown = table[(table["target"] == target) & (table["latency_kind"] == "mean")]
    return gain_along(shown, "io_depth", "throughput_kiops")


def gain_along(curves: pd.DataFrame, along: str, column: str) -> pd.Series:
    """Return SBQ's `column` relative to noop's, by the column `along`, where both are shown."""
    by_scheduler = curves.pivot(index=along, columns="scheduler", values=column)
    return (by_scheduler[SBQ] / by_scheduler[NOOP]).dropna()
