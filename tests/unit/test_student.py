"""What docs/tutorial/student.md says, done as it is typed there: to a LOOK of one's own, graded."""

from student_support import PAGE, SECTIONS, blocks

#: It puts the programs beside this Python on the path, as the fixture does.
ACTIVATE = ". .venv/bin/activate\n"


def test_the_page_has_all_that_is_typed():
    assert list(SECTIONS) == ["1", "2", "3", "4", "5", "6"]
    before, _, _ = PAGE.partition("## 1.")
    assert blocks(before) == [ACTIVATE]
    commands = [
        line for step in SECTIONS.values() for one in blocks(step) for line in one.split("\n")
    ]
    assert sum(line.startswith("elevatorlab ") for line in commands) == 4
    assert [step for step in SECTIONS if blocks(SECTIONS[step], "python")] == ["4"]
