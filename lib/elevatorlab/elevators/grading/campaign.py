"""Grade all submissions, several at once; a graded submission is not graded again."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...paths import write_whole
from ...plugins.schedulers import SCHEDULERS
from ...running import campaign
from ...running.pools import task
from ...testbeds import agent_archive
from ...testbeds.deterministic import DeterministicTestbed
from . import grade as grading
from . import side_by_side, submissions, trials
from .assignments import Assignment
from .grade import Grade, PartResult
from .submissions import Submission

#: Version of the grading itself. With another number, everything is graded anew.
VERSION = 4

#: Called as ``progress(done, total, grade)``: before the first submission with the grade None, and
#: after each submission.
Progress = Callable[[int, int, Any], object]

#: A submission, and the digest of all that decides its marks.
Job = tuple[Submission, str]

ONE_AT_A_TIME = threading.Lock()


def run(
    handed_in: Path,
    assignment: Assignment,
    out: Path,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress = lambda done, total, grade: None,
) -> tuple[list[Grade], dict[str, PartResult]]:
    """Grade the submissions that are not graded yet.

    `handed_in`: A folder that has a folder, or an archive, for each student. `out`: Folder in which
    the grades are kept, one file for each submission. `workers`: Most submissions at the same time;
    by default as many as the machine has room for. `cluster`: Address of the scheduler of a running
    Dask cluster. Returns `grades`: In the order of the students' names. The grade of a submission
    that could not be graded has no parts, and its `problem` says why. Such a grade is not kept, so
    the next run tries again. Returns `right`: What the reference did in each part, by the part's
    name.
    """
    campaign.check_cluster(cluster, workers)
    found = submissions.find(handed_in)
    kept = out / "grades"
    kept.mkdir(parents=True, exist_ok=True)
    machine = _digest_of_the_machine(assignment)
    right = _reference(assignment, kept.parent / "reference.json", machine)
    jobs: list[Job] = [(one, _digest(machine, one.digest)) for one in found]
    todo = [job for job in jobs if not _is_kept(kept, *job)]
    progress(0, len(todo), None)
    failed: dict[str, Grade] = {}
    # If this loop is interrupted, all grades until then are kept.
    made = _several(todo, assignment, right, workers, cluster)
    for done, ((one, digest), grade) in enumerate(made, start=1):
        if isinstance(grade, str):
            grade = Grade(student=one.student, digest=digest, problem=f"Not graded: {grade}")
            failed[one.student] = grade
        else:
            write_whole(_file(kept, one), grade.model_dump_json(indent=1))
        progress(done, len(todo), grade)
    grades = [
        failed.get(one.student) or Grade.model_validate_json(_file(kept, one).read_text())
        for one in found
    ]
    return grades, right


def _digest_of_the_machine(assignment: Assignment) -> str:
    """Return the SHA-256 over all that decides marks besides the submission."""
    testbed = DeterministicTestbed(say=lambda _: None)
    folder = SCHEDULERS.get(assignment.reference).folder
    parts = [str(VERSION), assignment.digest, testbed.machine(), agent_archive.agent_digest()]
    return _digest(*parts, folder.digest if folder else assignment.reference)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _reference(assignment: Assignment, file: Path, digest: str) -> dict[str, PartResult]:
    """Return the reference's results; run the reference if they are not stored yet."""
    if file.exists():
        kept = json.loads(file.read_text())
        if kept["digest"] == digest:
            return {what: PartResult.model_validate(one) for what, one in kept["ran"].items()}
    ran = grading.reference(assignment)
    content = {what: one.model_dump(mode="json") for what, one in ran.items()}
    write_whole(file, json.dumps({"digest": digest, "ran": content}, indent=1))
    return ran


def _file(kept: Path, submission: Submission) -> Path:
    return kept / f"{submission.slug}.json"


def _is_kept(kept: Path, submission: Submission, digest: str) -> bool:
    file = _file(kept, submission)
    return file.exists() and json.loads(file.read_text())["digest"] == digest


def _several(
    jobs: Sequence[Job],
    assignment: Assignment,
    right: dict[str, PartResult],
    workers: int | None,
    cluster: str | None,
) -> Iterator[tuple[Job, Grade | str]]:
    """Yield each job when it ends, with its grade or with a sentence why it has no grade."""
    if not jobs:
        return iter(())
    testbed = DeterministicTestbed(say=lambda _: None)
    testbed.prepare(list(trials.of(assignment, assignment.reference).values()))
    graded = partial(_graded, assignment=assignment, right=right, image=testbed.identity())
    if cluster:
        return side_by_side.far(graded, jobs, cluster, testbed)
    return side_by_side.here(graded, jobs, campaign.width([testbed], workers))


def _graded(
    job: Job, assignment: Assignment, right: dict[str, PartResult], image: str
) -> Grade | str:
    """Grade one submission. If the laboratory fails, say why, so that other submissions go on."""
    testbed = DeterministicTestbed(say=lambda _: None)
    try:
        # A process of Dask's may have several threads, but a scheduler's name has one meaning.
        with ONE_AT_A_TIME:
            return task.unlike(testbed, image) or grading.grade(*job, assignment, right)
    except Exception as problem:
        return f"{type(problem).__name__}: {' '.join(str(problem).split())}"
