"""A part whose libraries are not installed says which extra brings them, and nothing else fails."""

import json

import pytest

from elevatorlab import extras
from helpers import cli_without

#: What a `pip install elevatorlab` without extras does not bring.
REMOTE = ("docker", "fabric", "invoke", "paramiko")

REST = ("distributed", "dask", "jupyterlab", "IPython", "ipykernel", "papermill", "pytest")

STUDY = "vm_vs_container"


@pytest.mark.parametrize(
    ("module", "extra"),
    [("fabric.connection", "remote"), ("distributed", "cluster"), ("IPython", "notebooks")],
)
def test_the_extra_of_a_module_is_named(module, extra):
    said = str(extras.missing(ModuleNotFoundError("no", name=module)))
    assert said.startswith(f"expected the extra `{extra}`, which brings {module.split('.')[0]}; ")
    assert said.endswith(f"Install it: pip install 'elevatorlab[{extra}]'")


def test_what_no_extra_brings_is_not_blamed_on_one():
    assert extras.missing(ModuleNotFoundError("no", name="somebody")) is None
    assert extras.missing(ModuleNotFoundError("no", name="pytest")) is None
    assert extras.missing(ValueError("no")) is None


@pytest.mark.parametrize("testbed", ["host", "docker", "ssh://root@127.0.0.1:1"])
def test_a_testbed_without_its_extra_says_so_in_one_sentence(testbed):
    run = cli_without(REMOTE, "run", STUDY, "--testbed", testbed, "--dry-run")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "expected the extra `remote`" in run.stderr


def test_the_doctor_shows_a_missing_extra():
    run = cli_without(REMOTE, "doctor", "--testbed", "host,docker", "--json")
    findings = json.loads(run.stdout)
    assert run.returncode == 1
    assert [(one["testbed"], one["what"]) for one in findings] == [
        ("host", "extra remote"),
        ("docker", "extra remote"),
    ]
    assert {one["remedy"] for one in findings} == {"Install it: pip install 'elevatorlab[remote]'"}


def test_claims_need_no_extra():
    run = cli_without(REMOTE + REST, "claims", STUDY, "--results", "published")
    assert run.returncode == 0, run.stderr
