"""The Python that the documents show runs as it stands."""

import re

from docs_python_support import blocks, typed
from elevatorlab.paths import PROJECT
from synthetic import write_results

#: Pages with Python whose own tests run it, and the one that needs a cluster of machines.
ELSEWHERE = {
    "docs/extending.md": "test_extending.py",
    "docs/tutorial/student.md": "test_student.py",
    "docs/campaigns.md": "",
}

HERE = {"docs/drives.md", "docs/elevators.md", "docs/tutorial/researcher.md"}


def test_every_page_with_python_is_tested():
    pages = (PROJECT / "docs").rglob("*.md")
    shown = {name for page in pages if blocks(name := f"{page.relative_to(PROJECT)}")}
    assert shown == HERE | set(ELSEWHERE)
    assert all(list((PROJECT / "tests").glob(f"*/{one}")) for one in ELSEWHERE.values() if one)


def test_a_researcher_s_table_is_read(tmp_path):
    write_results(tmp_path / "out" / "mine")
    (code,) = blocks("docs/tutorial/researcher.md")
    said = typed(code, tmp_path)
    assert re.search(r"^writes_starving_reads +bfq +container +12 +0\.0", said, re.M), said


def test_a_drive_is_a_device(tmp_path):
    (code,) = blocks("docs/drives.md")
    assert "profile='barracuda'" in typed(f"{code}\nprint(device)", tmp_path)
