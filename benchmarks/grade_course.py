"""What it takes to grade a course: 40 submissions of assignment 1, of which some are broken.

    .venv/bin/python benchmarks/grade_course.py [STUDENTS] [WORKERS]

The submissions are made here, each with other sources, so that nothing is built or run twice.
The bar: 40 within 20 minutes on two idle cores, that is 60 s of a processor for each.
"""

import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from elevatorlab.elevators.grading import assignments, campaign, pages
from elevatorlab.paths import ENVIRONMENTS

SCHEDULERS = ENVIRONMENTS / "kernel" / "schedulers"
DISPATCH = "static struct request *fifo_dispatch_request(struct blk_mq_hw_ctx *hctx)\n{"
HAS_WORK = "static bool fifo_has_work(struct blk_mq_hw_ctx *hctx)\n{"

#: What somebody hands in: a scheduler of ours, and the words that are put behind others.
KINDS = {
    "right": ("sstf", "", ""),
    "another rule": ("look", "", ""),
    "first come": ("fifo", "", ""),
    "right, once more": ("sstf", "", ""),
    "does not compile": ("fifo", HAS_WORK, "return forgotten;"),
    "never serves": ("fifo", HAS_WORK, "return false;"),
    "loops": ("fifo", DISPATCH, "for (;;) cpu_relax();"),
    "panics": ("fifo", DISPATCH, 'panic("no");'),
}


def hand_in(folder, number):
    """Write the submission of one student."""
    kind = list(KINDS)[number % len(KINDS)]
    name, behind, added = KINDS[kind]
    there = folder / f"{number:02d} {kind}"
    shutil.copytree(SCHEDULERS / name, there)
    source = there / f"{name}-iosched.c"
    text = source.read_text()
    assert behind in text
    source.write_text(f"{text.replace(behind, behind + added, 1)}\n/* student {number} */\n")


def processor_s():
    """Return the processor time of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(students=40, workers=2):
    """Hand in, grade, and print."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "submissions"
        for number in range(students):
            hand_in(folder, number)
        assignment = assignments.read("sstf")
        began_s, used_s = time.monotonic(), processor_s()
        grades, right = campaign.run(folder, assignment, Path(place) / "out", workers)
        pages.write(Path(place) / "out", assignment, grades, right)
        took_s, used_s = time.monotonic() - began_s, processor_s() - used_s
    print(f"{students} submissions, {workers} workers: {took_s / 60:.1f} minutes,")
    print(f"{used_s / students:.0f} s of a processor for each")
    for (kind, marks), number in sorted(
        Counter((one.student[3:], one.marks) for one in grades).items()
    ):
        print(f"{number:3} x {kind:18} {marks:g} of {assignment.marks} marks")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
