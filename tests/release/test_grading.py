"""A course's submissions: read whatever they are, run in machines of their own, and marked."""

import csv
import logging
import os
import re
import signal
import time
from pathlib import Path

import distributed
import pytest

from course_submissions import (  # noqa: F401  (fixtures)
    HANDED_IN,
    HAS_WORK,
    ORDERED,
    ZOO,
    graded,
    hand_in,
    no_machine,
    right,
    scheduler_of,
)
from elevatorlab.cli.grade import grade as command_grade
from elevatorlab.elevators import check
from elevatorlab.elevators.grading import assignments, campaign, grade, pages, side_by_side
from elevatorlab.elevators.grading.submissions import Submission
from elevatorlab.plugins.schedulers import SCHEDULERS
from helpers import BOMB, children
from stubs import AnotherElsewhere, Stub, cluster


def half(number):
    """Stand for the grading of a submission, which may end in any way."""
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 3:
        os._exit(7)
    return number / 2


def test_a_killed_process_ends_its_own_job_alone():
    made = dict(side_by_side.here(half, [1, 2, 3, 4, 5], 2))
    assert (made[1], made[4], made[5]) == (0.5, 2, 2.5)
    assert made[2] == "its process was ended by SIGKILL; look for what ends processes (memory?)"
    assert made[3] == "its process ended with 7; look for what ends processes (memory?)"


def sleeps(seconds):
    time.sleep(seconds)


def test_who_leaves_ends_the_processes():
    before = children(os.getpid())
    made = side_by_side.here(sleeps, [0, 3600, 3600], 2)
    assert next(made) == (0, None)
    made.close()
    left = children(os.getpid()).keys() - before.keys()
    assert [one for one in left if "resource_tracker" not in command(one)] == []


def command(pid):
    return Path(f"/proc/{pid}/cmdline").read_text()


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


def lines_of(folder):
    """Return the lines of all files, each with its file, so that a failure names what differs."""
    return {
        (path, number, line)
        for path, content in files_of(folder).items()
        for number, line in enumerate(content.split(b"\n"))
    }


@pytest.mark.image
def test_each_submission_has_its_marks(graded):
    assignment, [(_, grades, told), _] = graded
    marks = {name: [part.marks for part in one.parts] for name, one in grades.items()}
    assert marks["right"] == [part.marks for part in assignment.parts]
    assert marks["wrong"][:2] == [2, 6] and marks["wrong"][2] < assignment.parts[2].marks
    assert marks["panic"][0] == 2 and 0 < marks["panic"][1] < 6 and marks["panic"][2] == 0
    assert marks["hangs"] == marks["panic"]
    assert "No request was ever handed to the disk" in grades["hangs"].problem
    assert marks["typo"] == marks["kernels"] == marks["=empty"] == [0, 0, 0]
    assert marks["nothing"] == marks["hostile"] == [0, 0, 0]
    assert {name: one.kind for name, one in grades.items()} == {
        "right": "right",
        "wrong": "wrong",
        "nothing": "nothing of its own",
        "panic": "broken",
        "hangs": "hung",
        "typo": "broken",
        "hostile": "hostile",
        "kernels": "broken",
        "=empty": "broken",
    }
    assert grades["right"].problem == grades["wrong"].problem == ""
    assert "serves_one_at_a_time: " in grades["panic"].problem
    assert "'forgotten' undeclared" in grades["typo"].compiler
    assert "'forgotten' undeclared" in grades["typo"].problem
    assert "expected a name that is not the kernel's; found 'kyber'" in grades["kernels"].problem
    assert [step[:2] for step in told] == [(done, 9) for done in range(10)]


@pytest.mark.image
def test_grading_again_gives_the_same_bytes(graded):
    _, both = graded
    first, again = (lines_of(folder) for folder, *_ in both)
    assert first - again == again - first == set()


@pytest.mark.image
@pytest.mark.timeout(600)
def test_a_fork_bomb_takes_nothing_from_the_others(tmp_path, no_machine):
    typo = HANDED_IN["typo"]
    bomb = {**typo, "Kbuild": typo["Kbuild"] + BOMB.encode()}
    three = {"ada": typo, "bob": bomb, "carl": {**typo, "carl.h": b""}}
    handed_in = hand_in(tmp_path / "in", three)
    grades, _ = campaign.run(handed_in, assignments.read("sstf"), tmp_path / "out", 3)
    assert [one.marks for one in grades] == [0, 0, 0]
    assert "Cannot fork" in grades[1].compiler
    assert grades[0].compiler == grades[2].compiler
    assert "'forgotten' undeclared" in grades[0].compiler


#: What a build fills with 2 GiB, and what stops it.
FULL = {
    "head -c 2G /dev/zero 2>&1 >$(src)/zeros; rm $(src)/zeros": "No space left on device",
    "tail /dev/zero 2>&1": "memory exhausted",
    "yes | head -c 2G": "make: *** virtual memory exhausted",
}


@pytest.mark.image
@pytest.mark.timeout(600)
def test_two_gigabytes_have_no_room_in_a_build(tmp_path):
    typo = HANDED_IN["typo"]
    fill = {str(n): f"\n$(info $(shell {one}))\n" for n, one in enumerate(FULL)}
    handed_in = {n: {**typo, "Kbuild": typo["Kbuild"] + one.encode()} for n, one in fill.items()}
    for name, said in zip(handed_in, FULL.values(), strict=True):
        found = grade.grade(Submission(name, handed_in[name]), "", assignments.read("sstf"), {})
        assert (found.kind, found.marks) == ("broken", 0) and said in found.compiler


@pytest.fixture(scope="module")
def dask():
    """Return the address of a cluster of one process that does two submissions at once."""
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.image
@pytest.mark.timeout(1200)
def test_a_cluster_gives_the_same_bytes(graded, dask):
    """Three of the submissions are called fifo, and are different ones."""
    assignment, [(first, *_), _] = graded
    out = first.parent / "by dask"
    grades, ran = campaign.run(first.parent / "handed in", assignment, out, cluster=dask)
    pages.write(out, assignment, grades, ran)
    assert files_of(out) == files_of(first)


def test_a_worker_with_another_image_grades_nothing(tmp_path, dask, error_of):
    testbed = AnotherElsewhere(tmp_path / "ledger")
    said = error_of(list, side_by_side.far(half, [1, 5], dask, testbed))
    assert "expected stub client's (the stub's version); found worker's" in said


def test_a_submission_of_which_workers_die_does_not_end_the_others(tmp_path):
    with cluster() as running:
        address = running.scheduler_address
        made = dict(side_by_side.far(half, [1, 2, 4], address, Stub(tmp_path / "ledger")))
    assert (made[1], made[4]) == (0.5, 2) and "4 workers died of it" in made[2]


@pytest.mark.image
def test_what_is_graded_is_not_graded_again(graded, monkeypatch):
    assignment, [(out, grades, _), _] = graded
    asked = []
    monkeypatch.setattr(campaign, "_several", lambda jobs, *_: asked.extend(jobs) or [])
    kept, _ = campaign.run(out.parent / "handed in", assignment, out, 1)
    assert {one.student: one for one in kept} == grades and asked == []


@pytest.mark.image
def test_the_pages_say_what_a_teacher_and_a_student_need(graded):
    assignment, [(out, grades, _), _] = graded
    rows = list(csv.DictReader((out / "marks.csv").read_text().splitlines()))
    assert [row["student"] for row in rows] == ["'=empty", *sorted(HANDED_IN)]
    assert rows[-1]["kind"] == "wrong" and rows[-1][assignment.by_hand[0].what] == ""
    overview = (out / "index.html").read_text()
    assert all(f'feedback/{Submission(name).slug}.html"' in overview for name in grades)
    wrong = (out / "feedback" / "wrong.html").read_text()
    assert "is the first that differs" in wrong and "data:image/png;base64," in wrong
    assert "right.html" not in wrong
    assert "forgotten" in (out / "feedback" / "typo.html").read_text()


@pytest.mark.image
@pytest.mark.timeout(1800)
def test_an_open_assignment_is_run_scored_and_ranked(tmp_path):
    """As a teacher types it: the solution that is kept apart, and two that are not as good."""
    solution = assignments.COURSE / "solutions" / "open"
    handed_in = {
        "ada": scheduler_of("fifo"),
        "bob": {file.name: file.read_bytes() for file in solution.iterdir()},
        "carl": HANDED_IN["typo"],
    }
    command_grade(hand_in(tmp_path / "in", handed_in), "open", tmp_path / "out", workers=1)
    rows = csv.DictReader((tmp_path / "out" / "marks.csv").read_text().splitlines())
    scores = {row["student"]: float(row["score"]) for row in rows if row["score"]}
    # First come, first served gives up two of the three measures; the solution gives up none.
    assert scores.keys() == {"ada", "bob"} and scores["ada"] < 100 < scores["bob"]
    page = (tmp_path / "out" / "leaderboard.html").read_text()
    ranked = re.findall(r'<td>(\d+)</td><th scope="row">(\w+)</th><td>[\w-]+</td><td>(.*?)<', page)
    assert ranked == [("1", "bob", f"{scores['bob']}"), ("2", "ada", f"{scores['ada']}")]
    assert "carl" not in page


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
