"""The study's figures and what their captions say of where they were measured."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ...figures import style
from ...matching import DETERMINISTIC, EMULATED, Run, accelerators, backing_schedulers, runs
from .figure_crossing import crossing, shown_variant
from .figure_overview import overview
from .figure_times import times_against_size, tree_times
from .measures import ARMS, SCHEDULERS
from .panels import VARIANTS

_BARS = (
    "Points are geometric means; bars are 95 % confidence intervals over repetitions (Student's "
    "t on logarithms), and where none is seen it is smaller than the marker or there was one "
    "repetition. A bar that leaves its panel means that the repetitions do not bound the time."
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
        f"machines differ, and presets other than full read smaller files. {_BARS}"
        for number, scheduler in enumerate(SCHEDULERS, 1)
    },
    "table-5": "Counterpart of the article's Table 5: time to read a tree of small files while "
    "a big file is read. Left: the printed times. Others: measured. Compare the bars within a "
    "panel, not seconds between panels. " + _BARS.replace("Points", "Bars' heights"),
    "crossing": "Time relative to the top left pair, for each scheduler of the device under test "
    "(across) and of the physical disk below it (down), with 95 % confidence intervals. All other "
    "figures and every verdict use the first row alone.",
}
"""What each figure shows; where it was measured is added to it."""


class Drawn(NamedTuple):
    """A figure and the words that belong to it."""

    figure: Figure
    caption: str


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    Parameters
    ----------
    published : pandas.DataFrame
        From `published.times()`; seconds.
    measured : pandas.DataFrame
        Tidy measured table (see `claims.judge`); empty for published data alone.

    Returns
    -------
    dict of str to Drawn
        "overview", "figure-1-none" ... "figure-4-kyber" and "table-5", and "crossing" where
        several schedulers of the physical disk were measured. With several machines or presets,
        which are never pooled, there is one of each for every run and the name goes on:
        "overview--docker-host-full".
    """
    several = runs(measured)
    drawn = {}
    with style():
        if not several:
            drawings = _of(published, measured).items()
            return {name: Drawn(figure, CAPTIONS[name]) for name, figure in drawings}
        for run, suffix in zip(several, _suffixes(several), strict=True):
            for name, figure in _of(published, run.rows).items():
                drawn[name + suffix] = _of_run(name, figure, run, _where(run))
            if len(backing_schedulers(run.crossed)) > 1:
                figure = crossing(run.crossed)
                drawn["crossing" + suffix] = _of_run("crossing", figure, run, run.label)
    return drawn


def _of(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Figure]:
    by_size = {
        f"figure-{number}-{scheduler}": times_against_size(published, measured, scheduler)
        for number, scheduler in enumerate(SCHEDULERS, 1)
    }
    return {
        "overview": overview(published, measured),
        **by_size,
        "table-5": tree_times(published, measured),
    }


def _of_run(name: str, figure: Figure, run: Run, where: str) -> Drawn:
    """Write below the title, and into the caption, where it was measured."""
    figure.suptitle(f"{figure.get_suptitle()}\n({where})")
    shown = f" Shown: {VARIANTS[shown_variant(run.crossed)]}." if name == "crossing" else ""
    return Drawn(figure, f"{CAPTIONS[name]}{shown} {_measured_on(run)}")


def _suffixes(several: list[Run]) -> list[str]:
    """Tell runs apart in file names: by testbeds and preset, and by machine where need be."""
    if len(several) < 2:
        return ["" for _ in several]
    names = [f"--{run.testbed.replace('+', '-')}-{run.preset}" for run in several]
    often = Counter(names)
    return [
        name if often[name] == 1 else f"{name}-{run.machine.replace(' ', '-')[:8]}"
        for name, run in zip(names, several, strict=True)
    ]


def _where(run: Run) -> str:
    emulated = run.machine != DETERMINISTIC and EMULATED in accelerators(run.rows).get("vm", "")
    return run.label + _backing(run) + (f"; VM emulated: {EMULATED}" if emulated else "")


def _backing(run: Run) -> str:
    return f", physical disk: {run.backing_scheduler}" if run.backing_scheduler else ""


def _measured_on(run: Run) -> str:
    """Say in a sentence where the run was made, on what, and how often."""
    kind = "a simulated disk" if run.machine == DETERMINISTIC else "a real machine"
    counts = sorted({rows["repetition"].nunique() for _, rows in run.rows.groupby("arm")})
    often = " or ".join(map(str, counts)) + (" repetition" if counts == [1] else " repetitions")
    by_accelerator: dict[str, list[str]] = {}
    for arm, text in accelerators(run.rows).items():
        by_accelerator.setdefault(text, []).append(ARMS[arm])
    processors = [f"of {' and '.join(arms)}: {text}" for text, arms in by_accelerator.items()]
    return (
        f"Measured on {run.label} ({kind}{_backing(run)}), {often}. Accelerator "
        f"{'; '.join(processors)}."
    )
