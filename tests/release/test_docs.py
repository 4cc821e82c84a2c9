"""The documents: Python that runs as it stands, and a table that a benchmark prints."""

import subprocess
import sys

import pytest

from docs_examples import blocks, typed
from elevatorlab.paths import PROJECT
from helpers import cli


@pytest.mark.image
@pytest.mark.timeout(600)
def test_a_scheduler_of_ones_own_is_run_and_drawn(tmp_path):
    """One block after the other, with the folder of the first one's result in the second."""
    made = cli("scheduler", "new", "mine", "--template", "look", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    run, draw, register = blocks("docs/elevators.md")
    draw = draw.replace('"RESULTS/deterministic/HASH"', 'ran["mine"].folder')
    assert "HASH" not in draw
    typed("\n".join([register, run, draw]), tmp_path)


@pytest.mark.image
@pytest.mark.timeout(3600)
def test_the_regulators_page_has_what_a_limit_does_to_a_shared_journal():
    command = [sys.executable, PROJECT / "benchmarks/inversion.py"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout in (PROJECT / "docs/regulator.md").read_text()
