"""Every notebook runs: analysis prints what is stored, measurement takes parameters."""

import getpass
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import papermill
import pytest

from elevatorlab.paths import PROJECT
from notebook_runs import (  # noqa: F401  (fixtures)
    EXPERIMENTS,
    NOTEBOOKS,
    STORED,
    elsewhere,
    measured_then_analysed,
    names_no_place,
    own_build,
    places_named_in,
    run,
)
from synthetic import write_results

pytestmark = [pytest.mark.timeout(1200), pytest.mark.usefixtures("own_build")]

#: What ARTIFACT.md tells a reviewer to type; the last one measures. nbval's notebook is the
#: quickest; tests/release compares the outputs of the others.
COMMANDS = re.findall(
    r"^ {4}\.venv/bin/((?:python|papermill) .*?)(?: +#.*)?$",
    (PROJECT / "ARTIFACT.md").read_text(),
    re.M,
)


@pytest.mark.parametrize("command", COMMANDS[:2], ids=["nbval", "parameters"])
def test_a_reviewer_s_command_of_a_notebook_works(command):
    program, *arguments = shlex.split(command)
    call = [f"{Path(sys.executable).with_name(program)}", *arguments]
    ended = subprocess.run(call, capture_output=True, text=True, cwd=PROJECT)
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert " passed" in ended.stdout or "preset: str" in ended.stdout


def test_analysis_shows_every_arm_of_several_testbeds(tmp_path):
    write_results(tmp_path / "results")
    run(
        NOTEBOOKS / "analysis" / "01-vm-vs-container.ipynb", tmp_path, results=f"{tmp_path}/results"
    )
    text = (tmp_path / "out.ipynb").read_text()
    assert (
        "Measured on the testbeds docker, host and vagrant with the preset smoke (machine 01234567)"
        in text
    )
    assert "TCG (QEMU, no hardware virtualisation) for VM" in text
    assert "not testable here" in text


@pytest.mark.parametrize("notebook", STORED, ids=lambda path: path.stem)
def test_no_stored_table_shows_nan(notebook):
    """A cell without a number goes through `elevatorlab.lectures.tables.show`, which says why."""
    for cell in json.loads(notebook.read_text())["cells"]:
        for output in cell.get("outputs", []):
            shown = {kind: data for kind, data in output.get("data", {}).items() if "text" in kind}
            assert not re.search(r"\bNaN\b", json.dumps([shown, output.get("text")])), cell[
                "source"
            ]


@pytest.mark.parametrize("notebook", STORED[1:], ids=lambda path: path.stem)
def test_an_executed_notebook_names_no_path_and_no_user(notebook, elsewhere):
    """Analysis works from published data alone; what it prints of the reference is stored."""
    names_no_place(notebook, elsewhere, results="published")


@pytest.mark.image
def test_measurement_then_analysis_of_fresh_results(elsewhere, own_build):
    assert COMMANDS[2].endswith(f"{EXPERIMENTS[0].name} out.ipynb -p preset smoke")
    measured_then_analysed(EXPERIMENTS[0], elsewhere, own_build)


@pytest.mark.parametrize("notebook", [*STORED, *EXPERIMENTS], ids=lambda path: path.stem)
def test_a_stored_notebook_names_no_path_and_no_user(notebook):
    assert places_named_in(notebook.read_text()) == []


def test_places_are_found_where_there_are_some():
    user = getpass.getuser()
    for place in (f"{PROJECT}/lib", f"{user}@there", "/tmp/mine/results"):
        assert places_named_in(f"results in {place}")
    assert places_named_in("in build/results, /dev/null, and/or elsewhere") == []


@pytest.mark.parametrize("notebook", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_wrong_parameter_ends_papermill_before_anything_starts(notebook, tmp_path):
    """All that can be wrong with one is in tests/unit/test_notebook.py."""
    said = "no parameter 'colour' here; expected one of testbed, preset"
    results = tmp_path / "results"
    with pytest.raises(papermill.PapermillExecutionError, match=re.escape(said)):
        run(notebook, tmp_path, results=str(results), colour="blue")
    assert not results.exists()
