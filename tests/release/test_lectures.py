"""The lectures run as they are given, and say the same when they are given again."""

import json

import nbformat
import papermill
import pytest

from elevatorlab.lectures import (
    sliders,
)
from elevatorlab.paths import PROJECT

LECTURES = sorted((PROJECT / "notebooks" / "lectures").glob("*.ipynb"))

SOLUTIONS = [path.parent / "solutions" / path.name for path in LECTURES]


def outputs(notebook, folder):
    """Run a notebook and return what each of its cells shows, but for a widget's own number."""
    papermill.execute_notebook(notebook, folder / "out.ipynb", progress_bar=False, log_output=False)
    shown = []
    for cell in nbformat.read(folder / "out.ipynb", as_version=4).cells:
        found = [output.get("data", {}) for output in cell.get("outputs", [])]
        shown.append([dict(one) for one in found])
        for one in shown[-1]:
            one.pop(sliders.WIDGET, None)
    return shown


@pytest.mark.image
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("notebook", [*LECTURES, *SOLUTIONS], ids=lambda path: str(path)[-40:])
def test_a_lecture_runs_and_shows_the_same_again(notebook, tmp_path):
    first = outputs(notebook, tmp_path)
    assert json.dumps(outputs(notebook, tmp_path)) == json.dumps(first)
    assert notebook in SOLUTIONS or "image/png" in json.dumps(first)
