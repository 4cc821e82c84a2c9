"""Beyond the document: SBQ's knobs, and its gain with times left unscaled."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....showing.dots import dots
from ....showing.panels import cells, say
from ....showing.style import GREY, ONE_COLUMN, TWO_COLUMNS, look_of
from ...kit.cells import rows_of
from ..columns import WHERE
from ..measures import DRIVERS, TARGETS, at, gain
from .panels import drivers_in

DEPTHS = (1, WHERE["depth"])


def knobs(measured: pd.DataFrame) -> Figure:
    """Draw the gain for each pair of knobs: the size of a batch, and its timeout."""
    figure = Figure(figsize=(ONE_COLUMN, 2.7))
    axis = figure.subplots()
    rows = rows_of(measured, **WHERE)
    own = rows[rows["scheduler"] == "sbq"]
    by_knobs = own.groupby(["target", "driver", "time_scale"])
    swept = [
        (where, some)
        for where, some in by_knobs
        if len(some[["batch_nr", "batch_timeout_us"]].drop_duplicates()) > 1
    ]
    if not swept:
        say(axis, "was not run")
        return figure
    (target, driver, scale), some = swept[0]
    where = {"target": target, "driver": driver, "time_scale": scale}
    noop = at(measured, "throughput_iops", scheduler="none", **where).mean()
    if pd.isna(noop):
        say(axis, "noop was not run beside it")
        return figure
    mean = some.groupby(["batch_nr", "batch_timeout_us"])[["throughput_iops", "batch_requests"]]
    table = mean.mean().unstack()
    ratio = pd.DataFrame(table["throughput_iops"] / noop)
    sizes = pd.DataFrame(table["batch_requests"])
    words = pd.DataFrame(
        {
            timeout_us: {
                batch_nr: _words(ratio.loc[batch_nr, timeout_us], sizes.loc[batch_nr, timeout_us])
                for batch_nr in ratio.index
            }
            for timeout_us in ratio.columns
        }
    )
    cells(axis, ratio, words, 2)
    axis.set_xticklabels([f"{x:g}" for x in ratio.columns])
    axis.set_yticklabels([f"{y:g}" for y in ratio.index])
    axis.set_xlabel(f"batch_timeout_us (us, here × {scale:g})")
    axis.set_ylabel("batch_nr (requests)")
    axis.set_title(f"{TARGETS[str(target)]}, {DRIVERS[str(driver)]}, depth 64")
    figure.suptitle("The knobs: throughput relative to noop")
    return figure


def _words(gained: float, size: float) -> str:
    """Return the text for a pair of knobs.

    Pairs are missing if SBQ's default knobs are not among those swept.
    """
    return "was not run" if pd.isna(gained) else f"{gained:.2f}×\n({size:.0f} a batch)"


def unscaled(measured: pd.DataFrame) -> Figure:
    """Draw the gain at depths 1 and 64, with times scaled and with times unscaled."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
    axes = figure.subplots(1, 2, sharey=True)
    settings = {
        f"{DRIVERS[driver].removesuffix(' driver')}, times × {scale:g}": (driver, scale)
        for driver in drivers_in(measured)
        for scale in sorted(set(measured["time_scale"]))
    }
    for axis, target in zip(axes, TARGETS, strict=True):
        gained = {
            (label, depth): found
            for label, (driver, scale) in settings.items()
            for depth in DEPTHS
            if (
                found := gain(measured, target=target, driver=driver, time_scale=scale, depth=depth)
            )
        }
        dots(axis, gained, list(settings), _look, DEPTHS)
        axis.axvline(1, color=GREY, linewidth=0.8)
        axis.set(title=TARGETS[target], xlabel="throughput, SBQ / noop", xlim=(0, None))
    handles = [
        Line2D([], [], linestyle="", label=f"depth {depth}", **_look("", depth)) for depth in DEPTHS
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle("The gain with scaled and with unscaled times")
    return figure


def _look(_: str, depth: int) -> dict[str, Any]:
    own = look_of("sbq")
    return {**own, "markerfacecolor": "white"} if depth == DEPTHS[0] else own
