"""Every notebook runs: analysis prints what is stored, measurement takes parameters."""

import getpass
import json
import re
import subprocess
import sys
from pathlib import Path

import papermill
import pytest
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import BUILD, PROJECT
from elevatorlab.results import reading
from synthetic import write_results

pytestmark = [pytest.mark.timeout(1200)]

NOTEBOOKS = PROJECT / "notebooks"
EXPERIMENTS = sorted((NOTEBOOKS / "experiments").glob("*.ipynb"))
STORED = [NOTEBOOKS / "00-start-here.ipynb", *sorted((NOTEBOOKS / "analysis").glob("*.ipynb"))]


@pytest.fixture(scope="module", autouse=True)
def own_build(tmp_path_factory):
    """Give the notebooks a build folder of their own, whose results they share.

    The first notebook measures the first study's smoke preset, and so does its experiment.
    """
    folder = tmp_path_factory.mktemp("build")
    if (BUILD / "image").exists():
        (folder / "image").symlink_to(BUILD / "image")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELEVATORLAB_BUILD", str(folder))
        yield folder


def run(notebook, folder, **parameters):
    papermill.execute_notebook(
        notebook, folder / "out.ipynb", parameters, progress_bar=False, log_output=False
    )


@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_stored_outputs_are_what_the_notebook_prints(notebook):
    command = [sys.executable, "-m", "pytest", "--nbval", "-p", "no:xdist", "-q", str(notebook)]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT)
    assert checked.returncode == 0, checked.stdout[-3000:]


def test_analysis_shows_every_arm_of_several_testbeds(tmp_path):
    write_results(tmp_path / "results")
    run(
        NOTEBOOKS / "analysis" / "01-vm-vs-container.ipynb", tmp_path, results=f"{tmp_path}/results"
    )
    text = (tmp_path / "out.ipynb").read_text()
    assert (
        "Measured on the testbeds docker, host and vagrant with the preset smoke (machine 01234567)"
        in text
    )
    assert "TCG (QEMU, no hardware virtualisation) for VM" in text
    assert "not testable here" in text


@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_no_stored_table_shows_nan(notebook):
    """A cell without a number goes through `elevatorlab.lectures.tables.show`, which says why."""
    for cell in json.loads(notebook.read_text())["cells"]:
        for output in cell.get("outputs", []):
            shown = {kind: data for kind, data in output.get("data", {}).items() if "text" in kind}
            assert not re.search(r"\bNaN\b", json.dumps([shown, output.get("text")])), cell[
                "source"
            ]


@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_stored_outputs_are_small(notebook):
    assert notebook.stat().st_size < 600_000


def places_named_in(text):
    """Return the paths of this machine and the names of its user that a text has."""
    user = getpass.getuser()
    named = [f"{PROJECT}", f"{Path.home()}/", f"/home/{user}", f"{user}@"]
    found = [name for name in named if name in text]
    return found + re.findall(r"(?<![\w.>/])/(?:home|Users|root|tmp|srv|opt|mnt)/[\w./-]+", text)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Work in another folder, where the notebooks have short names, as a user gives them."""
    (tmp_path / "notebooks").symlink_to(NOTEBOOKS)
    monkeypatch.chdir(tmp_path)
    return Path()


@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_an_executed_notebook_names_no_path_and_no_user(notebook, elsewhere):
    """Neither papermill's own notes nor what is printed, on whatever machine.

    Analysis works from published data alone; what it prints of the reference is what is stored.
    """
    alone = {} if notebook == STORED[0] else {"results": "published"}
    run("notebooks" / notebook.relative_to(NOTEBOOKS), elsewhere, **alone)
    assert places_named_in((elsewhere / "out.ipynb").read_text()) == []


@pytest.mark.parametrize("notebook", [*STORED, *EXPERIMENTS], ids=lambda path: path.stem)
def test_a_stored_notebook_names_no_path_and_no_user(notebook):
    assert places_named_in(notebook.read_text()) == []


def test_places_are_found_where_there_are_some():
    user = getpass.getuser()
    for place in (f"{PROJECT}/lib", f"{user}@there", "/tmp/mine/results"):
        assert places_named_in(f"results in {place}")
    assert places_named_in("in build/results, /dev/null, and/or elsewhere") == []


@pytest.mark.image
@pytest.mark.parametrize("notebook", EXPERIMENTS, ids=lambda path: path.stem)
def test_measurement_then_analysis_of_fresh_results(notebook, elsewhere, own_build):
    run("notebooks" / notebook.relative_to(NOTEBOOKS), elsewhere, preset="smoke")
    assert places_named_in((elsewhere / "out.ipynb").read_text()) == []
    (results,) = own_build.glob("results/*")
    assert study_of(notebook) in {one.trial["study"] for one in reading.results_in(results)}
    run(Path("notebooks/analysis", notebook.name), elsewhere, results=str(results))


def study_of(notebook):
    """Return the name of the study that an experiment's notebook measures."""
    return re.search(r"notebook\.check\(\\?\"(\w+)", notebook.read_text())[1]


def run_here(notebook, **parameters):
    """Run a notebook's cells as papermill gives them parameters, but in this process."""
    given = parameterize_notebook(load_notebook_node(str(notebook)), parameters)
    cells = [cell.source for cell in given.cells if cell.cell_type == "code"]
    namespace = {}
    for cell in cells:
        exec(cell, namespace)


@pytest.mark.parametrize("notebook", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_wrong_parameter_ends_papermill(notebook, tmp_path):
    said = "no parameter 'colour' here; expected one of testbed, preset"
    results = tmp_path / "results"
    with pytest.raises(papermill.PapermillExecutionError, match=re.escape(said)):
        run(notebook, tmp_path, results=str(results), colour="blue")
    assert not results.exists()


@pytest.mark.parametrize("notebook", EXPERIMENTS, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("colour", "blue", "no parameter 'colour' here; expected one of testbed, preset"),
        ("repetitions", "many", "repetitions: Input should be a valid integer"),
        ("schedulers", ["noop"], "schedulers.0: Input should be 'none', 'mq-deadline'"),
        ("testbed", "moon", "testbed: expected one of"),
        ("testbed", "host,moon", "found 'moon'"),
        ("backing_schedulers", ["noop"], "backing_schedulers"),
        ("workers", "two", "workers: expected int; found 'two'"),
    ],
)
def test_a_wrong_parameter_ends_the_notebook_before_anything_starts(
    notebook, name, value, said, tmp_path
):
    results = tmp_path / "results"
    with pytest.raises(ElevatorLabError, match=re.escape(said)):
        run_here(notebook, results=str(results), **{name: value})
    assert not results.exists()


@pytest.mark.parametrize(
    ("study", "name", "value", "said"),
    [
        ("01-", "backing_schedulers", ["noop"], "backing_schedulers.0: Input should be 'none'"),
        *(
            (study, "destroy", "maybe", "destroy: Input should be a valid boolean")
            for study in ("01-", "02-", "04-", "05-")
        ),
        # The disk of study 3 is a simulated one on every testbed.
        ("03-", "destroy", True, "no parameter 'destroy' here; expected one of testbed, preset"),
        ("03b-", "destroy", True, "no parameter 'destroy' here; expected one of testbed, preset"),
        ("03-", "containers", [21], "containers.0: Input should be less than or equal to 20"),
        ("03-", "experiments", ["all"], "experiments.0: Input should be 'equal'"),
    ],
)
def test_a_wrong_parameter_of_one_study_does_so_too(study, name, value, said, tmp_path):
    (notebook,) = (path for path in EXPERIMENTS if path.name.startswith(study))
    test_a_wrong_parameter_ends_the_notebook_before_anything_starts(
        notebook, name, value, said, tmp_path
    )
