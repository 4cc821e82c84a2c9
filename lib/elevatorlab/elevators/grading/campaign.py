"""All submissions, several at once; what is graded is not graded again."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import ElevatorLabError
from ...plugins.schedulers import SCHEDULERS
from ...running import campaign
from ...testbeds import agent_archive
from ...testbeds.deterministic import DeterministicTestbed
from . import grade as grading
from . import submissions, trials
from .assignments import Assignment
from .grade import Grade, Ran
from .submissions import Submission

#: What the grading itself is: another number, and everything is graded anew.
VERSION = 1

#: Called as ``progress(done, total, grade)``, before the first and after each.
Progress = Callable[[int, int, Any], object]


def run(
    handed_in: Path,
    assignment: Assignment,
    out: Path,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress = lambda done, total, grade: None,
) -> tuple[list[Grade], dict[str, Ran]]:
    """Grade what is not graded yet.

    Parameters
    ----------
    handed_in : Path
        A folder, or an archive, for each student.
    assignment : Assignment
    out : Path
        Folder of the grades: one file each, which belongs to what was handed in.
    workers : int, optional
        Submissions at the same time; by default as many as the machine has room for.
    cluster : str, optional
        Address of the scheduler of a running Dask cluster.
    progress : callable, optional

    Returns
    -------
    grades : list of Grade
        In the order of the students' names.
    right : dict of str to Ran
        What the reference did.

    Raises
    ------
    ElevatorLabError
        When there is nothing to grade, or nothing to grade with.
    """
    if cluster and workers:
        raise ElevatorLabError(
            "--workers and --cluster: expected one of them; found both. A running cluster has as "
            "many workers as it has"
        )
    found = submissions.find(handed_in)
    kept = out / "grades"
    kept.mkdir(parents=True, exist_ok=True)
    machine = _digest_of_the_machine(assignment)
    right = _reference(assignment, kept.parent / "reference.json", machine)
    jobs = [(one, _digest(machine, one.digest)) for one in found]
    todo = [job for job in jobs if not _is_kept(kept, *job)]
    progress(0, len(todo), None)
    task = partial(_graded, assignment=assignment, right=right)
    if not cluster:
        workers = min(_width(assignment, workers), len(todo))
    # Wherever it stops, what has been graded until then is kept.
    for done, one in enumerate(_several(task, todo, workers, cluster), start=1):
        slug = Submission(one.student).slug
        _write(kept / f"{slug}.json", one.model_dump_json(indent=1))
        progress(done, len(todo), one)
    grades = [Grade.model_validate_json(_file(kept, one).read_text()) for one in found]
    return grades, right


def _digest_of_the_machine(assignment: Assignment) -> str:
    """Return the SHA-256 over all that decides marks besides the submission."""
    testbed = DeterministicTestbed(say=lambda _: None)
    folder = SCHEDULERS.get(assignment.reference).folder
    parts = [str(VERSION), assignment.digest, testbed.machine(), agent_archive.agent_digest()]
    return _digest(*parts, folder.digest if folder else assignment.reference)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _reference(assignment: Assignment, file: Path, digest: str) -> dict[str, Ran]:
    """Return what the reference does; run it where that is not known."""
    if file.exists():
        kept = json.loads(file.read_text())
        if kept["digest"] == digest:
            return {what: Ran.model_validate(one) for what, one in kept["ran"].items()}
    ran = grading.reference(assignment)
    content = {what: one.model_dump(mode="json") for what, one in ran.items()}
    _write(file, json.dumps({"digest": digest, "ran": content}, indent=1))
    return ran


def _file(kept: Path, submission: Submission) -> Path:
    return kept / f"{submission.slug}.json"


def _is_kept(kept: Path, submission: Submission, digest: str) -> bool:
    file = _file(kept, submission)
    return file.exists() and json.loads(file.read_text())["digest"] == digest


def _write(file: Path, text: str) -> None:
    part = file.with_name(f"{file.name}.part")
    part.write_text(text)
    os.replace(part, file)


def _graded(job: tuple[Submission, str], assignment: Assignment, right: dict[str, Ran]) -> Grade:
    return grading.grade(*job, assignment, right)


def _several(
    task: Callable[[tuple[Submission, str]], Grade],
    jobs: Sequence[tuple[Submission, str]],
    workers: int | None,
    cluster: str | None,
) -> Iterator[Grade]:
    """Yield what the task makes of each job, as they end."""
    if not jobs:
        return
    if cluster:
        import distributed

        with distributed.Client(cluster) as client:
            futures = client.map(task, jobs, pure=False)
            for _, one in distributed.as_completed(futures, with_results=True):
                yield one
        return
    # A process each: what one submission registers, no other one sees. Leaving the pool ends
    # them, and with them their machines.
    context = multiprocessing.get_context("spawn")
    ignored = (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for this process, which ends them
    with context.Pool(workers, signal.signal, ignored, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(task, jobs)


def _width(assignment: Assignment, workers: int | None) -> int:
    """Return how many machines have room here, at most as many as `workers`."""
    testbed = DeterministicTestbed(say=lambda _: None)
    testbed.prepare(list(trials.of(assignment, assignment.reference).values()))
    return campaign.width([testbed], workers)
