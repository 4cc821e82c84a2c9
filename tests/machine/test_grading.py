"""A course's submissions: read whatever they are, run in machines of their own, and marked."""

import re

import pytest

from course_submissions import ORDERED, assignment_file, right, scheduler_of
from elevatorlab.elevators import check, templates
from elevatorlab.elevators.grading import assignments, campaign, drawing, grade
from elevatorlab.elevators.grading.submissions import Submission
from elevatorlab.plugins import scheduler_folders
from elevatorlab.testbeds.deterministic import modules


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


#: What chooses by a table of the sectors of a public example, and has nothing better for others.
TABLE = """
	static const sector_t table[] = {@SECTORS@};
	struct request *rq;
	int at;

	for (at = 0; at < ARRAY_SIZE(table); at++)
		list_for_each_entry(rq, &data->arrived, queuelist)
			if (blk_rq_pos(rq) == table[at])
				return rq;
"""


def template(folder, name, kind):
    """Return the folder of a new scheduler, and its source."""
    made = templates.new(name, kind, folder)
    return made, made / f"{name}-iosched.c"


def files_of(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def checked(monkeypatch):
    """Let the check pass, so that a grade takes its trials alone."""
    passed = check.Conformity("any", "", (check.CaseVerdict("builds", "passed"),))
    monkeypatch.setattr(check, "check", lambda folder, only: passed)


@pytest.mark.image
@pytest.mark.timeout(600)
def test_a_table_of_sectors_earns_what_is_public_alone(tmp_path, checked):
    """Nothing of it counts where a seed draws the sectors, and a second grade is the same."""
    burst = assignments.read("sstf").scenarios[0]
    public = assignments.read(
        str(assignment_file(tmp_path, scenarios=[burst.model_dump(mode="json")]))
    )
    secret = drawing.hidden(public, "a secret of the tests")
    folder, source = template(tmp_path, "table", "sstf")
    sectors = ", ".join(str(2 * one.chosen[1]) for one in right("sstf", burst))
    choose = "static struct request *table_choose(struct table_data *data)\n{"
    text = source.read_text()
    assert choose in text
    source.write_text(text.replace(choose, choose + TABLE.replace("@SECTORS@", sectors)))
    table, honest = Submission("table", files_of(folder)), Submission("x", scheduler_of("sstf"))

    known, drawn = grade.reference(public), grade.reference(secret)
    assert grade.grade(table, "", public, known).kind == "right"
    found = grade.grade(table, "", secret, drawn)
    assert (found.kind, found.marks) == ("nothing of its own", 0)
    assert grade.grade(honest, "", secret, drawn).marks == secret.marks
    assert grade.reference(secret) == drawn
    assert grade.grade(table, "", secret, drawn) == found


@pytest.mark.image
@pytest.mark.timeout(600)
def test_other_names_and_comments_are_no_other_code(tmp_path):
    folder, source = template(tmp_path, "mine", "look")
    text = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.S)
    for name, other in {"arrived": "waiting", "mine_choose": "mine_best", "next": "after"}.items():
        text = re.sub(rf"\b{name}\b", other, text)
    source.write_text(text)
    assert grade.of_a_template(built(folder)) == "look"
    source.write_text(text.replace("list_add_tail(", "list_add(", 1))
    assert grade.of_a_template(built(folder)) == ""


def built(folder):
    return modules.build(scheduler_folders.read(folder).folder)


@pytest.mark.image
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["sstf", "open"])
def test_a_template_earns_nothing(name, tmp_path, checked):
    assignment = assignments.read(name)
    parts = {"scenarios": assignment.scenarios[:1], "scored": assignment.scored[-1:]}
    short = assignment.model_copy(update=parts)
    folder, _ = template(tmp_path, "unfinished", "sstf")
    files = Submission("ada", files_of(folder))
    found = grade.grade(files, "", short, grade.reference(short))
    assert (found.kind, found.marks, found.score) == ("nothing of its own", 0, None)
    assert found.ran and all("the template" in part.says for part in found.parts)
