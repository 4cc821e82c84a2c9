"""A course's submissions: read whatever they are, run in machines of their own, and marked."""

import pytest

from course_submissions import ORDERED, right
from elevatorlab.elevators.grading import assignments, campaign, grade
from elevatorlab.elevators.grading.submissions import Submission


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
