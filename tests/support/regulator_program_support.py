"""What several tiers of `test_regulator_program` share."""

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from elevatorlab.testbeds import agent_archive


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return the beginning of the command: the archive, as it travels."""
    archive = tmp_path_factory.mktemp("agent") / "agent.pyz"
    archive.write_bytes(agent_archive.agent_archive())
    place = Path(tempfile.gettempdir())
    for folder in itertools.takewhile(lambda folder: folder != place, archive.parents):
        folder.chmod(0o755)  # for one who is not root
    return [sys.executable, str(archive), "regulate"]


def refused(program, *options, **more):
    """Return the one sentence with which the program refuses to start."""
    command = [*program, *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    assert run.returncode == 2 and run.stdout == ""
    assert "Traceback" not in run.stderr
    return run.stderr.splitlines()[-1]


SLAE = ("--policy", "slae", "--sla-wait-ms", "5")
