"""Figures in a notebook: in the size that they have on paper, and sharp."""

from __future__ import annotations

from IPython.display import Image
from matplotlib.figure import Figure

from .style import preview

DPI = 144
"""More pixels than the page has, for screens of high density."""

PAGE_DPI = 96
"""What a browser calls an inch."""


def picture(figure: Figure) -> Image:
    """Return a figure as a notebook shows it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    """
    width = round(PAGE_DPI * figure.get_size_inches()[0])
    return Image(preview(figure, dpi=DPI), format="png", width=width)
