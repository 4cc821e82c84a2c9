"""A copy of a scheduler's folder, to change and to register."""

import shutil

import pytest

from elevatorlab.plugins import scheduler_folders
from elevatorlab.plugins.schedulers import SCHEDULERS
from helpers import FIXTURES

ONE_LIST = FIXTURES / "schedulers" / "one-list"


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the folder, to change."""
    return shutil.copytree(ONE_LIST, tmp_path / "one-list")


@pytest.fixture
def registered(folder):
    """Register the copy; forget it afterwards."""
    yield scheduler_folders.register(folder)
    SCHEDULERS.unregister("one-list")
