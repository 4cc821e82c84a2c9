"""Every notebook runs and prints what is stored, and a lecture the same again."""

import json

import nbformat
import papermill
import pytest

from elevatorlab.lectures import sliders
from elevatorlab.paths import PROJECT
from notebook_runs import (  # noqa: F401  (fixtures)
    EXPERIMENTS,
    NOTEBOOKS,
    STORED,
    elsewhere,
    measured_then_analysed,
    names_no_place,
    own_build,
    places_named_in,
    prints_what_is_stored,
    run,
)

pytestmark = [pytest.mark.image, pytest.mark.timeout(1200)]


@pytest.mark.usefixtures("own_build")
@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_stored_outputs_are_what_the_notebook_prints(notebook):
    assert prints_what_is_stored(notebook) == ""


@pytest.mark.usefixtures("own_build")
def test_the_first_notebook_names_no_path_and_no_user(elsewhere):
    names_no_place(STORED[0], elsewhere)


@pytest.mark.usefixtures("own_build")
@pytest.mark.parametrize("notebook", EXPERIMENTS[1:], ids=lambda path: path.stem)
def test_measurement_then_analysis_of_fresh_results(notebook, elsewhere, own_build):
    measured_then_analysed(notebook, elsewhere, own_build)


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


@pytest.mark.parametrize("notebook", [*LECTURES, *SOLUTIONS], ids=lambda path: str(path)[-40:])
def test_a_lecture_runs_and_shows_the_same_again(notebook, tmp_path):
    first = outputs(notebook, tmp_path)
    assert json.dumps(outputs(notebook, tmp_path)) == json.dumps(first)
    assert notebook in SOLUTIONS or "image/png" in json.dumps(first)
