"""Make slides of the lectures: `python docs/slides/build.py [FOLDER]`, as `make slides` does."""

from __future__ import annotations

import shutil
import sys
from base64 import b64encode
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from nbconvert import SlidesExporter
from nbformat import NotebookNode
from notes import notes
from rule import slides

from elevatorlab.lectures.sliders import WIDGET
from elevatorlab.paths import BUILD, PROJECT

HERE = Path(__file__).parent
sys.path.insert(0, f"{HERE.parent}")
from run_notebook import executed  # noqa: E402

LECTURES = PROJECT / "notebooks" / "lectures"

#: The Python package that brings reveal.js, where in it that is, and what of it the pages ask for.
PACKAGE = "sphinx-revealjs"
REVEAL = "sphinx_revealjs/_static/revealjs"
PARTS = (
    "LICENSE",
    "dist/reveal.css",
    "dist/reveal.js",
    "dist/theme/white.css",
    "dist/theme/fonts/source-sans-pro",
    "plugin/notes/notes.js",
)


def build(folder: Path) -> None:
    """Run each lecture, and write its slides.

    Parameters
    ----------
    folder : pathlib.Path
        Gets a page for each lecture, and reveal.js beside them.
    """
    copy_reveal(folder / "reveal.js")
    for notebook in sorted(LECTURES.glob("*.ipynb")):
        write(executed(notebook), notebook.stem, folder)
        print(f"slides   {folder / notebook.stem}.html", flush=True)


def copy_reveal(to: Path) -> None:
    """Copy what the pages need of reveal.js, so that nothing comes from a network."""
    try:
        source = Path(str(distribution(PACKAGE).locate_file(REVEAL)))
    except PackageNotFoundError:
        raise SystemExit(
            f"expected the Python package {PACKAGE}, which brings reveal.js, found none; "
            "install it with: make setup"
        ) from None
    for name in PARTS:
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target, dirs_exist_ok=True)
        else:
            shutil.copy(source / name, target)


def write(lecture: NotebookNode, name: str, folder: Path) -> None:
    """Write the slides of a lecture, with the notes of docs/teaching.md.

    Parameters
    ----------
    lecture : nbformat.NotebookNode
    name : str
        Begins with the lecture's number: `01-what-an-elevator-does`.
    folder : pathlib.Path
    """
    shown = slides(lecture, notes(int(name[:2])))
    for cell in shown.cells:
        for output in cell.get("outputs", []):
            _still(output.get("data", {}))
    exporter = SlidesExporter(
        template_name="elevatorlab",
        extra_template_basedirs=[f"{HERE / 'template'}"],
        reveal_url_prefix="reveal.js",
        reveal_theme="white",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    page, _ = exporter.from_notebook_node(shown, {"metadata": {"name": name}})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.html").write_text(page)


def _still(data: NotebookNode) -> None:
    """Drop what only a running notebook can show, and say of each picture what it is.

    nbconvert shows no film, and gives no picture a text for those who cannot see it.
    """
    data.pop(WIDGET, None)
    if vectors := data.get("image/svg+xml"):
        data["image/svg+xml"] = b64encode(vectors.encode()).decode()
    for kind in ("image/svg+xml", "image/png", "image/gif"):
        if picture := data.pop(kind, None):
            source = f"data:{kind};base64,{picture.strip()}"
            data["text/html"] = f'<img alt="What this code draws" src="{source}">'


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD / "slides")
