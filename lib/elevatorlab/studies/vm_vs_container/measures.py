"""Quantities that verdicts, figures and tables all take from the tidy table."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ...analysis.intervals import Interval, mean_interval
from ...analysis.ranking import Ranking, rank
from ...plugins.schedulers import OF_THE_KERNEL, shown_name
from ..kit.cells import in_order, once_a_table, paired_ratio, values_of

SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber")

ARMS = {"vm": "VM", "host": "host", "container": "container"}
"""Names of the arms, in the order in which they are shown."""

TICK_S = 0.004
"""How long the reader or another program has the deterministic testbed's only processor: a tick of
Debian's kernel. On machines with several processors, both run at once."""
PORTION_S = 0.020
"""How often the simulated SSD of the deterministic testbed hands out its bandwidth (null_blk)."""

_READ = ("repetition", "published_size_mb", "time_s")
_QUANTA_S = "quanta_s"


def left_out_of_the_guest(measured: pd.DataFrame) -> str:
    """Say which schedulers cannot run in the nested virtual machine; "" if none was measured."""
    if not measured["exits"].notna().any():
        return ""
    names = [name for name in in_order(measured, "scheduler", ()) if name not in OF_THE_KERNEL]
    if not names:
        return ""
    return (
        "The virtual machine inside has only the kernel's own schedulers, so these did not run "
        f"in it: {', '.join(map(shown_name, names))}."
    )


def times_by(key: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return times in s, with one row per repetition and one column per value of `key`."""
    return rows.pivot(index="repetition", columns=key, values="time_s")


def total_ratio(
    table: pd.DataFrame, numerator: Mapping[str, object], denominator: Mapping[str, object]
) -> Interval | None:
    """Estimate the ratio of two total times, each summed over the sizes that both sides read.

    `numerator`, `denominator`: Column values that select each side, for example {"arm": "vm", ...}.
    Returns: Ratio of times, paired by repetition; None where no repetition has both sides.
    """
    sides = [_times_of(table, side) for side in (numerator, denominator)]
    sizes = sides[0].columns.intersection(sides[1].columns)
    if sizes.empty:
        return None
    above, below = (side[sizes].dropna().sum(axis=1) for side in sides)
    ratio = paired_ratio(above, below)
    if ratio is None or _QUANTA_S not in table:
        return ratio
    columns = ("time_s", _QUANTA_S)
    return within_quanta(
        ratio, *(values_of(table, columns, **one) for one in (numerator, denominator))
    )


@once_a_table
def with_quanta(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of a deterministic machine for ratios as wide as `within_quanta` makes them.

    Each program that reads a file may be wrong by a turn of the processor or, where it reads the
    disk, by a portion of its bandwidth. Returns: With a column of what that makes of each time, in
    seconds.
    """
    quantum_s = (table["storage_read_bytes"] > 0).map({True: PORTION_S, False: TICK_S})
    return table.assign(**{_QUANTA_S: table["programs"] * quantum_s})


def within_quanta(ratio: Interval, above: pd.DataFrame, below: pd.DataFrame) -> Interval:
    """Return all that a ratio could be if each program took one quantum more or less.

    `above`, `below`: Rows of both sides. Returns: The ratio as it is, if they come from a table
    without quanta (see `with_quanta`).
    """
    if _QUANTA_S not in above:
        return ratio
    # A time that may be all quanta can be anything.
    up, down = (min(0.99, side[_QUANTA_S].sum() / side["time_s"].sum()) for side in (above, below))
    low, high = (1 - up) / (1 + down), (1 + up) / (1 - down)
    # It has these ends with a single repetition, too.
    counted = max(2, ratio.repetitions)
    return Interval(ratio.value, ratio.value * low, ratio.value * high, counted)


def _times_of(table: pd.DataFrame, side: Mapping[str, object]) -> pd.DataFrame:
    """Return the times of one side, from the cache: many claims ask for the same times."""
    known, asked = _known(table), frozenset(side.items())
    if asked not in known:
        reads = values_of(table, _READ, **side).fillna({"published_size_mb": 0})
        known[asked] = times_by("published_size_mb", reads)
    return known[asked]


@once_a_table
def _known(table: pd.DataFrame) -> dict[frozenset[tuple[str, object]], pd.DataFrame]:
    """Return the cache of `_times_of` for a table, by side."""
    return {}


def ranking(rows: pd.DataFrame) -> Ranking | None:
    """Rank the schedulers by their total times, and say how stable the order is.

    Returns: Over the sizes that all schedulers read; None for fewer than two schedulers.
    """
    rows = rows.fillna({"published_size_mb": 0})
    read_by = rows.groupby("published_size_mb")["scheduler"].nunique()
    everywhere = read_by.index[read_by == rows["scheduler"].nunique()]
    times = rows[rows["published_size_mb"].isin(everywhere)].pivot(
        index="repetition", columns=["scheduler", "published_size_mb"], values="time_s"
    )
    return rank(times.dropna().T.groupby(level="scheduler").sum().T)


def device_share(rows: pd.DataFrame) -> Interval | None:
    """Return the share of the timed bytes that the device under test delivered.

    Returns: storage_read_bytes / bytes_read for each repetition, without a unit; None for no rows.
    The share is above 1 if the device also had to deliver the reader's program.
    """
    totals = rows.groupby("repetition")[["storage_read_bytes", "bytes_read"]].sum()
    if totals.empty:
        return None
    return mean_interval(totals["storage_read_bytes"] / totals["bytes_read"])
