"""Run a notebook, for a page of the site or for slides."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbconvert.preprocessors import ExecutePreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from elevatorlab import cache
from elevatorlab.showing import cache_keys

#: What each notebook runs first: its figures become SVG, which is sharp on every screen.
VECTORS = "%config InlineBackend.figure_formats = ['svg']"


def executed(notebook: Path) -> NotebookNode:
    """Return a notebook with what its cells show. What was measured before is only read.

    A notebook that ran before comes from the user's cache, if nothing has changed that decides what
    it shows.
    """
    if not cache_keys.are_known():
        return _run(notebook)
    digest = cache_keys.digest(VECTORS, notebook.read_text())
    made = cache.obtain(
        "notebooks", digest, lambda into: nbformat.write(_run(notebook), into / notebook.name)
    )
    return nbformat.read(made / notebook.name, as_version=4)


def _run(notebook: Path) -> NotebookNode:
    run = nbformat.read(notebook, as_version=4)
    run.cells.insert(0, new_code_cell(VECTORS))
    how = ExecutePreprocessor(timeout=None, startup_timeout=600, store_widget_state=False)
    how.preprocess(run, {"metadata": {"path": str(notebook.parent)}})
    del run.cells[0]
    return run
