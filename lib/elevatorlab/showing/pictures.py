"""Figures in a notebook: in the size that they have on paper, and sharp."""

from __future__ import annotations

from IPython.core.getipython import get_ipython
from IPython.display import SVG, Image, Markdown
from matplotlib.figure import Figure
from matplotlib_inline.config import InlineBackend

from .figures import Drawn, title_of
from .style import preview, vectors

DPI = 144
"""Pixels per inch of a picture: more than `PAGE_DPI`, for screens of high density."""

PAGE_DPI = 96
"""Pixels that a browser counts as an inch."""


def picture(figure: Figure) -> Image | SVG:
    """Return a figure as a notebook shows it.

    That is as PNG, since JupyterLab shows no SVG of a notebook that it does not trust yet. After
    ``%config InlineBackend.figure_formats = ['svg']`` it is SVG.
    """
    if "svg" in InlineBackend.instance(parent=get_ipython()).figure_formats:
        return SVG(vectors(figure))
    width = round(PAGE_DPI * figure.get_size_inches()[0])
    return Image(preview(figure, dpi=DPI), format="png", width=width)


def captioned(name: str, one: Drawn) -> tuple[Image | SVG, Markdown]:
    """Return a figure and the words below it, for ``display``; the details are folded."""
    title = title_of(one.figure, name)
    words = f"**{title}{'' if title[-1] in '.?!' else '.'}** {one.caption}"
    if one.details:
        words += f"\n\n<details><summary>How it was made</summary>\n\n{one.details}\n\n</details>"
    return picture(one.figure), Markdown(words)
