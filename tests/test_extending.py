"""The worked examples of docs/extending.md: done as written, in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from elevatorlab.paths import PROJECT
from elevatorlab.testbeds.deterministic import image

PAGE = (PROJECT / "docs" / "extending.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))

FENCE = r"\n\n```\w+\n(?P<block>.*?)```"
NEW = re.compile(r"New file\s+`(?P<file>[^`]+)`" + FENCE, re.DOTALL)
CHANGE = re.compile(
    r"In `(?P<file>[^`]+)`,\s+(?P<where>before|after|instead of)\s+`(?P<line>[^`]+)`" + FENCE,
    re.DOTALL,
)
TRY = re.compile(r"\*Try it\*[^\n]*(?:\n[^\n]+)*" + FENCE, re.DOTALL)

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of what the examples change, beside what they only read."""
    for name in ("lib", "data"):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / name, tmp_path / name, ignore=without)
    (tmp_path / "environments").symlink_to(PROJECT / "environments")
    # A place of its own: another agent has other machines, and only the newest are kept.
    (tmp_path / "build" / "image").mkdir(parents=True)
    for name in (*image.FILES, "manifest.json"):
        (tmp_path / "build" / "image" / name).symlink_to(image.FOLDER / name)
    return tmp_path


def follow(section, checkout):
    """Make the changes that a section names; return its trial run."""
    for new in NEW.finditer(section):
        file = checkout / new["file"]
        assert not file.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(new["block"])
    for change in CHANGE.finditer(section):
        file = checkout / change["file"]
        text, line, block = file.read_text(), change["line"], change["block"]
        assert text.count(line) == 1, f"{file} has {line!r} {text.count(line)} times"
        added = {
            "before": block + line,
            "after": f"{line}\n{block.rstrip()}",
            "instead of": block.rstrip(),
        }
        file.write_text(text.replace(line, added[change["where"]]))
    return TRY.search(section)["block"]


def run(code, checkout):
    """Run the code with the changed package and the usual image."""
    where = {"PYTHONPATH": str(checkout / "lib"), "ELEVATORLAB_BUILD": str(checkout / "build")}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **where}
    )


@pytest.mark.parametrize(
    "title",
    [
        pytest.param("A workload", marks=pytest.mark.image),
        pytest.param("A study", marks=pytest.mark.image),
        "A testbed",
        "A policy",
    ],
)
def test_a_worked_example_works(title, checkout):
    code = follow(SECTIONS[title], checkout)
    ended = run(code, checkout)
    assert ended.returncode == 0, ended.stderr[-3000:]


def test_every_example_is_tested():
    assert list(SECTIONS) == ["A workload", "A study", "A testbed", "A policy"]


def test_every_change_on_the_page_is_made():
    made = len(NEW.findall(PAGE)) + len(CHANGE.findall(PAGE)) + len(TRY.findall(PAGE))
    assert made == PAGE.count("\n```") / 2
