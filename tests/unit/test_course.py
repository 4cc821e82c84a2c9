"""What a course's students get and are told to type, and what a teacher marks by hand."""

import os
import re
import subprocess
import sys
import tarfile

import pytest

from elevatorlab.elevators.grading import assignments
from elevatorlab.paths import PROJECT

NAMES = "from elevatorlab.elevators.grading import assignments as a; print(*map(a.read, a.names()))"


@pytest.mark.programs("git", "make")
def test_the_students_archive_has_no_solution_and_all_that_marks_need(tmp_path):
    file = tmp_path / "course.tar.gz"
    subprocess.run(["make", "course", f"COURSE={file}"], cwd=PROJECT, check=True)
    with tarfile.open(file) as archive:
        names = [name.removeprefix("elevatorlab/") for name in archive.getnames()]
        archive.extractall(tmp_path, filter="data")
    assert not [name for name in names if "solutions" in name.split("/")]
    assert not [name for name in names if name.startswith(("tests", "docs/teaching.md"))]
    needed = ["Makefile", "requirements.lock", "notebooks/lectures/06-write-an-elevator.ipynb"]
    for name in assignments.names():
        (file,) = assignments.COURSE.glob(f"*/{name}.yaml")
        needed += [str(path.relative_to(PROJECT)) for path in (file, file.with_name("README.md"))]
    assert set(needed) <= set(names)
    place = {**os.environ, "PYTHONPATH": str(tmp_path / "elevatorlab" / "lib")}
    read = [sys.executable, "-c", NAMES]
    said = subprocess.run(read, env=place, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout.count("reference=") == len(assignments.names())


def test_the_rubric_says_what_earns_each_mark_by_hand():
    text = (assignments.COURSE / "README.md").read_text()
    (table,) = re.findall(r"^\| part \| 0 marks .*?\n\n", text, re.M | re.S)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:-1]]
    assert all(len(row) == 4 and all(row) for row in rows)
    asked = {part for name in assignments.names() for part in assignments.read(name).by_hand}
    for part in asked:
        assert part.marks == 2 * sum(what in part.what for what, *_ in rows), part.what
    assert all(any(what in part.what for part in asked) for what, *_ in rows)
