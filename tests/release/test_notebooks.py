"""Every notebook runs and prints what is stored; tests/machine has one of each kind."""

import pytest

from notebooks_support import (  # noqa: F401  (fixtures)
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

pytestmark = [pytest.mark.image, pytest.mark.timeout(1200), pytest.mark.usefixtures("own_build")]


@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_stored_outputs_are_what_the_notebook_prints(notebook):
    assert prints_what_is_stored(notebook) == ""


def test_the_first_notebook_names_no_path_and_no_user(elsewhere):
    names_no_place(STORED[0], elsewhere)


@pytest.mark.parametrize("notebook", EXPERIMENTS[1:], ids=lambda path: path.stem)
def test_measurement_then_analysis_of_fresh_results(notebook, elsewhere, own_build):
    measured_then_analysed(notebook, elsewhere, own_build)
