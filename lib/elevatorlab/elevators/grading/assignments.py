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

#: When a request comes (ms), and where it is (KiB).
Request = tuple[NotNegative, Annotated[int, Field(ge=0, multiple_of=4)]]


class Part(Record):
    """What marks are given for."""

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
        """Cases of the check that no marks are for."""
        return tuple(case.name for case in OTHERS if case.name not in self.cases)


class Scenario(Part):
    """Requests whose order of dispatch is compared with the reference's.

    Attributes
    ----------
    tunables : dict
        What the scheduler is told, by the names that the assignment prescribes.
    requests : tuple of (float, int)
        When each comes (ms), and where it is (KiB).
    """

    tunables: dict[str, int] = {}
    requests: Annotated[tuple[Request, ...], Field(min_length=2, max_length=256)]


class Workload(Part):
    """Workloads, in a trial's own words, of which a number is compared with the reference's.

    Attributes
    ----------
    workloads : tuple of dict
        Of `elevatorlab.trial.Trial`.
    measure : str
        ``latency``: mean time of a read of `of`; ``rate``: reads a second of `of`; ``travel``:
        mean distance from dispatch to dispatch.
    of : str
        The name of a workload of fio.
    """

    workloads: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    measure: Literal["latency", "rate", "travel"]
    of: str = ""


class Assignment(Record):
    """An assignment and its rubric.

    Attributes
    ----------
    name : str
        That of the file.
    reference : str
        The scheduler whose orders are right, or whose score is 100.
    device : dict
        Of `elevatorlab.trial.Trial`.
    build : Part
        A module comes out of the build.
    conformity : Conformity
        Where it stops, nothing else is run.
    scenarios : tuple of Scenario
    scored : tuple of Workload
        Of which a score is made, for a leaderboard.
    best_ratio : float
        So many times as good as the reference gets every mark of a scored workload.
    by_hand : tuple of Part
        What a teacher reads and marks.
    """

    name: str
    title: str
    reference: str
    device: dict[str, Any]
    build: Part
    conformity: Conformity
    scenarios: tuple[Scenario, ...] = ()
    scored: tuple[Workload, ...] = ()
    best_ratio: Positive = 1
    by_hand: tuple[Part, ...] = ()

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
    def runs(self) -> tuple[Scenario | Workload, ...]:
        """The parts that are run."""
        return (*self.scenarios, *self.scored)

    @property
    def marks(self) -> int:
        """All marks that the machine gives."""
        return sum(part.marks for part in self.parts)

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts that the machine marks."""
        return (self.build, self.conformity, *self.runs)

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def names() -> list[str]:
    """Return the assignments of the course."""
    return sorted(file.stem for file in COURSE.glob("*/*.yaml"))


def read(name: str) -> Assignment:
    """Read an assignment.

    Parameters
    ----------
    name : str
        One of `names`, or the path of a teacher's own file.

    Raises
    ------
    ElevatorLabError
        When no assignment has this name, or when the file is no valid assignment.
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
