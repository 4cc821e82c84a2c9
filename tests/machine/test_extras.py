"""A part whose libraries are not installed says which extra brings them, and nothing else fails."""

import pytest

from helpers import cli_without

#: What a `pip install elevatorlab` without extras does not bring.
REMOTE = ("docker", "fabric", "invoke", "paramiko")

REST = ("distributed", "dask", "jupyterlab", "IPython", "ipykernel", "papermill", "pytest")

STUDY = "vm_vs_container"


@pytest.mark.image
def test_a_dry_run_on_the_default_testbed_needs_no_extra(tmp_path):
    asked = ("run", STUDY, "--preset", "smoke", "--dry-run", "--results", tmp_path / "r")
    run = cli_without(REMOTE + REST, *asked)
    assert run.returncode == 0, run.stderr
