"""Published number -> verdict: the engine that every study's claims go through.

`data/claims/<study>.yaml` holds *families*. A family says once what a kind of published
number is, how it is judged and with what tolerance; it is expanded over the rows of the
study's published tables, so no published number is written down twice. The functions that
judge are registered by the study, in `studies/<study>/claims.py`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from elevatorlab.analysis.intervals import Interval
from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import DATA

PUBLISHED_DATA = "published data"
"""The testbed of claims that the document alone can settle."""


class Verdict(StrEnum):
    """What a claim can come to; see idea 6 of the design."""

    REPRODUCED = "reproduced"
    DIRECTION_ONLY = "direction only"
    CONTRADICTED = "contradicted"
    NOT_TESTABLE = "not testable here"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Strict):
    """Where a published number stands: document, table or figure, row."""

    document: str
    place: str
    row: str

    def __str__(self) -> str:
        return ", ".join(part for part in (self.place, self.row) if part)


class Claim(_Strict):
    """One published number or sentence with its verdict on one testbed.

    Attributes
    ----------
    id, study, source, quantity, unit : str, str, Source, str, str
        What was published, and where.
    published, measured : float or str
        The printed value and the one that it is held against, both in `unit`; `measured`
        is None where there is none.
    formula : str
        How `measured` is computed.
    tolerance : float
        What is allowed beyond rounding; `formula` says in which unit.
    testbed, preset : str
        Where it was judged; "published data" and "" for claims about the document itself.
    verdict, reason : Verdict, str
        The outcome and why, in words.
    """

    id: str
    study: str
    source: Source
    quantity: str
    published: float | str
    unit: str
    formula: str
    tolerance: float
    testbed: str
    preset: str
    measured: float | str | None
    verdict: Verdict
    reason: str

    @field_validator("measured")
    @classmethod
    def _no_nan(cls, measured):
        return None if isinstance(measured, float) and math.isnan(measured) else measured


class Finding(NamedTuple):
    """What a judging function returns."""

    verdict: Verdict
    measured: float | str | None
    reason: str


class Statement(NamedTuple):
    """A claim that has not been judged yet; `select` says what of the table it is about."""

    judge: str
    judged_on: str
    select: dict[str, Any]
    published: float | str
    claim: dict[str, Any]


Judge = Callable[[Statement, pd.DataFrame], Finding]


class Family(_Strict):
    """A kind of published number, as a YAML file describes it.

    Attributes
    ----------
    id, quantity : str
        Patterns; `{name}` is filled from the row and from `each`.
    judge : str
        Name of the registered function; `formula` says in words what it computes.
    judged_on : {"document", "measurement"}
        Whether the published tables suffice, or a run is needed.
    rows, where : str, dict
        A CSV file of the study's published tables, and which of its rows (all by default).
    each : dict of list
        Further names; the family is expanded over all their combinations.
    column, text : str
        The published value: a column of the row (a pattern), or a quoted sentence.
    place, row : str
        The source where it is not a row of `rows`; patterns.
    tolerance, unit : float, str
        What is allowed beyond rounding, and the unit of the published value.
    """

    id: str
    quantity: str
    judge: str
    formula: str
    judged_on: Literal["document", "measurement"]
    tolerance: float
    unit: str = ""
    rows: str | None = None
    where: dict[str, list[Any]] = {}
    each: dict[str, list[Any]] = {}
    column: str | None = None
    text: str | None = None
    place: str | None = None
    row: str = ""

    @model_validator(mode="after")
    def _one_published_value(self) -> Family:
        if (self.column is None) == (self.text is None):
            raise ValueError("expected either `column` or `text` as the published value")
        if self.rows is None and (self.place is None or self.column is not None):
            raise ValueError("a family without `rows` needs `text` and `place`")
        return self


class ClaimsFile(_Strict):
    """The content of `data/claims/<study>.yaml`."""

    study: str
    document: str
    families: list[Family]


def read_published(study: str, name: str, data: Path = DATA) -> pd.DataFrame:
    """Read one table of a study's published numbers, each row with its source.

    Parameters
    ----------
    study : str
        For example "vm_vs_container".
    name : str
        File name without ".csv".
    data : Path
        The repository's `data` folder.
    """
    path = data / "published" / study / f"{name}.csv"
    if not path.is_file():
        there = sorted(found.stem for found in path.parent.glob("*.csv"))
        raise ElevatorLabError(
            f"expected the published table {path}, found {there or 'no tables'}: "
            "run from a complete checkout of the repository"
        )
    table = pd.read_csv(path)
    missing = {"document", "table", "row"} - set(table.columns)
    if missing:
        raise ElevatorLabError(f"{path} has no column {sorted(missing)}: each row names its source")
    return table


def statements(study: str, data: Path = DATA) -> list[Statement]:
    """Expand a study's claim families over its published tables.

    Raises
    ------
    ElevatorLabError
        When the YAML file has an unknown or missing field, or two claims share an id.
    """
    path = data / "claims" / f"{study}.yaml"
    try:
        file = ClaimsFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise ElevatorLabError(f"{path} does not describe claim families: {error}") from None
    found = [one for family in file.families for one in _expand(family, file, data)]
    repeated = [name for name, n in Counter(one.claim["id"] for one in found).items() if n > 1]
    if repeated:
        raise ElevatorLabError(f"{path}: expected one claim per id, found several for {repeated}")
    return found


def _expand(family: Family, file: ClaimsFile, data: Path) -> Iterable[Statement]:
    rows: list[dict] = [{}]
    if family.rows:
        table = read_published(file.study, family.rows, data)
        for column, wanted in family.where.items():
            table = table[table[column].isin(wanted)]
        rows = table.to_dict("records")
    for row, *values in itertools.product(rows, *family.each.values()):
        names = {**row, **dict(zip(family.each, values, strict=True))}
        published = row[family.column.format_map(names)] if family.column else family.text
        yield Statement(
            judge=family.judge,
            judged_on=family.judged_on,
            select=names,
            published=published,
            claim={
                "id": f"{file.study}/" + _slug(family.id.format_map(names)),
                "study": file.study,
                "source": Source(
                    document=row.get("document", file.document),
                    place=row.get("table") or family.place.format_map(names),
                    row=str(row.get("row", family.row.format_map(names))),
                ),
                "quantity": " ".join(family.quantity.format_map(names).split()),
                "published": published,
                "unit": family.unit,
                "formula": " ".join(family.formula.format_map(names).split()),
                "tolerance": family.tolerance,
            },
        )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9/._-]+", "-", text.lower())


def judge(
    items: Sequence[Statement], judges: Mapping[str, Judge], measured: pd.DataFrame
) -> list[Claim]:
    """Give every statement its verdict: about the document once, else per testbed and preset.

    Parameters
    ----------
    items : sequence of Statement
        From `statements`.
    judges : mapping
        The study's judging functions by name. Each sees the rows of one testbed and preset.
    measured : pandas.DataFrame
        Tidy table with the columns `testbed` and `preset`; may be empty.

    Returns
    -------
    list of Claim
        In the order of the statements; nothing is left out.
    """
    unknown = {item.judge for item in items} - set(judges)
    if unknown:
        raise ValueError(f"expected judges {sorted(judges)}, found {sorted(unknown)} in the claims")
    document = [(PUBLISHED_DATA, "", measured.iloc[:0])]
    grouped = measured.groupby(["testbed", "preset"], observed=True)
    runs = [(testbed, preset, table) for (testbed, preset), table in grouped] or document
    found = []
    for item in items:
        for testbed, preset, table in document if item.judged_on == "document" else runs:
            if item.judged_on == "measurement" and table.empty:
                finding = Finding(
                    Verdict.NOT_TESTABLE, None, "Published data alone: nothing was measured."
                )
            else:
                finding = judges[item.judge](item, table)
            found.append(Claim(testbed=testbed, preset=preset, **item.claim, **finding._asdict()))
    return found


def compare(
    measured: Interval,
    published: tuple[float, float],
    *,
    neutral: float,
    margin: float,
    allowed: tuple[float, float] | None = None,
) -> tuple[Verdict, str]:
    """Hold an estimate against a published range.

    *Reproduced*: the whole interval lies in the allowed range. *Direction only*: it does not,
    but is on the published side of `neutral`. *Contradicted*: it is on the other side, or
    wholly outside the allowed range. Where the repetitions decide none of this, or there
    is only one, *not testable here*: imprecision never reproduces anything.

    Parameters
    ----------
    measured : Interval
        The estimate.
    published : tuple of float
        Range that rounding leaves to the published value.
    neutral, margin : float
        "No difference", and the smallest difference that counts; see `Interval.direction`.
    allowed : tuple of float
        `published` widened by the tolerance; `published` itself by default.

    Returns
    -------
    Verdict, str
        The verdict, and its reason as the end of a sentence.
    """
    low, high = allowed or published
    claimed = 1 if published[0] > neutral else -1 if published[1] < neutral else 0
    if not measured.bounded:
        return Verdict.NOT_TESTABLE, "one repetition does not decide it"
    side = measured.direction(neutral, margin)
    if side is not None and side == -claimed != 0:
        return Verdict.CONTRADICTED, "the opposite direction"
    if low <= measured.low and measured.high <= high:
        return Verdict.REPRODUCED, "the whole interval is within the allowed range"
    if side is not None and side == claimed != 0:
        return Verdict.DIRECTION_ONLY, "the same direction, another size"
    if measured.low > high or measured.high < low:
        return Verdict.CONTRADICTED, "the interval excludes the allowed range"
    return Verdict.NOT_TESTABLE, "the repetitions do not decide it"


def ordering(pairs: Mapping[str, tuple[Interval, bool]], margin: float) -> tuple[Verdict, str]:
    """Judge a claimed order from the ratio slower/faster of each pair that it names.

    Parameters
    ----------
    pairs : mapping of str to (Interval, bool)
        For each pair, by a name such as "bfq / none": the measured ratio, which the
        document says is above 1, and whether the interval excludes the published ratio.
    margin : float
        The smallest relative difference that counts.

    Returns
    -------
    Verdict, str
        The verdict, and one clause for each pair.
    """
    words = {1: "as published", -1: "the other way round", 0: "a tie", None: "undecided"}
    sides = {name: ratio.direction(1, margin) for name, (ratio, _) in pairs.items()}
    reason = "; ".join(
        f"{name} = {ratio.text()}: {words[sides[name]]}" for name, (ratio, _) in pairs.items()
    )
    values = list(sides.values())
    if -1 in values:
        return Verdict.CONTRADICTED, reason
    if all(side == 1 for side in values):
        return Verdict.REPRODUCED, reason
    if 1 in values:
        return Verdict.DIRECTION_ONLY, reason
    if all(sides[name] == 0 and excluded for name, (_, excluded) in pairs.items()):
        return Verdict.CONTRADICTED, reason
    return Verdict.NOT_TESTABLE, reason


def to_json(claims: Iterable[Claim]) -> list[dict]:
    """Return claims as plain objects, for `elevatorlab claims --json`."""
    return [claim.model_dump(mode="json") for claim in claims]


def to_frame(claims: Iterable[Claim]) -> pd.DataFrame:
    """Return claims as a table with one row a claim and testbed; source as one text."""
    rows = [{**claim.model_dump(mode="json"), "source": str(claim.source)} for claim in claims]
    return pd.DataFrame(rows, columns=list(Claim.model_fields))


def verdict_counts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """Count the verdicts, in the order of `Verdict`, zeros included."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in Verdict}


def is_measured(claim: Claim) -> bool:
    """Tell whether a claim was held against a testbed, not against its own document."""
    return claim.testbed != PUBLISHED_DATA


def summary(claims: Sequence[Claim]) -> str:
    """Say in one line how many claims came to which verdict, arithmetic and measured apart.

    Examples
    --------
    >>> summary([])
    '0 claims.'
    """
    parts = [f"{len(claims)} claim{'' if len(claims) == 1 else 's'}."]
    for title, measured in (("The documents' own arithmetic", False), ("Measured", True)):
        some = [claim for claim in claims if is_measured(claim) == measured]
        if some:
            counts = ", ".join(f"{n} {verdict}" for verdict, n in verdict_counts(some).items())
            parts.append(f"{title}: {counts}.")
    return " ".join(parts)
