"""Gather the pages of the site: docs/ and a few of the repository's own, with links that fit."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import nbformat
from nbformat import NotebookNode

from elevatorlab.paths import PROJECT

sys.path.insert(0, f"{Path(__file__).parents[1]}")
from run_notebook import executed  # noqa: E402

#: Where a page of the repository stands in the site; docs/ is the site's root.
PLACES = {
    "docs": "",
    "README.md": "index.md",
    "ARTIFACT.md": "artifact.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "courses/elevators/README.md": "course.md",
    "environments/kernel/README.md": "kernel/index.md",
    "environments/kernel/drive/README.md": "kernel/drive.md",
    "notebooks/00-start-here.ipynb": "notebooks/00-start-here.ipynb",
    "notebooks/analysis": "notebooks/analysis",
    "notebooks/experiments": "notebooks/experiments",
    "notebooks/lectures": "notebooks/lectures",
}
#: Folders of notebooks, and what their pages are called.
NOTEBOOKS = {"analysis": "Analyses", "experiments": "Experiments", "lectures": "Lectures"}
#: What is in these folders and no page.
NO_PAGES = ("site", "slides", "solutions", "ipynb_checkpoints", "__pycache__")


def gather(to: Path) -> None:
    """Copy every page to its place, with links that lead to the pages of the site."""
    places = dict(_places())
    lectures = [source for source in places if "lectures" in source.parts]
    others = [source for source in places if source not in lectures]
    # Lectures measure into one folder, where two would be in each other's way.
    with ThreadPoolExecutor() as lanes:
        for lane in [lanes.submit(_write, some, places, to) for some in (lectures, others)]:
            lane.result()
    for name, title in NOTEBOOKS.items():
        listed = [f"# {title}", "", "```{toctree}", ":glob:", "", "*", "```", ""]
        (to / "notebooks" / name / "index.md").write_text("\n".join(listed))


def _write(sources: list[Path], places: dict[Path, str], to: Path) -> None:
    for source in sources:
        target = to / places[source]
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".ipynb":
            notebook = shown(source)
            section = ""
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = relinked(cell.source, source, places)
                    section = [section, *re.findall(r"^#+ (.+)$", cell.source, re.M)][-1]
                else:  # a picture is named after its section; its caption follows it
                    cell.metadata["mystnb"] = {"image": {"alt": f"Figure: {section}"}}
            nbformat.write(notebook, target)
        elif source.suffix == ".md":
            target.write_text(relinked(source.read_text(), source, places))
        else:
            shutil.copy(source, target)


def shown(notebook: Path) -> NotebookNode:
    """Return a notebook with all that its cells show.

    A stored output would be a picture of pixels, or there is none: a lecture's reader predicts
    first. Experiments may take hours, so they are shown as they are stored.
    """
    if notebook.parent.name == "experiments":
        return nbformat.read(notebook, as_version=4)
    return executed(notebook)


def _places() -> Iterator[tuple[Path, str]]:
    for name, place in PLACES.items():
        if name == "README.md":
            continue
        source = PROJECT / name
        if source.is_file():
            yield source, place
            continue
        for file in sorted(source.rglob("*")):
            inside = file.relative_to(source)
            if file.is_file() and not set(inside.parts) & set(NO_PAGES):
                yield file, (PurePosixPath(place) / inside.as_posix()).as_posix()


def relinked(words: str, source: Path, places: dict[Path, str]) -> str:
    """Return the words of a page or a notebook with links that are those of the site."""
    here = PurePosixPath(places[source]).parent

    def there(link: re.Match[str]) -> str:
        shown, target, anchor = link["shown"], link["target"], link["anchor"] or ""
        if not target or "://" in target:
            return link[0]
        path = (source.parent / target).resolve()
        place = places.get(path, PLACES.get(path.relative_to(PROJECT).as_posix()))
        if place is not None and path.is_dir():
            place = f"{place}/index.md".lstrip("/")
        if not place:
            return shown if link["image"] else f"{shown} (`{path.relative_to(PROJECT)}`)"
        up = "../" * len(here.parts)
        return f"{link['image']}[{shown}]({up}{place}{anchor})"

    pattern = r"(?P<image>!?)\[(?P<shown>[^]]*)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)]*)?\)"
    return re.sub(pattern, there, words)
