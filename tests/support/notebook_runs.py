"""What tests of notebooks share: which there are, and how one runs."""

import getpass
import re
import subprocess
import sys
from pathlib import Path

import papermill
import pytest

from elevatorlab.paths import BUILD, PROJECT
from elevatorlab.results import reading

NOTEBOOKS = PROJECT / "notebooks"
EXPERIMENTS = sorted((NOTEBOOKS / "experiments").glob("*.ipynb"))
STORED = [NOTEBOOKS / "00-start-here.ipynb", *sorted((NOTEBOOKS / "analysis").glob("*.ipynb"))]


@pytest.fixture(scope="module")
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


def prints_what_is_stored(notebook):
    """Return what nbval says of a notebook that prints something else; "" if it does not."""
    nbval = ("-p", "nbval", "--nbval", "-p", "no:xdist")
    command = [sys.executable, "-m", "pytest", *nbval, "-q", str(notebook)]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT)
    return checked.stdout[-3000:] if checked.returncode else ""


def names_no_place(notebook, elsewhere, **parameters):
    """Run a notebook; neither papermill's own notes nor what is printed name a path or a user."""
    run("notebooks" / notebook.relative_to(NOTEBOOKS), elsewhere, **parameters)
    assert places_named_in((elsewhere / "out.ipynb").read_text()) == []


def measured_then_analysed(notebook, elsewhere, own_build):
    """Run an experiment's notebook, and the analysis of what it has measured."""
    names_no_place(notebook, elsewhere, preset="smoke")
    (results,) = own_build.glob("results/*")
    assert study_of(notebook) in {one.trial["study"] for one in reading.results_in(results)}
    run(Path("notebooks/analysis", notebook.name), elsewhere, results=str(results))


def study_of(notebook):
    """Return the name of the study that an experiment's notebook measures."""
    return re.search(r"notebook\.check\(\\?\"(\w+)", notebook.read_text())[1]
