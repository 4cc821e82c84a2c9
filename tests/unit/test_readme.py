"""Every command of the README works, on results like those that `make reproduce` leaves.

A command is run here, or the test that runs it is named here: a new one without a test fails.
"""

import ast
import re
import shlex

import pytest
import yaml

from docs_examples import RUN
from elevatorlab.cli import run
from elevatorlab.judging import verdict_cache
from elevatorlab.paths import BUILD, PROJECT
from elevatorlab.plugins import studies
from elevatorlab.results import store
from elevatorlab.running import jobs
from elevatorlab.showing import report

PAGE = (PROJECT / "README.md").read_text()

PROGRAM = ".venv/bin/elevatorlab"

#: Tests elsewhere, for what needs services, a clone, or much time.
ELSEWHERE = {
    "make setup": "test_readme.py::test_ci_sets_up_new_machines",
    "make reproduce": "test_readme.py::test_reproduce_runs_every_study_and_reports",
    "docker build -t elevatorlab .": "test_docker_route.py::"
    "test_the_container_builds_the_same_image",
    "docker run --rm --cap-add SYS_ADMIN --security-opt seccomp=unconfined "
    '--security-opt apparmor=unconfined -v "$PWD/out:/out" elevatorlab': "test_docker_route.py::"
    "test_the_container_builds_a_schedulers_module",
    "make doctor": "test_cli.py::test_doctor",
    # By the same commands; `make lab` does not end by itself.
    "make lab": "test_launcher.py::test_a_tile_opens_its_study",
    f"{PROGRAM} run vm_vs_container --preset smoke": "test_cli.py::test_provenance",
    f"{PROGRAM} verify --sample 3": "test_cli.py::test_verify",
    ".venv/bin/papermill notebooks/experiments/01-vm-vs-container.ipynb out.ipynb "
    """-p preset smoke -p schedulers '["none", "bfq"]'""": "test_notebooks.py::"
    "test_measurement_then_analysis_of_fresh_results",
    **dict.fromkeys(
        [
            ".venv/bin/papermill --help-notebook notebooks/experiments/01-vm-vs-container.ipynb",
            ".venv/bin/python -m pytest -p nbval --nbval notebooks/analysis/04-innodb-commit.ipynb",
        ],
        "test_notebooks.py::test_a_reviewer_s_command_of_a_notebook_works",
    ),
}


def commands(page):
    """Return the commands in the indented blocks of a page, as a shell reads them."""
    blocks = re.findall(r"(?:^ {4}\S.*\n(?: {8,}\S.*\n)*)+", page, re.M)
    lines = [line for block in blocks for line in re.sub(r" *\\\n *", " ", block).splitlines()]
    starts = ("make ", "docker ", "sudo ", ".venv/bin/")
    asked = (line.strip() for line in lines)
    return [
        " ".join(shlex.split(line, comments=True, posix=False))
        for line in asked
        if line.startswith(starts)
    ]


def test_a_block_with_several_lines_is_one_command_each():
    page = (
        "A\n\n    make a      # it's words\n"
        "    .venv/bin/b c \\\n        -p d='1 2'   # says\n\nmake c\n"
    )
    assert commands(page) == ["make a", ".venv/bin/b c -p d='1 2'"]


def test_every_command_has_a_test():
    found = commands(PAGE)
    assert len(found) > 12
    tested = [*ELSEWHERE, *(f"{PROGRAM} {one}" for one in RUN)]
    assert [one for one in found if one not in tested] == []


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_the_tests_that_are_named_are_there(test):
    file, _, name = test.partition("::")
    trees = [ast.parse(one.read_text()) for one in (PROJECT / "tests").glob(f"*/{file}")]
    nodes = (node for tree in trees for node in ast.walk(tree))
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    assert name in functions


def test_ci_sets_up_new_machines():
    """`make test` begins with `make setup`, and CI runs it where nothing is installed."""
    assert re.search(r"^test: setup\b", (PROJECT / "Makefile").read_text(), re.M)
    jobs = yaml.safe_load((PROJECT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert {"run": "make test"} in jobs["test"]["steps"]


def test_reproduce_runs_every_study_and_reports(monkeypatch, tmp_path, capsys):
    done = []

    class Job:
        def __init__(self, study, preset, overrides, testbeds, results):
            self.words = f"{study}, {preset}, {results.name}"

        def announcement(self, workers):
            return self.words

        def run(self, workers, cluster):
            done.append(self.words)

    def write_report(results, out, running):
        done.append(f"report of {results.name}, {len(running)} still running")
        return {"report": out}

    monkeypatch.setattr(jobs, "prepare", Job)
    monkeypatch.setattr(report, "write_report", write_report)
    monkeypatch.setattr(verdict_cache, "judge", lambda *_: verdict_cache.Judged(0, []))
    monkeypatch.setattr(store, "default_results", lambda testbed: tmp_path / "usual")
    run.reproduce()
    names = [study.NAME for study in studies.STUDIES.values()]
    assert done[::2] == [f"{name}, quick, usual" for name in names]
    assert done[1::2] == [f"report of usual, {left} still running" for left in (4, 3, 2, 1, 0)]
    assert capsys.readouterr().out.endswith(f"report   {report.REPORT}\n")
    assert report.REPORT == BUILD / "report"
