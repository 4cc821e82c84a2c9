"""The Python that the documents show runs as it stands."""

import os
import re
import subprocess
import sys

import pytest

from elevatorlab.paths import BUILD, PROJECT
from helpers import cli
from synthetic import write_results

#: Pages with Python whose own tests run it, and the one that needs a cluster of machines.
ELSEWHERE = {
    "docs/extending.md": "test_extending.py",
    "docs/tutorial/student.md": "test_student.py",
    "docs/campaigns.md": "",
}
HERE = {"docs/drives.md", "docs/elevators.md", "docs/tutorial/researcher.md"}

pytestmark = pytest.mark.slow


def blocks(name):
    """Return the blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```$", (PROJECT / name).read_text(), re.M | re.S)


def typed(code, folder):
    """Run Python in a folder, with the image and results of its own."""
    build = folder / "build"
    build.mkdir(exist_ok=True)
    (build / "image").symlink_to(BUILD / "image")
    environment = {**os.environ, "ELEVATORLAB_BUILD": f"{build}"}
    call = [sys.executable, "-c", code]
    ended = subprocess.run(call, capture_output=True, text=True, cwd=folder, env=environment)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def test_every_page_with_python_is_tested():
    pages = (PROJECT / "docs").rglob("*.md")
    shown = {name for page in pages if blocks(name := f"{page.relative_to(PROJECT)}")}
    assert shown == HERE | set(ELSEWHERE)
    assert all((PROJECT / "tests" / one).is_file() for one in ELSEWHERE.values() if one)


def test_a_researcher_s_table_is_read(tmp_path):
    write_results(tmp_path / "out" / "mine")
    (code,) = blocks("docs/tutorial/researcher.md")
    said = typed(code, tmp_path)
    assert re.search(r"^writes_starving_reads +bfq +container +12 +0\.0", said, re.M), said


def test_a_drive_is_a_device(tmp_path):
    (code,) = blocks("docs/drives.md")
    assert "profile='barracuda'" in typed(f"{code}\nprint(device)", tmp_path)


@pytest.mark.image
@pytest.mark.timeout(600)
def test_a_scheduler_of_ones_own_is_run_and_drawn(tmp_path):
    """One block after the other, with the folder of the first one's result in the second."""
    made = cli("scheduler", "new", "mine", "--template", "look", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    run, draw, register = blocks("docs/elevators.md")
    draw = draw.replace('"RESULTS/deterministic/HASH"', 'ran["mine"].folder')
    assert "HASH" not in draw
    typed("\n".join([register, run, draw]), tmp_path)
