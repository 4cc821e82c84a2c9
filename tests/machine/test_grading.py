"""A course's submissions: read whatever they are, run in machines of their own, and marked."""

import pytest

from elevatorlab.elevators import check
from elevatorlab.elevators.grading import (
    assignments,
    campaign,
    grade,
)
from elevatorlab.elevators.grading.submissions import Submission
from elevatorlab.plugins.schedulers import SCHEDULERS
from grading_support import HAS_WORK, ORDERED, ZOO, right, scheduler_of


@pytest.mark.image
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ORDERED)
def test_the_reference_follows_the_rule(name):
    ran = grade.reference(assignments.read(name))
    for scenario in assignments.read(name).scenarios:
        found = [place_kib for _, _, place_kib in ran[scenario.what].dispatches]
        assert found == [one.chosen[1] for one in right(name, scenario)], scenario.what


@pytest.mark.image
def test_a_grade_of_another_image_is_not_given():
    """A worker of Dask's may have come after the first look."""
    said = campaign._graded((Submission("ada"), ""), assignments.read("sstf"), {}, "another")
    assert said.startswith("expected deterministic another (the image's digest); found ")


@pytest.mark.image
def test_a_part_that_hangs_is_stopped(monkeypatch):
    """The check has passed, so nobody knows of it before."""
    passed = check.Conformity("fifo", "", (check.CaseVerdict("builds", "passed"),))
    monkeypatch.setattr(check, "check", lambda folder, only: passed)
    monkeypatch.setattr(grade, "LIMIT_S", 15)
    lost = Submission("lost", scheduler_of("fifo", HAS_WORK, HAS_WORK + "return false;"))
    found = grade.grade(lost, "", assignments.read("sstf"), {})
    assert "did not end within 15 s" in found.problem
    assert [part.marks for part in found.parts] == [2, 6, 0, 0, 0]
    assert found.parts[-1].says == "Not run, since this went wrong: A burst."
    assert SCHEDULERS.get("fifo").folder.path == ZOO / "fifo"
