"""Gather the pages of the site: docs/ and a few of the repository's own, with links that fit."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from elevatorlab.paths import PROJECT

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
    "notebooks/lectures": "notebooks/lectures",
}
#: Folders of notebooks, and what their pages are called.
NOTEBOOKS = {"analysis": "Analyses", "lectures": "Lectures"}
#: What is in these folders and no page.
NO_PAGES = ("site", "slides", "solutions", "ipynb_checkpoints", "__pycache__")


def gather(to: Path) -> None:
    """Copy every page to its place, with links that lead to the pages of the site."""
    places = dict(_places())
    for source, place in places.items():
        target = to / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix in (".md", ".ipynb"):
            target.write_text(relinked(source, places))
        else:
            shutil.copy(source, target)
    for name, title in NOTEBOOKS.items():
        listed = [f"# {title}", "", "```{toctree}", ":glob:", "", "*", "```", ""]
        (to / "notebooks" / name / "index.md").write_text("\n".join(listed))


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


def relinked(source: Path, places: dict[Path, str]) -> str:
    """Return a page or a notebook whose links are those of the site."""
    if source.suffix == ".md":
        return _relinked(source.read_text(), source, places)
    notebook = json.loads(source.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = _relinked("".join(cell["source"]), source, places)
    return json.dumps(notebook)


def _relinked(words: str, source: Path, places: dict[Path, str]) -> str:
    here = PurePosixPath(places[source]).parent

    def there(link: re.Match[str]) -> str:
        shown, target, anchor = link["shown"], link["target"], link["anchor"] or ""
        if not target or "://" in target:
            return link[0]
        path = (source.parent / target).resolve()
        place = places.get(path) or PLACES.get(path.relative_to(PROJECT).as_posix())
        if not place or place.startswith("notebooks/") and path.is_dir():
            return shown if link["image"] else f"{shown} (`{path.relative_to(PROJECT)}`)"
        up = "../" * len(here.parts)
        return f"{link['image']}[{shown}]({up}{place}{anchor})"

    pattern = r"(?P<image>!?)\[(?P<shown>[^]]*)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)]*)?\)"
    return re.sub(pattern, there, words)
