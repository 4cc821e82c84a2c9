"""The check: run all cases, in as many machines as needed, and collect the verdicts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...errors import ElevatorLabError, TrialFailed
from ...plugins import scheduler_folders
from ...plugins.schedulers import OF_THE_KERNEL, OURS, SchedulerRecord
from ...testbeds.deterministic import modules
from . import forbidden_code, host_disk, kernel_log, machine
from .cases import BASIC, BUILDS, IN_THE_MACHINE, OTHERS, SIDE_BY_SIDE, STAYS, Case

Outcome = Literal["passed", "failed", "not run"]


@dataclass(frozen=True)
class CaseVerdict:
    """The result of one case."""

    #: The case's name (`cases`).
    case: str
    outcome: Outcome
    #: What was found, or what is wrong.
    said: str = ""
    #: The kernel's own lines, or the compiler's.
    trace: tuple[str, ...] = ()
    #: Time that the case took, on the machine's own clock. None if the case did not pass, or did
    #: not run in the machine.
    took_ms: int | None = None
    #: For a case that failed: whether a request, or the machine, would have waited for ever.
    hangs: bool = False


@dataclass(frozen=True)
class Conformity:
    """The verdicts on one scheduler."""

    name: str
    #: SHA-256 of its sources.
    sources: str
    #: One for each case that was asked for, in the order of the cases.
    verdicts: tuple[CaseVerdict, ...]

    @property
    def passed(self) -> bool:
        """Whether the scheduler passed every case."""
        return all(one.outcome == "passed" for one in self.verdicts)

    @property
    def failures(self) -> tuple[CaseVerdict, ...]:
        """The verdicts on the cases that failed."""
        return tuple(one for one in self.verdicts if one.outcome == "failed")

    @property
    def tampers(self) -> bool:
        """Whether the module could have forged its verdicts, or has tried to."""
        return any(one.case == STAYS.name for one in self.failures)

    def as_json(self) -> dict[str, Any]:
        """Return the verdicts as JSON values, which are the same on every machine."""
        return {**asdict(self), "passed": self.passed}


LEAVES = "It reaches beyond the block layer, so it was not loaded:"

#: Why no case of a module is run that could forge its verdicts.
TAMPERS = "what it says of itself proves nothing"


def _quiet(verdict: CaseVerdict) -> None:
    """Tell nobody."""


def check(
    folder: Path | str,
    tell: Callable[[CaseVerdict], None] = _quiet,
    only: Sequence[str] | None = None,
) -> Conformity:
    """Check the scheduler of a folder.

    `only`: Names of cases. Only these cases and the `BASIC` ones are run.
    """
    cases = _chosen(only)
    record = scheduler_folders.read(folder)
    assert record.folder is not None
    run = _Check(record, (BUILDS, STAYS, *cases), tell)
    try:
        built = modules.build(record.folder)
    except modules.DoesNotCompile as problem:
        wrong, told = problem.error or str(problem), tuple(problem.said.splitlines())
        run.reach(CaseVerdict(BUILDS.name, "failed", wrong, told))
        return run.end("it did not compile")
    run.reach(CaseVerdict(BUILDS.name, "passed", "with warnings" if built.said else ""))
    if beyond := forbidden_code.beyond(built.file, built.with_lines):
        run.reach(CaseVerdict(STAYS.name, "failed", f"{LEAVES} {'; '.join(beyond)}."))
        return run.end(TAMPERS)
    run.reach(CaseVerdict(STAYS.name, "passed"))
    try:
        return run.in_machines(built)
    except host_disk.Forged as forged:
        del run.verdicts[1:]
        run.reach(CaseVerdict(STAYS.name, "failed", f"It tampers with the check: {forged}."))
        return run.end(TAMPERS)


def _chosen(only: Sequence[str] | None) -> tuple[Case, ...]:
    known = [case.name for case in IN_THE_MACHINE]
    for name in only or ():
        if name not in known:
            raise ElevatorLabError(f"case: expected one of {', '.join(known)}; found {name!r}")
    if not only:
        return IN_THE_MACHINE
    return (*BASIC, *(case for case in OTHERS if case.name in only))


@dataclass
class _Check:
    record: SchedulerRecord
    cases: tuple[Case, ...]
    tell: Callable[[CaseVerdict], None]
    verdicts: list[CaseVerdict] = field(default_factory=list)

    def reach(self, verdict: CaseVerdict) -> None:
        self.verdicts.append(verdict)
        self.tell(verdict)

    def end(self, why: str) -> Conformity:
        """Report the remaining cases as not run, and return all verdicts."""
        for case in self.cases[len(self.verdicts) :]:
            self.reach(CaseVerdict(case.name, "not run", why))
        assert self.record.folder is not None
        return Conformity(self.record.name, self.record.folder.digest, tuple(self.verdicts))

    def in_machines(self, built: modules.Built) -> Conformity:
        """Run the cases in two sequences of machines at the same time."""
        beside = [case.name for case in self.cases if case in SIDE_BY_SIDE]
        others = [case.name for case in self.cases[2:] if case not in SIDE_BY_SIDE]
        short = _Sequence(self.record, built, machine.SHORT_TURNS)
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(short.run, beside)
            long = _Sequence(self.record, built, machine.LONG_TURNS, self.reach)
            stopped = long.run(others)
            stopped_beside = running.result()
        for verdict in short.verdicts if not stopped else ():
            self.reach(verdict)
        return self.end(stopped or stopped_beside)


@dataclass
class _Sequence:
    """Cases that run one after the other; after a failure, a fresh machine goes on."""

    record: SchedulerRecord
    built: modules.Built
    turns: int
    tell: Callable[[CaseVerdict], None] = _quiet
    verdicts: list[CaseVerdict] = field(default_factory=list)

    def run(self, cases: Sequence[str]) -> str:
        """Run the cases; return why some of them were not run, or ""."""
        self._stopped = ""
        remaining = list(cases)
        while remaining:
            remaining = self._go_on(remaining)
        return self._stopped

    def _reach(self, verdict: CaseVerdict) -> None:
        self.verdicts.append(verdict)
        self.tell(verdict)

    def _go_on(self, cases: Sequence[str]) -> list[str]:
        """Run cases in a fresh machine until one fails; return the cases that are left to run."""
        self._case, self._crashed = "", False
        self._disks = host_disk.Disks()
        record, built = self.record, self.built
        files = [*record.counters, *([record.signature] if record.signature else [])]
        job = {
            "name": record.name,
            "module": built.file.name,
            "files": files,
            "others": {name: OURS[name].module for name in OF_THE_KERNEL},
            "cases": list(cases),
        }
        inputs = {"job.json": json.dumps(job).encode(), built.file.name: built.file.read_bytes()}
        try:
            ended = machine.run(inputs, self._hear, self._disks.answer, self.turns)
        except host_disk.Wrong as wrong:
            self._reach(CaseVerdict(self._case, "failed", str(wrong)))
            return list(cases[cases.index(self._case) + 1 :])
        if self._crashed or not ended.by_itself:
            said, trace = kernel_log.trouble(ended.console, built.with_lines)
            hangs = kernel_log.hangs(ended.console)
            self._reach(CaseVerdict(self._case, "failed", said, tuple(trace), hangs=hangs))
            self._stopped = f"the kernel was in trouble in the case {self._case}"
            return []
        if self._case in [case.name for case in BASIC] and self.verdicts[-1].outcome == "failed":
            self._stopped = f"nothing works without the case {self._case}"
            return []
        return list(cases[cases.index(self._case) + 1 :])

    def _hear(self, message: dict[str, Any]) -> None:
        event = message["event"]
        if event == "broke":
            raise TrialFailed(f"the check itself failed in its machine:\n{message['said']}")
        if event == "ended":
            return
        self._case = message["case"]
        if event == "complained":
            self._crashed = True
        elif event in ("passed", "failed"):
            said = _with_places(message["said"], self.built.with_lines)
            if event == "passed":  # which is a hint, where the host sees for itself
                said = ", ".join(filter(None, (said, self._disks.judge(self._case))))
            took_ms, hangs = message.get("took_ms"), message.get("hangs", False)
            self._reach(CaseVerdict(self._case, event, said, took_ms=took_ms, hangs=hangs))


def _with_places(said: str, module: Path) -> str:
    """Replace places such as ``.text+0x1c`` or ``function+0x1c`` by the source's file and line."""

    def resolved(found: re.Match[str]) -> str:
        return kernel_log.place(module, found[1], int(found[2], 16) - 1) or found[0]

    return re.sub(r"(\.?\b[a-z_][\w.]*)\+(0x[0-9a-f]+)", resolved, said)
