"""Figures and pages: the same bytes each time."""

import os
import subprocess
import sys

import pytest


@pytest.mark.timeout(1200)
def test_the_reference_gives_the_same_bytes_in_every_process(tmp_path):
    """Figures, tables and pages: Python orders sets by another seed in each process."""
    program = (
        "import sys; from elevatorlab.showing.report import write_report; "
        "write_report('reference', sys.argv[1])"
    )
    folders = {seed: tmp_path / seed for seed in ("1", "2")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, folder], env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed, folder in folders.items()
    ]
    assert [process.wait() for process in processes] == [0, 0]
    one, other = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}
        for folder in folders.values()
    )
    assert {path.suffix for path in one} == {".html", ".csv", ".pdf", ".png", ".svg"}
    assert one.keys() == other.keys()
    assert [str(path) for path in one if one[path] != other[path]] == []
