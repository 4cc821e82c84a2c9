"""Folders of killed processes are removed, and nobody else's."""

import os
import tempfile
from pathlib import Path

import pytest

from elevatorlab import scratch
from helpers import ended


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_left_is_removed(there):
    left = there / f"{scratch.PREFIX}{ended()}-abc"
    left.mkdir()
    (left / "file").write_text("half of it")
    scratch.sweep()
    assert not left.exists()


def test_what_others_have_stays(there):
    living = there / f"{scratch.PREFIX}{os.getpid()}-abc"
    strange = there / f"{scratch.PREFIX}kernel-abc"
    for folder in (living, strange):
        folder.mkdir()
    scratch.sweep()
    assert living.is_dir() and strange.is_dir()


def test_a_folder_that_goes_meanwhile_is_no_error(there, monkeypatch):
    gone = there / f"{scratch.PREFIX}{ended()}-abc"
    monkeypatch.setattr(Path, "glob", lambda *_: iter([gone]))
    scratch.sweep()
    assert list(there.iterdir()) == []
