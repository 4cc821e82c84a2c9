"""A claim: one published number or sentence, what judged it, and its verdict."""

from __future__ import annotations

import math
from datetime import date
from enum import StrEnum
from typing import Literal

from pydantic import field_validator

from ..records import Record
from .comparison import Comparison
from .matching import label
from .verdicts import Verdict

PUBLISHED_DATA = "published data"
"""The testbed of claims that the document alone can settle."""

UNMEASURED = "nothing measured"
"""The testbed of claims that need a measurement where there is none."""


class Source(Record):
    """Where a published number stands: document, table or figure, row."""

    document: str
    place: str
    row: str

    def __str__(self) -> str:
        return ", ".join(part for part in (self.place, self.row) if part)


class Role(StrEnum):
    """What a claim is worth as evidence; see the words of the design.

    A *prediction* is compared with a measurement that nothing was fitted to. A *calibration* is met
    because the simulated device was set from it, or from what it follows from. An *identity* holds
    whatever a scheduler does: the time of a read goes with its size, and the wait in a full queue
    with its depth (Little's law). What the document alone settles is its *arithmetic*. And what the
    document did not have (another driver, disk, scheduler or state of the cache) is *beyond* it.
    """

    PREDICTION = "prediction"
    CALIBRATION = "calibration"
    IDENTITY = "identity"
    ARITHMETIC = "arithmetic of the document"
    BEYOND = "beyond the document"


class Kind(StrEnum):
    """What kind of quantity a claim is about: decides which values are possible, as a share's."""

    SHARE = "share"
    RATIO = "ratio"
    TIME = "time"
    RATE = "rate"
    COUNT = "count"
    RANK = "rank"
    ORDER = "order"
    TEXT = "text"


class Chosen(Record):
    """A number that decides about verdicts and was published by nobody.

    Attributes
    ----------
    value : float
    reason : str
        Why that much.
    fixed : date
        Of the commit since which it has this value.
    """

    value: float
    reason: str
    fixed: date


class Tolerance(Chosen):
    """How far a measured value may lie from the published one, beyond rounding.

    Attributes
    ----------
    of : {"share", "unit"}
        Whether it is a share of the published value, or in its unit.
    """

    of: Literal["share", "unit"]

    def __str__(self) -> str:
        size = f"{self.value:.2g} of the value" if self.of == "share" else f"{self.value:g}"
        return f"tolerance {size}, fixed {self.fixed}: {self.reason}"


class Threshold(Chosen):
    """Any other number that a judge decides by; `of` says what it is."""

    of: str

    def __str__(self) -> str:
        return f"{self.value:g} {self.of}, fixed {self.fixed}: {self.reason}"


class Constant(Chosen):
    """A number in the code that several judges decide by; `name` is what the code calls it."""

    name: str
    of: str

    def __str__(self) -> str:
        return f"{self.name}, {self.value:g} {self.of}, fixed {self.fixed}: {self.reason}"


class Claim(Record):
    """One published number or sentence with its verdict on one testbed.

    Attributes
    ----------
    id, study, source, quantity, kind, unit : str, str, Source, str, Kind, str
        What was published, and where.
    published, measured : float or str
        The printed value and what was measured, both in `unit`. `measured` is None where no value
        could be found.
    quoted : bool
        Whether `published` are the document's own words, not a number or what numbers imply.
    relative_to : str
        What the published and the measured value are divided by before they are compared, as a
        simulated disk has another speed than the document's; empty where they are compared as they
        are. `compared` has the ratios.
    role, datum : Role, str
        What the claim is worth as evidence, and the published datum that it rests on.
    formula : str
        How the compared value is computed: `measured`, or its ratio.
    tolerance, threshold : Tolerance, Threshold
        The numbers chosen to judge the claim by; None where the claim needs no such number.
    constants : tuple of Constant
        The numbers in the code that decided the claim, in addition to `constants.SHARED`.
    testbed, machine, preset : str
        The run that the claim was judged on, with "+" between the testbeds of one machine. Without
        a run, `testbed` is `PUBLISHED_DATA` or `UNMEASURED`, and the other two are empty.
    verdict, reason : Verdict, str
        The outcome and why, in words.
    p_value, p_adjusted : float
        The verdict's p-value (see `verdicts.Evidence`), as it is and adjusted among all claims of
        the same study, run and role (see `multiple_testing.adjust`). None without any scatter.
    repetitions_to_decide, repetitions : int
        How many repetitions would decide an undecided claim, and how many the weakest test rests
        on; see `verdicts.Evidence`.
    ground : str
        Of a claim that is not testable: the part of the reason that other claims may share.
        Otherwise empty.
    compared : tuple of Comparison
        The estimates that the verdict rests on, each with the published range.
    cell, reference_cell : str
        The measurements that the verdict rests on; see `verdicts.Judgement`.
    shared_with : tuple of str
        The other claims of this run that rest on the same measurement.

    Examples
    --------
    A study makes its claims itself, from its statements and a tidy table:

    >>> from elevatorlab.plugins import studies
    >>> from elevatorlab.results import store
    >>> claims = studies.get("innodb_commit").judge(store.load("innodb_commit", "published"))
    >>> claims[0].unit
    '1/s'
    """

    id: str
    study: str
    source: Source
    role: Role
    datum: str
    quantity: str
    kind: Kind
    published: float | str
    unit: str
    formula: str
    tolerance: Tolerance | None
    threshold: Threshold | None
    testbed: str
    machine: str
    preset: str
    measured: float | str | None
    verdict: Verdict
    reason: str
    p_value: float | None = None
    p_adjusted: float | None = None
    repetitions_to_decide: int | None = None
    repetitions: int | None = None
    compared: tuple[Comparison, ...] = ()
    quoted: bool = False
    relative_to: str = ""
    ground: str = ""
    cell: str = ""
    reference_cell: str = ""
    shared_with: tuple[str, ...] = ()
    constants: tuple[Constant, ...] = ()

    @property
    def where(self) -> str:
        """The run that the claim was judged on: "docker+host, quick, machine 1a2b3c4d"."""
        return label(self.testbed, self.preset, self.machine)

    @field_validator("measured")
    @classmethod
    def _no_nan(cls, measured: float | str | None) -> float | str | None:
        return None if isinstance(measured, float) and math.isnan(measured) else measured


def is_measured(claim: Claim) -> bool:
    """Tell whether a claim was compared with a measurement, and not with its document alone."""
    return claim.testbed not in (PUBLISHED_DATA, UNMEASURED)
