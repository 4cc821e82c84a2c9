"""The tour of docs/extending.md: its package, installed beside a wheel of ours, as it is."""

import inspect
import json
import re
from types import SimpleNamespace

import pytest

from elevatorlab.agent.groups import worker
from elevatorlab.agent.workloads.base import Workload
from elevatorlab.paths import BUILD, PROJECT
from elevatorlab.plugins import profiles
from elevatorlab.trial import Group, Limits, Trial
from example_package import EXAMPLE, installed  # noqa: F401  (fixtures)

PAGE = (PROJECT / "docs" / "extending.md").read_text()

SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))

FENCE = r"\n+```\w+\n(?P<block>.*?)```"

SHOWN = re.compile(r"<!-- (?P<file>\S+) -->" + FENCE, re.DOTALL)

TRY = re.compile(r"\*Try it\*[^\n]*(?:\n[^\n]+)*" + FENCE, re.DOTALL)

TRIED = [
    (title, number)
    for title, section in SECTIONS.items()
    for number in range(len(TRY.findall(section)))
]

#: What runs in the deterministic machine.
ON_THE_IMAGE = {("A workload", 0), ("A policy", 1), ("A study", 0)}

pytestmark = [pytest.mark.timeout(2400), pytest.mark.programs("git")]


@pytest.mark.parametrize("shown", list(SHOWN.finditer(PAGE)), ids=lambda shown: shown["file"])
def test_what_the_page_shows_is_in_the_package(shown):
    assert shown["block"] in (EXAMPLE / shown["file"]).read_text()


def rows_of_table(header):
    """Return the rows of the page's table that begins with `header`, without backquotes."""
    table = PAGE.partition(header)[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in table]


def test_the_functions_of_the_worker_are_all_listed_with_their_arguments():
    known = [
        f"{name}({', '.join(inspect.signature(function).parameters)})"
        for name, function in worker.FUNCTIONS.items()
    ]
    assert [call for call, _ in rows_of_table("| function |")] == known


def test_the_attributes_of_a_workload_are_there():
    rows = rows_of_table("| attribute |")
    made = Workload({"name": "one"}, SimpleNamespace(device="sda", inside="sda"), None, 1, ".")
    for call, _ in rows:
        names = re.findall(r"self\.(\w+)", call)
        assert names and all(hasattr(made, name) for name in names), call


def test_the_defaults_of_a_trial_are_as_listed():
    rows = rows_of_table("| field | default |")
    assert len(rows) == 8
    for name, default, _ in rows:
        model, _, field = name.replace("groups.", "Group.").rpartition(".")
        found = (Group if model else Trial).model_fields[field].default
        assert found == (Limits() if default == "none" else json.loads(default)), name


def test_the_profiles_that_are_there_are_listed():
    listed = PAGE.partition("The available disks are ")[2].partition(";")[0]
    assert re.findall(r"`(\w+)`", listed) == list(profiles.OURS)


def test_every_block_of_the_page_is_tested():
    commands = PAGE.count("\n```sh\n")
    assert len(SHOWN.findall(PAGE)) + len(TRIED) + commands == PAGE.count("\n```") / 2
    assert len(TRIED) == 8 and ON_THE_IMAGE <= set(TRIED)


@pytest.mark.parametrize(
    "title, number",
    [
        pytest.param(*tried, marks=pytest.mark.image if tried in ON_THE_IMAGE else ())
        for tried in TRIED
    ],
)
def test_what_the_page_says_to_try(title, number, installed, tmp_path):
    code = TRY.findall(SECTIONS[title])[number]
    ended = installed.python(code, tmp_path, ELEVATORLAB_BUILD=f"{BUILD}")
    assert ended.returncode == 0, ended.stderr[-3000:]


def test_the_command_line_knows_what_is_installed(installed, tmp_path):
    asked = ["run", "read_sizes", "--preset", "smoke", "--dry-run", "-p", "device_profile=floppy"]
    ended = installed.elevatorlab(*asked, cwd=tmp_path)
    assert ended.returncode == 1 and "'raid_no_cache' or 'sd_card'" in ended.stderr
    ended = installed.elevatorlab("claims", "read_sizes", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "read_sizes: nothing measured" in ended.stdout and "1 claim." in ended.stdout
    # All studies: those of other packages have no reference.
    for command in (["claims"], ["report", "--results", "published"]):
        ended = installed.elevatorlab(*command, cwd=tmp_path, XDG_DATA_HOME=f"{tmp_path}")
        assert ended.returncode == 0, ended.stderr
    ended = installed.elevatorlab("doctor", cwd=tmp_path)
    listed = " ".join(ended.stdout.partition("plug-in ")[2].split())
    assert listed.startswith("elevatorlab-example 0.1.0: study read_sizes, ")
    assert {"workload", "device profile", "policy"} <= set(
        re.findall("workload|device profile|policy", listed)
    )
    ended = installed.elevatorlab("regulate", "--help", cwd=tmp_path)
    assert ",short_queue}" in ended.stdout
