"""Trials in a real virtual machine, and the notebook on every testbed."""

import json
import subprocess

import pytest

import sshd
from elevatorlab.paths import PROJECT
from elevatorlab.results import reading

HOST_PROGRAMS = pytest.mark.programs("fio", "iostat", "losetup", "mkfs.ext4")

NOTEBOOK = PROJECT / "notebooks/experiments/01-vm-vs-container.ipynb"


def papermill(testbed, folder):
    """Run the notebook of study 1 as a user would, a small part of it; return its results."""
    command = [PROJECT / ".venv/bin/papermill", NOTEBOOK, folder / "out.ipynb"]
    parameters = {"testbed": testbed, "preset": "smoke", "results": folder / "results"}
    lists = {"schedulers": ["bfq"], "variants": ["dropped"]}
    for name, value in parameters.items():
        command += ["-p", name, str(value)]
    for name, value in lists.items():
        command += ["-y", json.dumps({name: value})]
    run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stderr[-3000:]
    return list(reading.results_in(folder / "results"))


@pytest.mark.parametrize(
    "testbed",
    [
        pytest.param("host", marks=[pytest.mark.root, HOST_PROGRAMS]),
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.environment_image]),
        pytest.param(
            "vagrant", marks=[pytest.mark.root, pytest.mark.vagrant, pytest.mark.timeout(1800)]
        ),
    ],
)
def test_the_notebook_runs_on(testbed, tmp_path):
    results = papermill(testbed, tmp_path)
    assert {stored.trial["labels"]["test"] for stored in results} == {
        "writes_starving_reads",
        "high_read_latency",
    }
    assert {stored.provenance.testbed for stored in results} == {testbed}


@pytest.mark.ssh
@pytest.mark.root
@HOST_PROGRAMS
def test_the_notebook_runs_over_ssh(tmp_path):
    (tmp_path / "server").mkdir()
    with sshd.running(tmp_path / "server") as server:
        results = papermill(server.address, tmp_path)
    assert len(results) == 2
    assert {stored.provenance.testbed for stored in results} == {"ssh"}
