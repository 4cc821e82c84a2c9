"""The programs that make slides of lectures, as fixtures."""

import importlib

import pytest

from elevatorlab.paths import PROJECT
from helpers import program

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
    """Return the program; by its name, an import finds a package of the tests' own."""
    return program(FOLDER / "build.py")


def read(lecture):
    import nbformat  # takes a second, which no collection of tests needs

    return nbformat.read(lecture, as_version=4)
