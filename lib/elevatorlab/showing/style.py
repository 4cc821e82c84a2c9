"""Publication style: one look for every figure, and files that are the same bytes each time."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import seaborn as sns
from fontTools.subset import Options
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from ..plugins.scheduler_folders import ZOO
from ..plugins.schedulers import OURS, colour_of, marker_of


class _Colours(dict[str, str]):
    """Colours by scheduler; a scheduler that is not listed gets the one of `colour_of`."""

    def __missing__(self, name: str) -> str:
        return colour_of(name)


COLOURS = _Colours({name: record.colour for name, record in {**OURS, **ZOO}.items()})
"""One colour per scheduler, in every figure.

People with any colour vision can tell them apart: Okabe and Ito, "Color Universal Design", 2008.
"""


_SIZES = {"*": 7.0, "^": 5.2, "v": 5.2, "<": 5.2, ">": 5.2, "D": 4.2}
"""Sizes, in points, of markers that would otherwise seem larger or smaller than the others."""


def look_of(scheduler: str) -> dict[str, Any]:
    """Return the colour and the marker of a scheduler, as matplotlib takes them."""
    marker = marker_of(scheduler)
    size = _SIZES.get(marker, 4.5)
    return {"color": COLOURS[scheduler], "marker": marker, "markersize": size}


MARKERS = {"vm": "s", "container": "o", "host": "^"}
LINES: dict[str, Any] = {"vm": "--", "container": "-", "host": ":"}
"""Figures show an arm by marker and line, never by colour."""

ONE_COLUMN, TWO_COLUMNS = 3.35, 7.0
"""Widths of figures in a paper, in inches; at these widths, type has its final size."""


def column_width(wanted: float) -> float:
    """Return the width, in inches, of the column or the two columns that hold `wanted` inches.

    A figure that would be wider than two columns gets two columns.
    """
    return ONE_COLUMN if wanted <= ONE_COLUMN else TWO_COLUMNS


LETTERS_AN_INCH = 12.5
"""How many letters of a title fit an inch, at least."""


def entitle(figure: Figure, text: str) -> None:
    """Set a figure's title, broken into lines that fit the figure's width."""
    figure.suptitle(textwrap.fill(text, int(figure.get_figwidth() * LETTERS_AN_INCH)))


PUBLISHED: dict[str, Any] = {"linestyle": "--", "linewidth": 1.2, "alpha": 0.7}
"""Published curves are dashed and light. In every figure, published markers are open, and measured
ones are filled: nothing else is said by how a marker is filled."""


def look_of_published(scheduler: str, **more: Any) -> dict[str, Any]:
    """Return how published values of a scheduler are drawn: dashed, light, with open markers."""
    return {**look_of(scheduler), "markerfacecolor": "white", **PUBLISHED, **more}


FEW_THREADS, MANY_THREADS = 0.8, 1.4
"""Factors on the size of a marker: it is small with few threads, and large with many."""


def of_threads(drawn: Mapping[str, Any], many: bool) -> dict[str, Any]:
    """Return how a marker is drawn with few threads or with many."""
    return {**drawn, "markersize": drawn["markersize"] * (MANY_THREADS if many else FEW_THREADS)}


def thread_handles(threads: Iterable[int]) -> list[Line2D]:
    """Return legend entries that tell few threads from many by size."""
    counts = sorted(set(threads))
    grey = {"color": GREY, "marker": "o", "markersize": 4.5, "linestyle": ""}
    return [
        Line2D(
            [], [], **of_threads(grey, count > counts[0]), label=f"{count} thread{'s'[: count - 1]}"
        )
        for count in counts
    ]


PREDICTED: dict[str, Any] = {"linestyle": ":", "linewidth": 1.2}
"""Predicted curves are dotted, and have no markers."""

GREY = "#5A5A5A"
BLUE, VERMILION = "#0072B2", "#D55E00"
"""Two of Okabe and Ito's colours, for two things that are no schedulers."""
WARNING = "#A63A00"
"""For words that a reader must not overlook; dark enough for small print."""

_STYLE = {
    **sns.axes_style("ticks"),
    **sns.plotting_context("paper"),
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine has it
    "font.size": 8,
    "figure.titlesize": 9,
    "figure.labelsize": 8,
    "axes.titlesize": 8,
    "axes.titley": 1.0,  # to search for a free place takes a tenth of the time of saving
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.title_fontsize": 8,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "grid.color": "#E2E2E2",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "xtick.major.size": 3.5,
    "ytick.major.size": 3.5,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # embedded as TrueType
    "svg.fonttype": "path",  # needs no font where it is shown
    "svg.hashsalt": "elevatorlab",
}

# A PDF places each glyph. Cutting these tables, which place glyphs, took half of a PDF's time.
Options._drop_tables_default += ["GDEF", "GPOS", "GSUB"]

FORMATS = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""File formats, and the metadata left out because they differ between days or machines."""


def style() -> AbstractContextManager[None]:
    """Return the context in which figures are drawn and saved, whatever a user's own settings are.

    Examples
    --------
    >>> with style():
    ...     mpl.rcParams["pdf.fonttype"]
    42
    """
    return mpl.style.context(["default", _STYLE])


def save(figure: Figure, folder: Path, name: str) -> dict[str, Path]:
    """Write a figure as PDF, SVG and PNG; the same figure gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {kind: folder / f"{name}.{kind}" for kind in FORMATS}
    # With one layout, all formats show the same. Without an engine, each format is drawn only once.
    with style(), mpl.rc_context({"figure.constrained_layout.use": False}):
        if figure.axes and (engine := figure.get_layout_engine()):
            engine.execute(figure)
        figure.set_layout_engine(None)
        for kind, metadata in FORMATS.items():
            # On a full disk, Matplotlib's PDF writer raises an error that does not say so.
            drawn = io.BytesIO()
            figure.savefig(drawn, format=kind, metadata=metadata)
            paths[kind].write_bytes(drawn.getbuffer())
    return paths


COLOURS_KEPT = 64
"""In a small PNG: line art needs few."""


def preview(figure: Figure, dpi: int) -> bytes:
    """Return a figure as a small PNG, for a page or notebook that contains its pictures."""
    whole, small = io.BytesIO(), io.BytesIO()
    with style():
        figure.savefig(whole, dpi=dpi, metadata=FORMATS["png"])
    # This method of Pillow keeps rare colours, such as those of a few small markers.
    few = Image.open(whole).convert("RGB").quantize(COLOURS_KEPT, Image.Quantize.FASTOCTREE)
    few.save(small, "png", optimize=True)
    return small.getvalue()


def vectors(figure: Figure, transparent: bool = False) -> bytes:
    """Return a figure as SVG, for a page that contains its pictures."""
    whole = io.BytesIO()
    with style():
        figure.savefig(whole, format="svg", metadata=FORMATS["svg"], transparent=transparent)
    return whole.getvalue()


def for_dark_pages(figure: Figure) -> bytes:
    """Return a figure as SVG without a ground: black is white, and colours keep their hue."""
    inverted = b"<style>svg {filter: invert(1) hue-rotate(180deg)}</style>"
    return vectors(figure, transparent=True).replace(b" <defs>", b" <defs>" + inverted, 1)


def arm_handles(arms: list[str], names: dict[str, str]) -> list[Line2D]:
    """Return legend entries that tell arms by marker, without a colour."""
    return [
        Line2D(
            [],
            [],
            color=GREY,
            marker=MARKERS[arm],
            linestyle=LINES[arm],
            label=names[arm],
        )
        for arm in arms
    ]
