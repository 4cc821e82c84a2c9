"""What the way of one's own scheduler takes, and what sixteen broken ones get for marks.

    .venv/bin/python benchmarks/own_scheduler.py [BROKEN...]

Prints the seconds that build (a second one, after a change), check and compare take for the
skeleton of LOOK, and the marks of the broken schedulers of the tests in assignment 1, all of them
or those that are named. The kernel's own schedulers are not measured.
"""

import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from elevatorlab.elevators import check, templates
from elevatorlab.elevators.compare import comparison
from elevatorlab.elevators.grading import assignments, campaign
from elevatorlab.paths import PROJECT
from elevatorlab.plugins import scheduler_folders
from elevatorlab.testbeds.deterministic import modules

sys.path.insert(0, str(PROJECT / "tests"))

import broken_schedulers  # noqa: E402


@contextmanager
def timed(what):
    """Print how long something takes."""
    began_s = time.monotonic()
    yield
    print(f"{what:8} {time.monotonic() - began_s:6.1f} s", flush=True)


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
        marks_of_the_broken(Path(place), names or broken_schedulers.BROKEN)


if __name__ == "__main__":
    main(sys.argv[1:])
