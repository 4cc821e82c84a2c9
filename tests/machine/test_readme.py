"""Every command of the README works, on results like those that `make reproduce` leaves.

A command is run here, or the test that runs it is named here: a new one without a test fails.
"""

import os
import re
import shlex

import pytest

from elevatorlab.paths import BUILD
from helpers import cli
from readme_support import RUN


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Return what runs commands where two studies have run, into the usual folders."""
    folder = tmp_path_factory.mktemp("reproduced")
    (folder / "build").mkdir()
    (folder / "build" / "image").symlink_to(BUILD / "image")
    own = {**os.environ, "ELEVATORLAB_BUILD": f"{folder / 'build'}"}

    def run(line):
        return cli(*shlex.split(line), cwd=folder, env=own)

    run.folder = folder
    small = "--preset smoke -p schedulers=none"
    smaller = "-p memory_mib=512 -p device_mib=192 -p sizes_mb=10 -p variants=dropped -p arms=host"
    for line in (
        f"run vm_vs_container {small} {smaller}",
        f"run iozone_ranking {small} -p tool=fio",
    ):
        ran = run(line)
        assert ran.returncode == 0, ran.stderr
    return run


@pytest.mark.image
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("line", RUN)
def test_a_command_works_on_what_was_run(reproduced, line):
    ran = reproduced(line.replace("BUNDLE", "elevatorlab-bundle.zip"))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout and "Traceback" not in ran.stderr
    for place in re.findall(r"^(?:report|figures|tables) +(\S+)$", ran.stdout, re.M):
        assert (reproduced.folder / place).exists()


@pytest.mark.image
def test_the_report_of_the_reference_leaves_that_of_the_results_alone(reproduced):
    """Where they are is what the README says."""
    build = reproduced.folder / "build"
    (build / "report").mkdir(exist_ok=True)
    (build / "report" / "index.html").write_text("mine")
    assert reproduced("report --results published").returncode == 0
    assert (build / "published-report" / "index.html").exists()
    assert (build / "report" / "index.html").read_text() == "mine"
