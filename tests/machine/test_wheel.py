"""The package as somebody has it who installs it: without a checkout, and without extras."""

import zipfile

import pytest

from helpers import cli_without
from wheels import STUDY, built, installed  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.timeout(2400), pytest.mark.programs("git")]


def test_a_wheel_has_what_the_commands_need(built):
    names = set(zipfile.ZipFile(built).namelist())
    shared = "elevatorlab/share"
    for name in (
        "courses",
        "data/claims",
        "data/published",
        "data/reference",
        "environments/deterministic",
    ):
        assert any(one.startswith(f"{shared}/{name}/") for one in names), name
    assert {f"{shared}/{one}" for one in ("LICENSE", "CITATION.cff", "requirements.lock")} <= names
    assert [name for name in names if "__pycache__" in name] == []


def test_what_the_metadata_do_not_demand_is_out_of_sight(installed):
    asked = ["numpy", "yaml", "qemu.qmp", "distributed", "docker", "IPython", "pytest", "pip"]
    code = f"from importlib.util import find_spec; print([*filter(find_spec, {asked})])"
    run = installed.environment.python(code, installed.folder)
    assert run.stdout == f"{asked[:3]}\n", run.stderr


@pytest.mark.parametrize("command", ["artifact", "reference", "tiles"])
def test_what_needs_a_checkout_says_so_in_one_sentence(installed, command):
    run = installed(command)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "expected a checkout" in run.stderr


def test_what_lacks_an_image_says_what_builds_it(installed):
    run = installed("run", STUDY, "--preset", "smoke")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert "elevatorlab image build" in run.stderr


#: What a `pip install elevatorlab` without extras does not bring.
REMOTE = ("docker", "fabric", "invoke", "paramiko")

REST = ("distributed", "dask", "jupyterlab", "IPython", "ipykernel", "papermill", "pytest")


@pytest.mark.image
def test_a_dry_run_on_the_default_testbed_needs_no_extra(tmp_path):
    asked = ("run", STUDY, "--preset", "smoke", "--dry-run", "--results", tmp_path / "r")
    run = cli_without(REMOTE + REST, *asked)
    assert run.returncode == 0, run.stderr
