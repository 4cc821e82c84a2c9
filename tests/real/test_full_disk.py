"""A disk that fills up while something is written: one sentence, and nothing half-written."""

import subprocess

import pytest

from helpers import cli

pytestmark = [pytest.mark.root, pytest.mark.programs("mount")]


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder with room for a part of a report."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_report_that_does_not_fit(small_disk):
    run = cli("report", "--results", "published", "--out", small_disk / "report")
    assert run.returncode == 1
    (sentence,) = run.stderr.splitlines()
    assert f"{small_disk}/report could not be written (No space left" in sentence
    assert list(small_disk.iterdir()) == []
