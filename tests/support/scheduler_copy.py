"""Schedulers of somebody's own: a copy of a folder, and a record; forgotten after the test."""

import shutil

import pytest

from elevatorlab.plugins import scheduler_folders
from elevatorlab.plugins.schedulers import SCHEDULERS, SchedulerRecord
from helpers import FIXTURES

ONE_LIST = FIXTURES / "schedulers" / "one-list"


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the folder, to change."""
    yield shutil.copytree(ONE_LIST, tmp_path / "one-list")
    SCHEDULERS.unregister("one-list")


@pytest.fixture
def registered(folder):
    """Register the copy."""
    return scheduler_folders.register(folder)


@pytest.fixture
def adios():
    """Register a scheduler that no kernel of ours has."""
    record = SchedulerRecord("adios", module="adios-iosched", remedy="install it with DKMS")
    yield SCHEDULERS.register("adios", record)
    SCHEDULERS.unregister("adios")
