"""The package as somebody has it who installs it: without a checkout, and without extras."""

import json
import zipfile

import pytest

import wheels
from elevatorlab.paths import BUILD
from helpers import cli

STUDY = "vm_vs_container"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400), pytest.mark.programs("git")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return wheels.ours(tmp_path_factory)


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Return a function that runs the installed command from another folder."""
    folder = tmp_path_factory.mktemp("installed")
    environment = wheels.Environment(folder / "environment", built)
    (folder / "elsewhere").mkdir()
    own = {"XDG_DATA_HOME": f"{folder / 'data'}", "ELEVATORLAB_CACHE": f"{folder / 'cache'}"}

    def run(*arguments, **more):
        return environment.elevatorlab(*arguments, cwd=folder / "elsewhere", **own, **more)

    run.folder, run.environment = folder, environment
    return run


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


def test_it_judges_like_the_checkout(installed):
    run = installed("claims", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == json.loads(cli("claims", "--json").stdout)


def test_it_draws_the_report_and_says_where_it_is(installed):
    run = installed("report", "--results", "published")
    assert run.returncode == 0, run.stderr
    place = installed.folder / "data" / "elevatorlab" / "published-report"
    assert f"report   {place / 'index.html'}" in run.stdout.splitlines()
    assert STUDY in (place / "index.html").read_text()
    assert list((installed.folder / "elsewhere").iterdir()) == []


def test_what_needs_an_extra_says_so_in_one_sentence(installed):
    run = installed("run", STUDY, "--testbed", "host", "--dry-run")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "pip install 'elevatorlab[remote]'" in run.stderr


@pytest.mark.parametrize("command", ["artifact", "reference", "tiles"])
def test_what_needs_a_checkout_says_so_in_one_sentence(installed, command):
    run = installed(command)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "expected a checkout" in run.stderr


def test_what_lacks_an_image_says_what_builds_it(installed):
    run = installed("run", STUDY, "--preset", "smoke")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert "elevatorlab image build" in run.stderr


@pytest.mark.image
def test_it_runs_a_study(installed, tmp_path):
    smallest = ["--preset", "smoke", "-p", "memory_mib=512", "-p", "device_mib=192"]
    smallest += ["-p", "sizes_mb=10", "-p", "variants=dropped", "-p", "schedulers=none"]
    smallest += ["-p", "arms=host", "--results", tmp_path / "r"]
    run = installed("run", STUDY, *smallest, ELEVATORLAB_BUILD=f"{BUILD}")
    assert run.returncode == 0, run.stderr
    assert "2 trials to run, 0 finished already" in run.stdout
    assert installed("results", STUDY, "--results", tmp_path / "r").stdout.startswith("trial,")
