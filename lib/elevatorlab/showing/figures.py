"""What the figures of all studies share: one figure per run, and details that name the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ..judging.matching import DETERMINISTIC, Run, in_words, runs
from .panels import end_at_marks
from .style import style


class Drawn(NamedTuple):
    """A figure, its words, and the hashes of the trials that it shows."""

    figure: Figure
    #: At most two sentences: what is drawn, and what to see.
    caption: str
    trials: frozenset[str] = frozenset()
    #: Whether the figure is one that a paper would leave out.
    appendix: bool = False
    #: Text that a page shows folded: methods, fits, where it was measured, and the accelerator.
    details: str = ""


def title_of(figure: Figure, name: str) -> str:
    """Return what a reader calls a figure: its own title, or its name in words.

    Examples
    --------
    >>> title_of(Figure(), "figure-1-none--docker-host-full")
    'Figure 1 none'
    """
    said = " ".join(figure.get_suptitle().split())
    return said or name.partition("--")[0].replace("-", " ").capitalize()


def of_every_run(
    measured: pd.DataFrame,
    draw: Callable[[pd.DataFrame, Run | None], dict[str, Figure]],
    captions: Mapping[str, str],
    arms: Mapping[str, str],
    needs: str,
    crossed: Collection[str] = (),
    shows: Mapping[str, Mapping[str, Any]] | None = None,
    remark: Callable[[str, Run], str] = lambda name, run: "",
    kept: Collection[str] | None = None,
    details: Mapping[str, str] | None = None,
) -> dict[str, Drawn]:
    """Draw a study's figures once for every run, and say in its details where it was measured.

    `draw`: Called with the rows of each run, and with the run. If nothing was measured, called
    once, with no rows and None. Returns figures by name. `captions`: What each figure shows, by
    name, in at most two sentences; the details say where it was measured. `needs`: Column of the
    quantity that all figures rest on: rows without a number in it are left out, and the details say
    so. `crossed`: The figures that show several schedulers of the physical disk.
    `shows`: By figure: the rows that it shows, as wanted value by column. By default all rows.
    `remark`: Called with a figure's name and a run; returns what the figure's details say of that
    run, in addition to `details`. `kept`: The figures that a paper would keep; the others are for
    the appendix. By default all. `details`: By figure: how it was made, and how to read its finer
    points. Returns: Figures by name. With several runs, which are never pooled, the names have a
    suffix: "overview--docker-host-full". The names of the default testbed's figures have no suffix,
    if it ran only one preset.
    """

    def is_appendix(name: str) -> bool:
        return kept is not None and name not in kept

    whole = measured[measured[needs].notna()]
    gaps = _gaps(len(measured) - len(whole), len(measured), needs)
    several, details = runs(whole), details or {}
    with style():
        if not several:
            return {
                name: Drawn(
                    _reaching(figure),
                    captions[name],
                    appendix=is_appendix(name),
                    details=_joined(details.get(name, ""), gaps),
                )
                for name, figure in draw(whole, None).items()
            }
        drawn = {}
        for run, suffix in zip(several, _suffixes(several), strict=True):
            for name, figure in draw(run.rows, run).items():
                rows = run.crossed if name in crossed else run.rows
                for column, value in (shows or {}).get(name, {}).items():
                    rows = rows[rows[column] == value]
                accelerator = _accelerator(rows, arms)
                measured_on = _measured_on(run, rows, gaps)
                drawn[name + suffix] = Drawn(
                    _reaching(figure),
                    captions[name],
                    frozenset(rows["trial"]),
                    is_appendix(name),
                    _joined(details.get(name, ""), remark(name, run), measured_on, accelerator),
                )
        return drawn


def _reaching(figure: Figure) -> Figure:
    """Let the axes of a figure's panels reach the data."""
    for axis in figure.axes:
        end_at_marks(axis)
    return figure


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _gaps(missing: int, rows: int, column: str) -> str:
    """Say how many rows are not shown and why; empty if all are shown."""
    if not missing:
        return ""
    if missing == rows:
        return f"Nothing measured is shown: no row of the results has a number in {column}."
    return f"Not shown: {missing} of {rows} rows of the results (no number in {column})."


def _suffixes(several: list[Run]) -> list[str]:
    """Return suffixes that tell runs apart: testbeds and preset, and the machine if needed."""
    if len(several) < 2:
        return ["" for _ in several]
    names = [f"--{run.testbed.replace('+', '-')}-{run.preset}" for run in several]
    often = Counter(names)
    suffixes = [
        name if often[name] == 1 else f"{name}-{run.machine.replace(' ', '-')[:8]}"
        for name, run in zip(names, several, strict=True)
    ]
    default = [place for place, run in enumerate(several) if run.machine == DETERMINISTIC]
    if len(default) == 1:  # so links to its figures stay valid whatever else was run
        suffixes[default[0]] = ""
    return suffixes


def _backing(run: Run) -> str:
    return f", physical disk: {run.backing_scheduler}" if run.backing_scheduler else ""


def _measured_on(run: Run, shown: pd.DataFrame, gaps: str) -> str:
    """Say in one sentence where the run was measured, how often, and what the figure leaves out."""
    if shown.empty:
        return gaps
    kind = "simulated disk" if run.deterministic else "real machine"
    counts = sorted({rows["repetition"].nunique() for _, rows in shown.groupby("arm")})
    often = " or ".join(map(str, counts)) + (" repetition" if counts == [1] else " repetitions")
    left_out = f"; {gaps[0].lower()}{gaps[1:]}" if gaps else "."
    where = in_words(run.testbed, run.preset, run.machine)
    return f"Measured on {where}: {kind}{_backing(run)}, {often}{left_out}"


def _accelerator(shown: pd.DataFrame, arms: Mapping[str, str]) -> str:
    """Name in a sentence the accelerators of each arm that is shown.

    If all arms have the same accelerators, the arms are not named.
    """
    if shown.empty:
        return ""
    by_accelerators: dict[tuple[str, ...], list[str]] = {}
    for arm, names in shown.groupby("arm")["accelerator"].unique().items():
        by_accelerators.setdefault(tuple(sorted(names)), []).append(arms[str(arm)])
    if len(by_accelerators) == 1:
        return f"Accelerator of the machine: {_listed(*by_accelerators)}."
    told = [f"{_listed(found)} for {' and '.join(of)}" for found, of in by_accelerators.items()]
    return f"Accelerators: {'; '.join(told)}."


def _listed(accelerators: Sequence[str]) -> str:
    """Name two accelerators at most: a study of processors has one for each number of them."""
    others = len(accelerators) - 1
    if others < 2:
        return " or ".join(accelerators)
    return f"{accelerators[0]}, or one of {others} others (the column accelerator of the results)"
