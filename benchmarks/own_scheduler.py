"""What the way of one's own scheduler takes, and what broken ones get for marks.

    .venv/bin/python benchmarks/own_scheduler.py [BROKEN...]

Prints the seconds that build (a second one, after a change), check and compare take for the
skeleton of LOOK. The kernel's own schedulers are not measured. Then it goes round the cycle of
lecture 6: edit C, build, run, picture. The baseline is the same trial and picture of mq-deadline,
which needs no build; each round has a baseline of its own, beside it. The bar: 30 s a cycle after
the first, on two idle cores. At the end it prints the marks of the broken schedulers of the tests
in assignment 1, all of them or those that are named.

Every number comes as seconds of the wall, which depend on what else the machine does, and as
seconds of a processor.
"""

import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from grade_course import processor_s

from elevatorlab.elevators import check, templates
from elevatorlab.elevators.compare import comparison
from elevatorlab.elevators.grading import assignments, campaign
from elevatorlab.lectures import experiments, sliders, writing
from elevatorlab.paths import PROJECT
from elevatorlab.plugins import scheduler_folders
from elevatorlab.testbeds.deterministic import modules

sys.path.insert(0, str(PROJECT / "tests/support"))

import broken_schedulers  # noqa: E402

BASELINE = "mq-deadline"
CYCLES = 4

CHOOSE = """
static struct request *mine_choose(struct mine_data *data)
{
	/* Edited at %d. */
	struct rb_node *lowest = rb_first(&data->sorted);

	return lowest ? rb_entry_rq(lowest) : NULL;
}
"""


@contextmanager
def timed(what):
    """Print and keep how long something takes."""
    took = SimpleNamespace(wall_s=time.monotonic(), processor_s=processor_s())
    yield took
    took.wall_s = time.monotonic() - took.wall_s
    took.processor_s = processor_s() - took.processor_s
    print(f"{what:12} {took.wall_s:6.1f} s, {took.processor_s:6.1f} s of a processor", flush=True)


def the_way(place):
    """Print the seconds of each command for a new scheduler."""
    folder = templates.new(f"mine{time.time_ns() % 10**9}", "look", place)
    modules.build(scheduler_folders.read(folder).folder)  # makes the root, where there is none
    (source,) = folder.glob("*.c")
    source.write_text(source.read_text() + f"\n/* changed at {time.time_ns()} */\n")
    record = scheduler_folders.register(folder)
    with timed("build"):
        modules.build(record.folder)
    with timed("check"):
        assert check.check(folder).passed
    with timed("compare"):
        comparison.prepare(record.name, place / "compare", beside=()).measure()


def cycle_of_lecture_6(place):
    """Print the seconds of each cycle in the notebook, and of its baseline."""
    source = templates.new(writing.NAME, "sstf", place) / f"{writing.NAME}-iosched.c"
    cycles, baselines = [], []
    for number in range(CYCLES):
        with timed("cycle") as took:
            writing.write(source, CHOOSE % time.time_ns())
            look_at(writing.NAME, place / f"cycle {number}")
        cycles.append(took)
        with timed(BASELINE) as took:
            look_at(BASELINE, place / f"baseline {number}")
        baselines.append(took)
    for what in "wall_s", "processor_s":
        ours, baseline = (
            statistics.median(getattr(took, what) for took in some[1:])
            for some in (cycles, baselines)
        )
        print(
            f"a cycle after the first, median of {CYCLES - 1}, {what}: {ours:.1f}; "
            f"{BASELINE} without a build: {baseline:.1f}; ratio {ours / baseline:.2f}"
        )


def look_at(name, results):
    """Run the lecture's requests on a scheduler, and draw what it made of them."""
    ran = experiments.run(writing.arrivals([name]), results)
    assert sliders.picture(writing.draw(ran))


def marks_of_the_broken(place, names):
    """Grade broken schedulers, one after the other, and print their marks."""
    for name in names:
        broken_schedulers.folder(name, place / "submissions")
    assignment = assignments.read("sstf")
    with timed("grade"):
        grades, _ = campaign.run(place / "submissions", assignment, place / "out", 1)
    for one in grades:
        wrong = one.problem or next(part.says for part in one.parts if part.marks < part.of)
        print(f"{one.student:14} {one.marks:4g} of {assignment.marks}  {wrong}")


def main(names):
    """Time the way, and mark the broken."""
    with tempfile.TemporaryDirectory() as place:
        the_way(Path(place))
        cycle_of_lecture_6(Path(place))
        marks_of_the_broken(Path(place), names or broken_schedulers.BROKEN)


if __name__ == "__main__":
    main(sys.argv[1:])
