"""Grade one submission: build it, check it, run it in a machine of its own, and mark it."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pandas as pd

from ...errors import ElevatorLabError, NeverEnded, NotReady, TrialFailed
from ...plugins import scheduler_folders
from ...plugins.schedulers import SCHEDULERS, SchedulerRecord
from ...records import Record
from ...results import trace
from ...running.pools import task
from ...showing.travel import travel_mib
from ...testbeds.deterministic import DeterministicTestbed, modules
from ...trial import Trial
from .. import check, templates
from ..check import forbidden_code
from . import marking, trials
from .assignments import Assignment, Scenario, Workload
from .marking import Marked
from .submissions import Submission

#: Most wall time of a part. A part takes 5 s; a computer on which it takes longer than this limit
#: is too slow to grade.
LIMIT_S = 120

#: (inserted_ms or None, issued_ms, place_kib) of a request, for a picture.
Dispatch = tuple[float | None, float, int]


Kind = Literal["right", "wrong", "nothing of its own", "broken", "hung", "hostile"]

#: What each kind of submission is, for a teacher; the better ones first.
KINDS: dict[Kind, str] = {
    "right": "It passes the check, and every order is right.",
    "wrong": "It passes the check. An order is wrong, or a tunable is missing.",
    "nothing of its own": "It schedules as the template does, so nothing of it earns marks.",
    "broken": "It cannot be read, does not compile, crashes, or fails a case of the check.",
    "hung": "Something of it would never end: its build, a request, or its code.",
    "hostile": "It reaches beyond the block layer, or speaks in the check's name. Look at it.",
}


class PartResult(Record):
    """What became of a part that was run: its dispatches, or its measured number, or a problem."""

    problem: str = ""
    dispatches: tuple[Dispatch, ...] = ()
    found: float | None = None


class Grade(Record):
    """The marks of one submission."""

    student: str
    #: SHA-256 over all that decides the marks: the submission, the assignment, the machine.
    digest: str
    #: The scheduler's name in its ``scheduler.json``; "" if that is not known.
    scheduler: str = ""
    #: One of `KINDS`; None if the laboratory failed.
    kind: Kind | None = None
    #: Why the scheduler was not run, or not to the end; "" if nothing went wrong.
    problem: str = ""
    #: What the compiler said.
    compiler: str = ""
    #: Marks of each part; empty if the laboratory failed, rather than the submission.
    parts: tuple[Marked, ...] = ()
    #: See `marking.score`.
    score: float | None = None
    #: What became of each part that was run, by the part's name.
    ran: dict[str, PartResult] = {}

    @property
    def marks(self) -> float:
        """The sum of the marks of all parts."""
        return sum(part.marks for part in self.parts)


def reference(assignment: Assignment) -> dict[str, PartResult]:
    """Run the parts of an assignment on its reference."""
    testbed = DeterministicTestbed(say=lambda _: None)
    of = trials.of(assignment, assignment.reference)
    testbed.prepare(list(of.values()))
    return {part.what: _run(testbed, of[part.what], part) for part in assignment.runs}


def grade(
    submission: Submission, digest: str, assignment: Assignment, right: Mapping[str, PartResult]
) -> Grade:
    """Grade one submission. A submission that fails gets a grade, too."""
    blank = Grade(student=submission.student, digest=digest)
    if submission.problem:
        return _failed(blank, assignment, "broken", submission.problem)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "submission"
        folder.mkdir()
        for name, content in submission.files.items():
            (folder / name).write_bytes(content)
        try:
            record = scheduler_folders.read(folder)
            assert record.folder
            built = modules.build(record.folder)
            conformity = check.check(folder, only=assignment.conformity.cases)
        except modules.DoesNotCompile as problem:
            why = str(problem).splitlines()[0].replace(f"{folder}: ", "")
            why = f"{why} {problem.error}" if problem.error else f"{why.removesuffix(':')}."
            kind: Kind = "hung" if isinstance(problem, modules.NeverCompiles) else "broken"
            return _failed(blank, assignment, kind, why, problem.said)
        except (NotReady, TrialFailed):  # this is no fault of the submission
            raise
        except ElevatorLabError as problem:
            why = str(problem).replace(str(folder), "the folder")
            return _failed(blank, assignment, "broken", why)
    named = blank.model_copy(update={"scheduler": record.name, "compiler": built.said})
    if conformity.tampers:
        (why,) = (one.said for one in conformity.failures)
        return _failed(named, assignment, "hostile", f"Tampering: {why}", built.said)
    with SCHEDULERS.standing_in(record.name, record):
        marked = _run_and_mark(named, assignment, record, conformity, right)
    if template := of_a_template(built):
        return _withheld(marked, f"its code is that of the template {template}")
    if _first_come_first_served(assignment, marked.ran):
        return _withheld(marked, "it serves first come, first served, as the template does")
    return marked


def of_a_template(built: modules.Built) -> str:
    """Return the template whose code a module has; "" if it has another's.

    What the compiler made is compared, so other names, comments or lines are no other code, nor are
    functions that nobody calls.
    """
    code = _code(built.file)
    return next((name for name in templates.TEMPLATES if _code_of_template(name) == code), "")


def _code_of_template(template: str) -> str:
    with tempfile.TemporaryDirectory() as place:
        record = scheduler_folders.read(templates.new("unchanged", template, Path(place)))
    assert record.folder
    return _code(modules.build(record.folder).file)


def _code(module: Path) -> str:
    """Return a digest of a module's instructions, and of what it asks of the kernel."""
    section = ("objdump", "--full-contents", "--section=.text", str(module))
    instructions = forbidden_code.said(*section)[2:]  # before that, the file's name
    asks = forbidden_code.said("nm", "--undefined-only", str(module))
    return hashlib.sha256("\n".join([*instructions, *asks]).encode()).hexdigest()


def _withheld(grade: Grade, why: str) -> Grade:
    """Return the grade of a submission that gets no marks for what the template gives."""
    parts = tuple(
        part.model_copy(update={"marks": 0, "says": f"{part.says} No marks, since {why}."})
        for part in grade.parts
    )
    problem = f"Nothing of its own: {why}."
    found = {"kind": "nothing of its own", "problem": problem, "parts": parts, "score": None}
    return grade.model_copy(update=found)


def _first_come_first_served(assignment: Assignment, ran: Mapping[str, PartResult]) -> bool:
    """Tell whether the scenarios that ran were all served in the order in which they came."""
    orders = [
        [place for _, _, place in ran[one.what].dispatches]
        == [place for _, place in sorted(one.requests)]
        for one in assignment.scenarios
        if one.what in ran
    ]
    return bool(orders) and all(orders)


def _failed(
    blank: Grade, assignment: Assignment, kind: Kind, why: str, compiler: str = ""
) -> Grade:
    others = "Not run, since the scheduler could not be built and checked."
    marked = tuple(
        marking.nothing(part, why if part is assignment.build else others)
        for part in assignment.parts
    )
    found = {"kind": kind, "problem": why, "compiler": compiler, "parts": marked}
    return blank.model_copy(update=found)


def _run_and_mark(
    blank: Grade,
    assignment: Assignment,
    record: SchedulerRecord,
    conformity: check.Conformity,
    right: Mapping[str, PartResult],
) -> Grade:
    testbed = DeterministicTestbed(say=lambda _: None, limit_s=LIMIT_S)
    of = trials.of(assignment, record.name)
    testbed.prepare(list(of.values()))
    parts = [
        marking.everything(assignment.build, f"{record.module}.ko was built."),
        marking.conformity(assignment.conformity, conformity),
    ]
    ran: dict[str, PartResult] = {}
    # If the check could not go on, a trial would hang or crash its machine, too.
    stopped = any(one.outcome == "not run" for one in conformity.verdicts)
    problem = ". ".join(f"{one.case}: {one.said}" for one in conformity.failures if stopped)
    wrong = assignment.conformity.what
    kind = _kind(conformity)
    for part in assignment.runs:
        if problem:
            parts.append(marking.nothing(part, f"Not run, since this went wrong: {wrong}."))
            continue
        try:
            ran[part.what] = _run(testbed, of[part.what], part)
            parts.append(_marked(assignment, part, ran[part.what], right[part.what]))
        except TrialFailed as failure:
            missing = _missing(part, failure)
            wrong, why = part.what, missing or str(failure)
            if kind == "right":
                kind = "hung" if isinstance(failure, NeverEnded) else "broken"
                kind = "wrong" if missing else kind
            problem = f"{wrong}: {why.splitlines()[0]}"
            parts.append(marking.nothing(part, why))
    orders = {one.what for one in assignment.scenarios}
    if kind == "right" and any(one.what in orders and one.marks < one.of for one in parts):
        kind = "wrong"
    found = {"kind": kind, "parts": tuple(parts), "ran": ran, "problem": problem}
    return blank.model_copy(update={**found, "score": marking.score(parts, len(assignment.scored))})


def _kind(conformity: check.Conformity) -> Kind:
    """Return what a submission is by its check."""
    if any(one.hangs for one in conformity.failures):
        return "hung"
    return "broken" if conformity.failures else "right"


def _missing(part: Scenario | Workload, failure: TrialFailed) -> str:
    """Say which tunable of the assignment a scheduler has not, if that is why a part failed."""
    why = str(failure)
    for tunable, value in part.tunables.items() if isinstance(part, Scenario) else ():
        if f"/{tunable} does not exist" in why:
            return f"your scheduler has no tunable {tunable}, which this part sets to {value}"
    return ""


def _run(testbed: DeterministicTestbed, trial: Trial, part: Scenario | Workload) -> PartResult:
    """Run one part, and read what its marks depend on."""
    files = task.run(testbed, trial, lambda text: None).files
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / trace.FILE).write_bytes(files[trace.FILE])
        requests = trace.requests(trace.read(place))
    if isinstance(part, Scenario):
        return PartResult(dispatches=_dispatches(requests))
    if part.measure == "travel":
        return PartResult(found=travel_mib(requests) / max(1, len(requests) - 1))
    read = json.loads(files["result.json"])["workloads"][part.of]["read"]
    return PartResult(
        found=read["latency_mean_ns"] / 1e6 if part.measure == "latency" else read["iops"]
    )


def _dispatches(requests: pd.DataFrame) -> tuple[Dispatch, ...]:
    start_s = requests[["inserted_s", "issued_s"]].min().min()
    times_ms = (1000 * (requests[["inserted_s", "issued_s"]] - start_s)).round(3)
    rows = zip(
        times_ms["inserted_s"].tolist(),
        times_ms["issued_s"].tolist(),
        (requests["sector"] // 2).tolist(),
        strict=True,
    )
    return tuple((None if math.isnan(came) else came, went, place) for came, went, place in rows)


def _marked(
    assignment: Assignment, part: Scenario | Workload, found: PartResult, right: PartResult
) -> Marked:
    if isinstance(part, Scenario):
        orders = ([place_kib for _, _, place_kib in one.dispatches] for one in (found, right))
        return marking.order(part, *orders)
    assert found.found is not None and right.found is not None
    return marking.measure(part, found.found, right.found, assignment.best_ratio)
