"""The programs that make slides of lectures, as fixtures."""

import importlib
import importlib.util

import pytest

from elevatorlab.paths import PROJECT

FOLDER = PROJECT / "docs" / "slides"

LECTURES = sorted((PROJECT / "notebooks" / "lectures").glob("*.ipynb"))

LECTURE = pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)


@pytest.fixture
def rule(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("rule")


@pytest.fixture
def notes(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("notes")


@pytest.fixture
def build(rule, notes):
    """Return the program by another name: a package of the tests is called build, too."""
    spec = importlib.util.spec_from_file_location("slides_build", FOLDER / "build.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def read(lecture):
    import nbformat  # takes a second, which no collection of tests needs

    return nbformat.read(lecture, as_version=4)
