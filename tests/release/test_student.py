"""What docs/tutorial/student.md says, done as it is typed there: to a LOOK of one's own, graded."""

import ast
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from elevatorlab.elevators.check import cases
from elevatorlab.paths import BUILD, PROJECT
from student_page import PAGE, SECTIONS, blocks

SOLUTIONS = PROJECT / "notebooks/lectures/solutions/06-write-an-elevator.ipynb"

#: The bound, as the page's last step describes it: what it replaces in the student's LOOK.
BOUND = {
    "\tbool up;\t": "\tunsigned int expire_ms;\t/* longest wait; 0: no bound */\n\tbool up;\t",
    "\t\t\tlist_add_tail(&rq->queuelist, &data->arrived);\n": (
        "\t\t\trq->fifo_time = jiffies;\n\t\t\tlist_add_tail(&rq->queuelist, &data->arrived);\n"
    ),
    "\tstruct request *rq = look_yours_ahead(data);\n\n\tif (rq)\n": """\
	unsigned int expire_ms = READ_ONCE(data->expire_ms);
	struct request *rq, *oldest;

	oldest = list_first_entry_or_null(&data->arrived, struct request, queuelist);
	if (oldest && expire_ms) {
		unsigned long bound = oldest->fifo_time + msecs_to_jiffies(expire_ms);

		if (time_after_eq(jiffies, bound))
			return oldest;
	}
	rq = look_yours_ahead(data);
	if (rq)
""",
    "static struct elevator_type look_yours_type = {\n": """\
static ssize_t expire_ms_show(struct elevator_queue *queue, char *page)
{
	struct look_yours_data *data = queue->elevator_data;

	return sysfs_emit(page, "%u\\n", data->expire_ms);
}

static ssize_t expire_ms_store(struct elevator_queue *queue, const char *page, size_t count)
{
	struct look_yours_data *data = queue->elevator_data;

	return kstrtouint(page, 10, &data->expire_ms) ?: count;
}

static struct elv_fs_entry look_yours_attrs[] = {
	__ATTR(expire_ms, 0644, expire_ms_show, expire_ms_store),
	__ATTR_NULL
};

static struct elevator_type look_yours_type = {
	.elevator_attrs = look_yours_attrs,
""",
}


def function_of_the_solution():
    """Return the C of LOOK in the lecture's solutions, in the words of the student's folder."""
    cells = json.loads(SOLUTIONS.read_text())["cells"]
    sources = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    (cell,) = (one for one in sources if 'begin("look")' in one)
    (text,) = (
        node.value.value
        for node in ast.parse(cell).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    )
    return text.strip("\n").replace("mine_", "look_yours_") + "\n"


@pytest.fixture
def typed(tmp_path):
    """Return what types the commands of a step into a shell, and its cell into a notebook."""
    build = tmp_path / "build"
    build.mkdir()
    (build / "image").symlink_to(BUILD / "image")
    environment = {
        **os.environ,
        "ELEVATORLAB_BUILD": str(build),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()

    def run(step, more=""):
        said = ""
        calls = [["bash", "-e", "-c", one] for one in blocks(SECTIONS[step])]
        calls += [[sys.executable, "-c", one + more] for one in blocks(SECTIONS[step], "python")]
        for call in calls:
            folder = notebooks if call[0] == sys.executable else tmp_path
            done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            said += done.stdout
        return said

    run.folder = tmp_path / "look_yours"
    run.source = run.folder / "look_yours-iosched.c"
    run.grades = build / "grades" / "look"
    return run


def marks(typed):
    """Return the marks of the one submission: the sum, and those of each part."""
    (row,) = csv.DictReader((typed.grades / "marks.csv").read_text().splitlines())
    assert row["student"] == "look_yours"
    of_parts = list(row.values())[3:8]
    return float(row["marks"]), [float(one) for one in of_parts]


@pytest.mark.image
@pytest.mark.timeout(3600)
def test_who_types_what_the_page_says_has_a_look_of_their_own_graded(typed):
    """The student writes what the teacher's solution has; all else is typed from the page."""
    travel = "\nprint(writing.table(ran)['travel (MiB)'].to_json())"
    promised = [
        float(one) for one in re.findall(r"(?:has|gives(?: all)?) (\d+) (?:of|marks)", PAGE)
    ]
    assert promised == [0, 15, 20]

    typed("1")
    assert "TODO" in typed.source.read_text()
    typed("2")
    assert f"All {len(cases.CASES)} cases passed" in typed("3")
    travels = json.loads(typed("4", travel).splitlines()[-1])
    assert travels["look_yours"] > 2 * travels["look"]
    assert "feedback" in typed("5")
    assert marks(typed) == (promised[0], [0, 0, 0, 0, 0])
    feedback = typed.grades / "feedback" / "look_yours.html"
    assert "is the first that differs" in feedback.read_text()

    source = typed.source.read_text()
    choose = re.compile(r"^static struct request \*look_yours_choose\(.*?^}\n", re.M | re.S)
    source, replaced = choose.subn(lambda _: function_of_the_solution(), source)
    assert replaced == 1
    typed.source.write_text(source)
    typed("2")
    assert f"All {len(cases.CASES)} cases passed" in typed("3")
    travels = json.loads(typed("4", travel).splitlines()[-1])
    assert travels["look_yours"] == travels["look"]
    typed("5")
    assert marks(typed) == (promised[1], [2, 6, 3, 4, 0])
    assert "expire_ms" in feedback.read_text()

    for old, new in BOUND.items():
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    typed.source.write_text(source)
    typed("2")
    typed("5")
    assert marks(typed) == (promised[2], [2, 6, 3, 4, 5])
    assert "is the first that differs" not in feedback.read_text()
