"""Figures and pages: the same bytes each time."""

import os
import subprocess
import sys

import pytest

from elevatorlab.judging.claim import Role
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.plugins import studies
from helpers import cli

OURS = studies.ours()


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


@pytest.mark.image
@pytest.mark.timeout(1200)
def test_each_study_says_what_became_of_its_main_claim_as_it_ends(tmp_path):
    ran = cli("reproduce", "--preset", "smoke", "--results", tmp_path, "--out", tmp_path / "report")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    ends = [line for line in lines if line.startswith(tuple(f"{one.NAME}, main" for one in OURS))]
    assert [line.partition(",")[0] for line in ends] == [one.NAME for one in OURS]
    verdicts = [line.removesuffix(f" ({Role.BEYOND})").rpartition(": ")[2] for line in ends]
    assert set(verdicts) <= set(Verdict)
    assert lines[lines.index(ends[0]) + 1].endswith(str(tmp_path / "report" / "index.html"))
    assert all((tmp_path / f"report/{one.NAME}.html").exists() for one in OURS)
