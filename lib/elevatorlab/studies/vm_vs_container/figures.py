"""Counterparts of the article's figures, published beside measured, and an overview."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from elevatorlab.analysis.intervals import Interval, geometric_interval
from elevatorlab.figures import (
    COLOURS,
    GREY,
    HATCHES,
    LINES,
    MARKERS,
    arm_handles,
    face_colour,
    style,
)

from .claims import SCHEDULERS, device_share, total_ratio
from .published import TEST_1, TEST_2

ARMS = {"vm": "VM", "host": "host", "container": "container"}
VARIANTS = {
    "as_published": "as published (cache warm)",
    "dropped": "caches dropped",
    "direct": "direct I/O",
}
TESTS = {
    TEST_1: "Test 1: read files\nwhile writing",
    TEST_2: "Test 2: read many small\nfiles while reading",
}
_BARS = (
    "Points are geometric means; bars are 95 % confidence intervals over repetitions (Student's "
    "t on logarithms), and where none is seen it is smaller than the marker or there was one "
    "repetition."
)
CAPTIONS = {
    "overview": "Time with each scheduler relative to none (log scale; right of the line is "
    "slower), as printed in the article and as measured when each kind of read is rerun. Each "
    "panel says how many bytes the reader had to fetch for each timed byte: where it is 0 %, the "
    "scheduler had nothing to decide (above 100 %, its own program was fetched, too). " + _BARS,
    **{
        f"figure-{number}-{scheduler}": f"Counterpart of the article's Figure {number}: time to "
        f"read one file under {scheduler} while another is written. Left: the printed times. "
        "Others: measured. Compare slopes and the distance between arms, not seconds: the "
        "machines differ, and presets other than full read smaller files. A bar that leaves its "
        "panel means that the repetitions do not bound the time. " + _BARS
        for number, scheduler in enumerate(SCHEDULERS, 1)
    },
    "table-5": "Counterpart of the article's Table 5: time to read a tree of small files while "
    "a big file is read. Left: the printed times. Others: measured. Compare the bars within a "
    "panel, not seconds between panels. " + _BARS.replace("Points", "Bars' heights"),
}
"""What each figure shows; for a name with a testbed in it, see `caption`."""


def caption(name: str) -> str:
    """Return the caption of a figure that `figures` made, whatever testbed it names."""
    base, _, run = name.partition("--")
    return CAPTIONS[base] + (f" Testbed and preset: {run}." if run else "")


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Figure]:
    """Draw the study's figures.

    Parameters
    ----------
    published : pandas.DataFrame
        From `published.times()`; seconds.
    measured : pandas.DataFrame
        Tidy measured table (see `claims.judge`); empty for published data alone.

    Returns
    -------
    dict of str to matplotlib.figure.Figure
        "overview", "figure-1-none" ... "figure-4-kyber" and "table-5". With several testbeds
        or presets, which are never pooled, there is one of each for every run and the name
        goes on: "overview--host-full".
    """
    runs = [
        (f"--{testbed}-{preset}", rows)
        for (testbed, preset), rows in measured.groupby(["testbed", "preset"], observed=True)
    ]
    if len(runs) < 2:
        runs = [("", measured)]
    drawn = {}
    with style():
        for suffix, rows in runs:
            drawn[f"overview{suffix}"] = _overview(published, rows)
            for number, scheduler in enumerate(SCHEDULERS, 1):
                name = f"figure-{number}-{scheduler}{suffix}"
                drawn[name] = _times_against_size(published, rows, scheduler)
            drawn[f"table-5{suffix}"] = _bars(published, rows)
    return drawn


def _times_against_size(published: pd.DataFrame, measured: pd.DataFrame, scheduler: str) -> Figure:
    tables = [_where(table, test=TEST_1, scheduler=scheduler) for table in (published, measured)]
    panels = list(_panels(*tables))
    figure, axes = _row_of_panels(len(panels))
    for axis, (title, rows) in zip(axes, panels, strict=True):
        for arm in _arms(rows):
            points = [
                (size, geometric_interval(one["time_s"] * 1000))
                for size, one in _where(rows, arm=arm).groupby("published_size_mb")
            ]
            _error_line(axis, points, scheduler, arm)
        axis.set(title=title, xscale="log", yscale="log", xlabel=_size_label(rows))
        axis.xaxis.set_major_locator(FixedLocator([10, 20, 50, 100]))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda mark, _: f"{mark:g}"))
        # Room for every repetition; an interval that knows less than that leaves the panel.
        low, high = rows["time_s"].min() * 1000 / 1.6, rows["time_s"].max() * 1000 * 1.6
        axis.set_ylim(low, high)
        _log_marks(axis.yaxis, low, high, "{:g}")
    axes[0].set_ylabel("time to read the file (ms, log scale)")
    _legend(figure, tables)
    figure.suptitle(f"{scheduler}: time to read a file while another is written")
    return figure


def _bars(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    tables = [_where(table, test=TEST_2) for table in (published, measured)]
    panels = list(_panels(*tables))
    figure, axes = _row_of_panels(len(panels))
    order = ("none", "mq-deadline", "kyber", "bfq")
    for axis, (title, rows) in zip(axes, panels, strict=True):
        arms = _arms(rows)
        for place, arm in enumerate(arms):
            width = 0.8 / len(arms)
            for position, scheduler in enumerate(order):
                one = _where(rows, arm=arm, scheduler=scheduler)
                if one.empty:
                    continue
                time_s = geometric_interval(one["time_s"])
                axis.bar(
                    position - 0.4 + width * (place + 0.5),
                    time_s.value,
                    width * 0.92,
                    yerr=_error(time_s),
                    color=COLOURS[scheduler],
                    edgecolor="white",
                    hatch=HATCHES[arm],
                    error_kw={"ecolor": "black", "elinewidth": 1, "capsize": 2},
                )
        axis.set(title=title)
        axis.set_xticks(range(len(order)), order, rotation=30, ha="right", rotation_mode="anchor")
        axis.grid(axis="x", visible=False)
        axis.yaxis.set_major_locator(MaxNLocator(6))
    axes[0].set_ylabel("time to read the tree (s)")
    arms = _arms(pd.concat(tables))
    patches = [
        Patch(facecolor=GREY, edgecolor="white", hatch=HATCHES[arm], label=ARMS[arm])
        for arm in arms
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(arms))
    figure.suptitle("Time to read a tree of small files while a big file is read")
    return figure


def _overview(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    panels = list(_panels(published, measured))
    figure = Figure(figsize=(max(2.0 + 2.55 * len(panels), 4.8), 4.9))
    grid = figure.subplots(len(TESTS), len(panels), sharex="row", sharey=True, squeeze=False)
    for line, test in zip(grid, TESTS, strict=True):
        for axis, (title, rows) in zip(line, panels, strict=True):
            rows = _where(rows, test=test)
            _relative_to_none(axis, rows)
            note = _device_note(rows)
            if axis in grid[0]:
                axis.set_title(f"{title}\n{note}", color="black")
            else:
                axis.set_title(note)
        line[0].set_ylabel(TESTS[test], labelpad=8)
        low, high = line[0].get_xlim()
        span = max(high / low, 1.3)
        low, high = low / span**0.05, high * span**0.25
        line[0].set_xlim(low, high)
        for axis in line:
            _log_marks(axis.xaxis, low, high, "{:g}×")
    places = range(len(SCHEDULERS))
    grid[0][0].set_yticks(places, SCHEDULERS)
    grid[0][0].set_ylim(len(SCHEDULERS) - 0.5, -0.5)
    arms = _arms(pd.concat([published, measured]))
    handles = arm_handles(arms, ARMS)
    for handle in handles:
        handle.set_linestyle("")
    figure.legend(
        handles=handles,
        title="time relative to none (log scale; further right is slower)",
        loc="outside lower center",
        ncols=len(arms),
    )
    figure.suptitle(
        "Does the I/O scheduler matter? Only when reads reach the disk"
        if _reads_decide(measured)
        else "How much slower is each I/O scheduler than none?"
    )
    return figure


def _relative_to_none(axis: Axes, rows: pd.DataFrame) -> None:
    arms = _arms(rows)
    axis.axvline(1, color=GREY, linewidth=1, zorder=1)
    for place, arm in enumerate(arms):
        shift = 0.36 * (place - (len(arms) - 1) / 2)
        for position, scheduler in enumerate(SCHEDULERS):
            ratio = _to_none(rows, arm, scheduler)
            if ratio is None:
                continue
            colour = COLOURS[scheduler]
            axis.plot([1, ratio.value], [position + shift] * 2, color=colour, linewidth=2, zorder=2)
            axis.errorbar(
                ratio.value,
                position + shift,
                xerr=_error(ratio),
                color=colour,
                marker=MARKERS[arm],
                markerfacecolor=face_colour(arm, colour),
                ecolor=GREY,
                elinewidth=1,
                capsize=2,
                zorder=3,
            )
            if scheduler != "none":
                axis.annotate(
                    f"{ratio.value:.2f}×" if ratio.value < 10 else f"{ratio.value:.0f}×",
                    (max(ratio.value, ratio.high if ratio.bounded else 0, 1), position + shift),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7.5,
                )
    axis.set_xscale("log")
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)


def _device_note(rows: pd.DataFrame) -> str:
    if "storage_read_bytes" not in rows:
        if rows["published_size_mb"].isna().all():
            return "fetched bytes: not given"
        rates_gb_s = rows["published_size_mb"] / rows["time_s"] / 1000
        return f"implied: {rates_gb_s.min():.1f} to {rates_gb_s.max():.1f} GB/s"
    share = device_share(rows)
    if share is None:
        return "not run"
    amount = f"{share.value:.0%}" if share.value < 2 else f"{share.value:.0f}×"
    return f"fetched / timed bytes: {amount}"


def _reads_decide(measured: pd.DataFrame) -> bool:
    """Whether schedulers surely differ by 5 % with dropped caches, and none does with warm ones."""
    warm, dropped = (
        [
            ratio
            for test in TESTS
            for arm in _arms(measured)
            for other in SCHEDULERS[1:]
            if (ratio := _to_none(_where(measured, test=test, variant=variant), arm, other))
        ]
        for variant in ("as_published", "dropped")
    )
    none_differs = not any(ratio.direction(1, 0.05) for ratio in warm)
    return bool(warm) and none_differs and any(ratio.direction(1, 0.05) for ratio in dropped)


def _to_none(rows: pd.DataFrame, arm: str, scheduler: str) -> Interval | None:
    return total_ratio(
        rows, {"arm": arm, "scheduler": scheduler}, {"arm": arm, "scheduler": "none"}
    )


# Shared


def _panels(published: pd.DataFrame, measured: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "Article, as printed", published.assign(repetition=1)
    for variant, name in VARIANTS.items():
        rows = _where(measured, variant=variant)
        if len(rows):
            yield f"Rerun, {name}", rows


def _row_of_panels(count: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(max(1.2 + 2.6 * count, 4.8), 3.6))
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _where(table: pd.DataFrame, /, **where) -> pd.DataFrame:
    for column, wanted in where.items():
        table = table[table[column] == wanted]
    return table


def _arms(rows: pd.DataFrame) -> list[str]:
    return [arm for arm in ARMS if arm in set(rows["arm"])]


def _error(interval: Interval) -> list[list[float]] | None:
    if not interval.bounded:
        return None
    return [[interval.value - interval.low], [interval.high - interval.value]]


def _error_line(axis: Axes, points: list[tuple[float, Interval]], scheduler: str, arm: str) -> None:
    errors = None
    if all(time.bounded for _, time in points):
        errors = [
            [time.value - time.low for _, time in points],
            [time.high - time.value for _, time in points],
        ]
    axis.errorbar(
        [size for size, _ in points],
        [time.value for _, time in points],
        yerr=errors,
        color=COLOURS[scheduler],
        linestyle=LINES[arm],
        marker=MARKERS[arm],
        markerfacecolor=face_colour(arm, COLOURS[scheduler]),
        ecolor=GREY,
        elinewidth=1,
        capsize=2,
    )


def _size_label(rows: pd.DataFrame) -> str:
    if "size_mib" not in rows:
        return "file size (MB)"
    factor = (rows["published_size_mb"] / rows["size_mib"]).mean()
    scaled = "" if factor < 1.1 else f"\nread here: 1/{factor:.3g} of it"
    return f"file size in the article (MB){scaled}"


def _legend(figure: Figure, tables: list[pd.DataFrame]) -> None:
    arms = _arms(pd.concat(tables))
    figure.legend(handles=arm_handles(arms, ARMS), loc="outside lower center", ncols=len(arms))


def _log_marks(axis: Axis, low: float, high: float, form: str) -> None:
    """Put marks at 1, 10, 100 ..., or finer ones until at least three are seen."""
    for steps in ((1,), (1, 2, 5), (1, 1.2, 1.5, 2, 3, 5), (1, 1.1, 1.2, 1.3, 1.5, 2)):
        marks = [step * 10.0**power for power in range(-6, 10) for step in steps]
        marks = [mark for mark in marks if low <= mark <= high]
        if len(marks) > 2:
            break
    axis.set_major_locator(FixedLocator(marks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda mark, _: form.format(mark)))
