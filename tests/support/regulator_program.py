"""The regulator as a program, and the file of classes that it reads."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from elevatorlab.testbeds import agent_archive


@pytest.fixture(scope="module")
def program():
    """Return the beginning of the command: the archive, as it travels."""
    # Not below pytest's folder, which each start of pytest closes to all but root.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # for one who is not root
        archive = Path(folder, "agent.pyz")
        archive.write_bytes(agent_archive.operators_archive())
        yield [sys.executable, str(archive), "regulate"]


def refused(program, *options, **more):
    """Return the one sentence with which the program refuses to start."""
    command = [*program, *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    assert run.returncode == 2 and run.stdout == ""
    assert "Traceback" not in run.stderr
    return run.stderr.splitlines()[-1]


SLAE = ("--policy", "slae", "--sla-wait-ms", "5")


GOOD = """\
classes:
  database:
    sla: 2
    cgroups: [system.slice/postgresql.service]
    devices: [sdb]
  batch:
    sla: none
    cgroups: ["kubepods.slice/*"]
"""


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "regulator.yaml"
    file.write_text(GOOD)
    return file
