"""What an assignment asks for: a file of ``courses/elevators``, or a teacher's own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, field_validator, model_validator

from ...errors import ElevatorLabError
from ...paths import PROJECT
from ...plugins.schedulers import SCHEDULERS
from ...records import Count, NotNegative, Positive, Record, checked
from ..check.cases import OTHERS

COURSE = PROJECT / "courses" / "elevators"

#: Seed of what students see.
PUBLIC_SEED = 1

#: When a request is sent (ms), and where on the disk it is (KiB).
Request = tuple[NotNegative, Annotated[int, Field(ge=0, multiple_of=4)]]


class Part(Record):
    """A part of an assignment for which marks are given."""

    what: str
    marks: Count


class Conformity(Part):
    """Cases of the check (`elevatorlab.elevators.check`); each case that passes earns marks."""

    cases: Annotated[tuple[str, ...], Field(min_length=1)]

    @field_validator("cases")
    @classmethod
    def _there_are_such_cases(cls, cases: tuple[str, ...]) -> tuple[str, ...]:
        known = [case.name for case in OTHERS]
        if unknown := [case for case in cases if case not in known]:
            raise ValueError(f"cases: expected some of {', '.join(known)}; found {unknown[0]!r}")
        return cases

    @property
    def left_out(self) -> tuple[str, ...]:
        """Cases of the check that earn no marks."""
        return tuple(case.name for case in OTHERS if case.name not in self.cases)


class Scenario(Part):
    """Requests whose order of dispatch is compared with the reference's."""

    #: Values of the scheduler's tunables, by the names that the assignment prescribes.
    tunables: dict[str, int] = {}
    #: When each request is sent (ms), and where on the disk it is (KiB).
    requests: Annotated[tuple[Request, ...], Field(min_length=2, max_length=256)]


class Workload(Part):
    """Workloads of a trial, and the measure that is compared with the reference's."""

    #: The field `workloads` of `elevatorlab.trial.Trial`.
    workloads: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    #: ``latency``: mean latency of the reads of `of`, in ms. ``rate``: reads of `of` per second.
    #: ``travel``: mean distance from dispatch to dispatch, in MiB.
    measure: Literal["latency", "rate", "travel"]
    #: Name of the fio workload that is measured.
    of: str = ""


class Assignment(Record):
    """An assignment and its rubric."""

    #: Name of the file, without its ending.
    name: str
    title: str
    #: The scheduler whose orders are right, or whose score is 100.
    reference: str
    #: The field `device` of `elevatorlab.trial.Trial`.
    device: dict[str, Any]
    #: Marks for a module that builds.
    build: Part
    #: Marks for the check. If the check cannot go on, nothing else is run.
    conformity: Conformity
    scenarios: tuple[Scenario, ...] = ()
    #: Workloads from which a score for a leaderboard is computed.
    scored: tuple[Workload, ...] = ()
    #: How many times as good as the reference a scheduler must be to get all marks of a scored
    #: workload.
    best_ratio: Positive = 1
    #: What a teacher reads and marks.
    by_hand: tuple[Part, ...] = ()
    #: Seed of the trials; another one than the public one where a teacher has drawn it.
    seed: Annotated[int, Field(ge=PUBLIC_SEED)] = PUBLIC_SEED

    @model_validator(mode="after")
    def _compares_something(self) -> Assignment:
        if not self.scenarios and not self.scored:
            raise ValueError("scenarios: expected some, or something scored; found neither")
        for scenario in self.scenarios:
            places = [place_kib for _, place_kib in scenario.requests]
            if len(set(places)) < len(places):
                raise ValueError(
                    f"scenario {scenario.what!r}: expected each place once, so that the order "
                    "tells the requests apart; found one twice"
                )
        return self

    @property
    def public(self) -> bool:
        """Whether students know what is run."""
        return self.seed == PUBLIC_SEED

    @property
    def runs(self) -> tuple[Scenario | Workload, ...]:
        """The parts that are run."""
        return (*self.scenarios, *self.scored)

    @property
    def marks(self) -> int:
        """The most marks that the machine gives."""
        return sum(part.marks for part in self.parts)

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts that the machine marks."""
        return (self.build, self.conformity, *self.runs)

    @property
    def digest(self) -> str:
        """SHA-256 over the whole assignment."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def names() -> list[str]:
    """Return the names of the course's assignments."""
    return sorted(file.stem for file in COURSE.glob("*/*.yaml"))


def read(name: str) -> Assignment:
    """Read an assignment.

    `name`: One of `names`, or the path of a teacher's own file.
    """
    file = next((one for one in COURSE.glob("*/*.yaml") if one.stem == name), Path(name))
    if file.suffix != ".yaml" or not file.is_file():
        raise ElevatorLabError(
            f"assignment: expected one of {', '.join(names())}, or a file that ends in .yaml; "
            f"found {name!r}"
        )
    try:
        content = yaml.safe_load(file.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        said = " ".join(str(problem).split())
        raise ElevatorLabError(f"{file}: expected YAML; found {said}") from None
    if not isinstance(content, Mapping):
        raise ElevatorLabError(f"{file}: expected the fields of an assignment; found {content!r}")
    assignment = checked(Assignment, {"name": file.stem, **content}, str(file))
    SCHEDULERS.get(assignment.reference)
    return assignment
