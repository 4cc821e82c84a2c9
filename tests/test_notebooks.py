"""Every notebook runs: analysis prints what is stored, measurement takes parameters."""

import re
import subprocess
import sys

import papermill
import pytest

from elevatorlab.paths import PROJECT
from measured import write_results

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(1200)]

NOTEBOOKS = PROJECT / "notebooks"
EXPERIMENTS = sorted((NOTEBOOKS / "experiments").glob("*.ipynb"))
STORED = [NOTEBOOKS / "00-start-here.ipynb", *sorted((NOTEBOOKS / "analysis").glob("*.ipynb"))]


def run(notebook, folder, **parameters):
    papermill.execute_notebook(
        notebook, folder / "out.ipynb", parameters, progress_bar=False, log_output=False
    )


@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_stored_outputs_are_what_the_notebook_prints(notebook):
    command = [sys.executable, "-m", "pytest", "--nbval", "-p", "no:xdist", "-q", str(notebook)]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT)
    assert checked.returncode == 0, checked.stdout[-3000:]


@pytest.mark.parametrize("notebook", STORED[1:], ids=lambda path: path.stem)
def test_analysis_works_from_published_data_alone(notebook, tmp_path):
    run(notebook, tmp_path, results="published")


def test_analysis_shows_every_arm_of_several_testbeds(tmp_path):
    write_results(tmp_path / "results")
    run(
        NOTEBOOKS / "analysis" / "01-vm-vs-container.ipynb", tmp_path, results=f"{tmp_path}/results"
    )
    text = (tmp_path / "out.ipynb").read_text()
    assert "Measured on docker+host+vagrant, smoke, machine 01234567" in text
    assert "of VM: TCG (QEMU, no hardware virtualisation)" in text
    assert "not testable here" in text


@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_stored_outputs_are_small(notebook):
    assert notebook.stat().st_size < 350_000


@pytest.mark.image
@pytest.mark.parametrize("notebook", EXPERIMENTS, ids=lambda path: path.stem)
def test_measurement_then_analysis_of_fresh_results(notebook, tmp_path):
    results = tmp_path / "results"
    run(notebook, tmp_path, preset="smoke", results=str(results))
    assert list(results.glob("*/*/result.json"))
    run(NOTEBOOKS / "analysis" / notebook.name, tmp_path, results=str(results))


@pytest.mark.parametrize("notebook", EXPERIMENTS, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("colour", "blue", "no parameter 'colour' here; expected one of testbed, preset"),
        ("repetitions", "many", "repetitions: Input should be a valid integer"),
        ("schedulers", ["cfq"], "schedulers.0: Input should be 'none', 'mq-deadline'"),
        ("testbed", "moon", "testbed: expected one of"),
        ("testbed", "host,moon", "found 'moon'"),
        (
            "backing_schedulers",
            ["cfq"],
            "backing_schedulers.0: Input should be 'none', 'mq-deadline'",
        ),
        ("destroy", "maybe", "destroy: Input should be a valid boolean"),
        ("workers", "two", "workers: expected int; found 'two'"),
    ],
)
def test_a_wrong_parameter_ends_the_notebook_before_anything_starts(
    notebook, name, value, said, tmp_path
):
    results = tmp_path / "results"
    with pytest.raises(papermill.PapermillExecutionError, match=re.escape(said)):
        run(notebook, tmp_path, results=str(results), **{name: value})
    assert not results.exists()
