"""The gallery: every figure of every study, drawn from the reference, with the code behind it."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import shutil
import textwrap
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from docutils.nodes import make_id
from matplotlib.figure import Figure

from elevatorlab.drives import drawing
from elevatorlab.paths import DATA, PROJECT
from elevatorlab.plugins import studies
from elevatorlab.results import store
from elevatorlab.showing.figures import Drawn, title_of
from elevatorlab.showing.style import vectors

#: Figures that the reference's results do not give, with the stored results that do: study, figure.
BESIDE_THE_REFERENCE = {
    ("container_isolation", "frontier"): DATA / "frontier" / "container_isolation.csv.gz"
}

DRIVES = (
    "Cumulative distributions of the response times of real drives and of their models. "
    "`elevatorlab drive replays` draws it from published traces."
)

INTRODUCTION = """\
# Gallery

Every figure of every study, as `elevatorlab report` draws it from stored results. Below each
one stands the function that draws it. To draw one yourself:

```python
from elevatorlab.plugins import studies
from elevatorlab.results import store

study = studies.get("vm_vs_container")
drawn = study.figures(study.published(), store.load(study.NAME))
drawn["overview"].figure.savefig("overview.pdf")
```
"""


@contextmanager
def painters() -> Iterator[dict[int, str]]:
    """Note, while the context lasts, the source of the study's function that makes each figure."""
    found: dict[int, str] = {}
    original = Figure.__init__

    def noted(self: Figure, *arguments: Any, **more: Any) -> None:
        frame = inspect.currentframe()
        while frame:
            # The outermost function is the one that draws; those inside are helpers.
            if ".figures_" in str(frame.f_globals.get("__name__")):
                found[id(self)] = textwrap.dedent(inspect.getsource(frame.f_code))
            frame = frame.f_back
        original(self, *arguments, **more)

    Figure.__init__ = noted
    try:
        yield found
    finally:
        Figure.__init__ = original


def write(folder: Path) -> None:
    """Write a page for each study, and one that lists them.

    Each study is drawn in a process of its own; they share nothing.
    """
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    pages = [study.NAME for study in studies.ours()]
    # A fork may inherit a lock of a numerical library that no thread will ever open again.
    fresh = multiprocessing.get_context("spawn")
    workers = min(os.cpu_count() or 1, len(pages))
    with ProcessPoolExecutor(workers, mp_context=fresh) as processes:
        thumbnails = list(processes.map(_write_page, pages, [folder] * len(pages)))
    thumbnails.append(_write_drives(folder))
    listed = ["```{toctree}", ":hidden:", "", *pages, "drives", "```", ""]
    (folder / "index.md").write_text("\n".join([INTRODUCTION, *listed, *thumbnails]))


def _write_page(name: str, folder: Path) -> str:
    """Write a study's page; return the small pictures that lead to its figures."""
    study = studies.get(name)
    with painters() as sources:
        figures = drawn(study)
    words, small = [f"# {study.TITLE}", ""], [f"## {study.TITLE}", ""]
    for figure, one in figures.items():
        _, _, run = figure.partition("--")
        title = title_of(one.figure, figure) + (f" ({run})" if run else "")
        file = folder / "figures" / f"{name}-{figure}.svg"
        file.write_bytes(vectors(one.figure))
        label = make_id(f"figure-{name}-{figure}")
        words += [f"({label})=", f"## {title}", "", f"![{title}](figures/{file.name})", ""]
        words += [one.caption, ""]
        if one.details:
            words += ["<details><summary>Details</summary>", "", one.details, "", "</details>", ""]
        words += _code(sources[id(one.figure)])
        small += _thumbnail(title, file.name, f"{name}.html#{label}")
    (folder / f"{name}.md").write_text("\n".join(words))
    return "\n".join(small)


def _thumbnail(title: str, picture: str, target: str) -> list[str]:
    """Return the lines of a small picture that leads to the large one."""
    begins = ["```{figure} figures/" + picture, f":alt: {title}", f":target: {target}"]
    return [*begins, ":figclass: thumbnail", "", title, "```", ""]


def _write_drives(folder: Path) -> str:
    """Write the page of the modelled drives, whose picture is stored: it needs published traces.

    Returns: The small picture that leads to it.
    """
    picture = PROJECT / "docs" / "figures" / "drives.svg"
    shutil.copyfile(picture, folder / "figures" / picture.name)
    words = ["# Modelled drives", "", "## Response times", ""]
    words += [f"![Response times of modelled and real drives](figures/{picture.name})", "", DRIVES]
    words += ["", *_code(inspect.getsource(drawing.response_times))]
    (folder / "drives.md").write_text("\n".join(words))
    small = _thumbnail("Response times of drives", picture.name, "drives.html")
    return "\n".join(["## Modelled drives", "", *small])


def _code(source: str) -> list[str]:
    """Return the lines of a page that show the code of a figure, folded."""
    summary = "<details><summary>The code that draws it</summary>"
    return [summary, "", "```python", source.rstrip(), "```", "", "</details>", ""]


def drawn(study: Any) -> dict[str, Drawn]:
    """Draw every figure of a study."""
    figures = dict(study.figures(study.published(), store.load(study.NAME)))
    for (name, figure), file in BESIDE_THE_REFERENCE.items():
        if name == study.NAME:
            figures[figure] = study.figures(study.published(), pd.read_csv(file))[figure]
    return figures
