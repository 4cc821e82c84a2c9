"""Claim families: what `data/claims/<study>.yaml` says, expanded to one statement a number.

A family says once what a kind of published number is, how it is judged and with what tolerance;
it is expanded over the rows of the study's published tables, so no published number is written
down twice.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec

import pandas as pd
import yaml
from pydantic import ValidationError, model_validator

from ..errors import ElevatorLabError
from ..paths import DATA
from ..records import Record
from .claim import Kind, Role, Source, Threshold, Tolerance

Given = ParamSpec("Given")


class Statement(NamedTuple):
    """A claim that has not been judged yet; `select` says what of the table it is about.

    `stands_on` is the id of the calibration without which it means nothing; empty: there is none.
    """

    judge: str
    select: dict[str, Any]
    published: float | str
    claim: dict[str, Any]
    stands_on: str = ""

    @property
    def role(self) -> Role:
        """What the claim is worth as evidence."""
        return Role(self.claim["role"])

    @property
    def number(self) -> float:
        """The published value, of a statement about a number."""
        return float(self.published)

    @property
    def tolerance(self) -> float:
        """How far the measured value may lie from the published one, beyond rounding."""
        chosen: Tolerance | None = self.claim["tolerance"]
        return chosen.value if chosen else 0.0

    @property
    def threshold(self) -> float:
        """The other number that the judge decides by."""
        chosen: Threshold | None = self.claim["threshold"]
        if chosen is None:
            raise ValueError(f"{self.claim['id']}: expected a threshold, found none")
        return chosen.value


class Family(Record):
    """A kind of published number, as a YAML file describes it.

    Attributes
    ----------
    id, quantity : str
        Patterns; `{name}` is filled from the row and from `each`.
    kind : Kind
        Of the quantity.
    judge : str
        Name of the registered function; `formula` says in words what it computes.
    role : Role
        What the claims are worth as evidence. Claims on arithmetic of the document need only the
        published tables; all other claims need a run.
    csv, where : str, dict
        A CSV file of the study's published tables, and which of its rows (all by default).
    each : dict of list
        Further names; the family is expanded over all their combinations.
    column, text, implied : str
        The published value: a column of the row (a pattern), a quoted sentence, or what the
        document's numbers imply, in our words.
    place, row : str
        The source of the published value, if that is not a row of `csv`; patterns.
    datum : str
        The published datum that the claim stands on; a pattern. By default place, row, and column
        or sentence. Claims of one datum are counted as one.
    tolerance, threshold : Tolerance, Threshold
        How far the measured value may lie from the published one beyond rounding (not at all by
        default), and any other number that the judge decides by.
    stands_on : str
        The id, without the study's name, of a calibration that the claims stand on. If the
        calibration is missed, the claims are not testable.
    unit : str
        Of the published value.
    """

    id: str
    quantity: str
    kind: Kind
    judge: str
    formula: str
    role: Role
    datum: str | None = None
    stands_on: str | None = None
    tolerance: Tolerance | None = None
    threshold: Threshold | None = None
    unit: str = ""
    csv: str | None = None
    where: dict[str, list[Any]] = {}
    each: dict[str, list[Any]] = {}
    column: str | None = None
    text: str | None = None
    implied: str | None = None
    place: str | None = None
    row: str = ""

    @model_validator(mode="after")
    def _one_published_value(self) -> Family:
        if sum(one is not None for one in (self.column, self.text, self.implied)) != 1:
            raise ValueError(
                "expected one of `column`, `text` and `implied` as the published value"
            )
        if self.csv is None and (self.place is None or self.column is not None):
            raise ValueError("a family without `csv` needs `place`, and `text` or `implied`")
        return self

    @property
    def words(self) -> str:
        """The published value in words; empty where it is a number."""
        return f"implied: {self.implied}" if self.implied else self.text or ""


class About(Record):
    """Who published a document, when, and where it can be read; empty where it does not say.

    Attributes
    ----------
    authors, venue, published, link : str
        Names with commas between them, where it appeared, its date, and its address.
    """

    authors: str = ""
    venue: str = ""
    published: str = ""
    link: str = ""


class ClaimsFile(Record):
    """The content of `data/claims/<study>.yaml`.

    `headline` is the claim that stands for the whole document, without the study's name; it was
    chosen from the document alone, whatever may be measured of it. `labels` are what a reader calls
    values: in the quantities of claims, and on the report's pages.
    """

    study: str
    document: str
    headline: str = ""
    about: About = About()
    labels: dict[str, str] = {}
    families: list[Family]


def read_once(read: Callable[Given, pd.DataFrame]) -> Callable[Given, pd.DataFrame]:
    """Make a function read each table once, and give every caller a copy.

    pandas copies on write, so nothing is copied for a caller that changes nothing.
    """
    kept = cache(read)

    @wraps(read)
    def table(*args: Given.args, **kwargs: Given.kwargs) -> pd.DataFrame:
        return kept(*args, **kwargs).copy(deep=False)  # type: ignore[arg-type]

    return table


def read_published(study: str, name: str, data: Path = DATA) -> pd.DataFrame:
    """Read one table of a study's published numbers, each row with its source."""
    return _read(data / "published" / study / f"{name}.csv")


@read_once
def _read(path: Path) -> pd.DataFrame:
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
    """Expand a study's claim families over its published tables."""
    path = _claims_path(study, data)
    file = _claims_file(path)
    found = [one for family in file.families for one in _expanded(family, path, file, data)]
    repeated = [name for name, n in Counter(one.claim["id"] for one in found).items() if n > 1]
    if repeated:
        raise ElevatorLabError(f"{path}: expected one claim per id, found several for {repeated}")
    ids = [one.claim["id"] for one in found]
    if file.headline and f"{study}/{file.headline}" not in ids:
        raise ElevatorLabError(
            f"{path}: expected the id of a claim as headline; found {file.headline}"
        )
    calibrations = {one.claim["id"] for one in found if one.role == Role.CALIBRATION}
    if unknown := {one.stands_on for one in found if one.stands_on} - calibrations:
        raise ElevatorLabError(
            f"{path}: expected claims to stand on a calibration, found {sorted(unknown)}: name one "
            f"of {sorted(calibrations)}"
        )
    return found


def about(study: str, data: Path = DATA) -> About:
    """Return who published a study's document; nothing of one whose claims are not in `data`."""
    return _of_any_study(study, data).about


def headline(study: str) -> str:
    """Return the id of the claim that stands for a study's document; "" if none is named."""
    named = _of_any_study(study, DATA).headline
    return f"{study}/{named}" if named else ""


def labels(study: str) -> dict[str, str]:
    """Return what a reader calls the values in a study's claims; nothing of one without a file."""
    return _of_any_study(study, DATA).labels


def _of_any_study(study: str, data: Path) -> ClaimsFile:
    """Return a study's claims; none of a study that has no file."""
    path = _claims_path(study, data)
    if path.is_file():
        return _claims_file(path)
    return ClaimsFile(study=study, document="", families=[])


def _claims_path(study: str, data: Path) -> Path:
    return data / "claims" / f"{study}.yaml"


@cache
def _claims_file(path: Path) -> ClaimsFile:
    # The parser in C is ten times as fast, where PyYAML was built with it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        return ClaimsFile.model_validate(content)
    except OSError as problem:
        raise ElevatorLabError(
            f"{path}: expected a study's claim families; found: {problem.strerror}"
        ) from None
    except yaml.YAMLError as problem:
        found = " ".join(str(problem).split())
        raise ElevatorLabError(f"{path}: expected YAML; found: {found}") from None
    except ValidationError as error:
        raise ElevatorLabError(f"{path} does not describe claim families: {error}") from None


def _expanded(family: Family, path: Path, file: ClaimsFile, data: Path) -> list[Statement]:
    try:
        return list(_expand(family, file, data))
    except KeyError as unknown:
        raise ElevatorLabError(
            f"{path}: family {family.id}: expected a column of its table, or a name in `each`; "
            f"found {unknown}"
        ) from None
    except (ValueError, IndexError) as problem:
        raise ElevatorLabError(
            f"{path}: family {family.id}: expected patterns with {{name}}; found: {problem}"
        ) from None


def _expand(family: Family, file: ClaimsFile, data: Path) -> Iterable[Statement]:
    rows: list[dict[Any, Any]] = [{}]
    if family.csv:
        table = read_published(file.study, family.csv, data)
        for column, wanted in family.where.items():
            table = table[table[column].isin(wanted)]
        rows = table.to_dict("records")
    for row, *values in itertools.product(rows, *family.each.values()):
        names = {**row, **dict(zip(family.each, values, strict=True))}
        called = {name: file.labels.get(str(value), value) for name, value in names.items()}
        published = row[family.column.format_map(names)] if family.column else family.words
        source = Source(
            document=row.get("document", file.document),
            place=row.get("table") or (family.place or "").format_map(names),
            row=str(row.get("row", family.row.format_map(names))),
        )
        yield Statement(
            judge=family.judge,
            select=names,
            published=published,
            claim={
                "id": f"{file.study}/" + _slug(family.id.format_map(names)),
                "study": file.study,
                "source": source,
                "role": family.role,
                "datum": _datum(family, source, names),
                "quantity": _quantity(family.quantity.format_map(called)),
                "kind": family.kind,
                "published": published,
                "quoted": family.text is not None,
                "unit": family.unit,
                "formula": " ".join(family.formula.format_map(names).split()),
                "tolerance": family.tolerance,
                "threshold": family.threshold,
            },
            stands_on=f"{file.study}/{family.stands_on}" if family.stands_on else "",
        )


def _quantity(filled: str) -> str:
    """Write a filled pattern as one would say it: singular or plural, and no name twice.

    Examples
    --------
    >>> _quantity("commits with cfq and 1 thread(s), here cfq"), _quantity("8 thread(s), here bfq")
    ('commits with cfq and 1 thread', '8 threads, here bfq')
    >>> _quantity("the winner, with cfq for cfq"), _quantity("the winner, with bfq for cfq")
    ('the winner', 'the winner, with bfq for cfq')
    """
    text = " ".join(filled.split())
    text = re.sub(r"\b1 ((?:equal )?\w+)\(s\)", r"1 \1", text).replace("(s)", "s")
    text = re.sub(r", with (\S+) for \1\b", "", text)
    named = re.search(r", here (\S+)", text)
    if named and re.search(rf"\b(?<!-){re.escape(named[1])}\b", text[: named.start()]):
        text = text[: named.start()] + text[named.end() :]
    return text


def _datum(family: Family, source: Source, names: dict[str, Any]) -> str:
    if family.datum:
        return family.datum.format_map(names)
    where = family.column.format_map(names) if family.column else family.words
    return f"{source}: {where}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9/._-]+", "-", text.lower())
