"""The studies: ours, and those of other packages or of a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .registry import OURS, Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ..records import Record


class Study(Protocol):
    """What every study is: a package, or any object, with these members.

    Attributes
    ----------
    NAME, TITLE : str
        The study's name in commands, and its title for people.
    NUMBER : int
        The place of the study among ours. A study of another package needs no number, and comes
        after ours.
    Parameters : type
        Pydantic model of what a user may choose.
    PRESETS : dict
        The parameters that differ from their defaults, by preset.
    COLUMNS, ORDER : list of str
        The tidy table's columns, and the columns by which the table is sorted.
    VARIATIONS : dict
        Optional. Parameters, by the name of the variation, that change the machine which the study
        assumes (`elevatorlab.running.variations`).
    TABLE : Table
        Optional. What each column of the tidy table is (`elevatorlab.results.tidy_columns`). The
        tidy table is checked against `TABLE`, and the data dictionary is made from it. `COLUMNS`
        are the names in `TABLE`.

    Examples
    --------
    >>> get("innodb_commit").TITLE
    'I/O schedulers seriously revisited: rows inserted into InnoDB per second'
    """

    NAME: str
    TITLE: str
    Parameters: type[Record]
    PRESETS: dict[str, dict[str, Any]]
    COLUMNS: list[str]
    ORDER: list[str]

    def trials(self, parameters: Any) -> list[Any]:
        """Return the trials that the parameters stand for."""

    def rows(self, trial: Mapping[str, Any], result: Mapping[str, Any]) -> Any:
        """Yield the study's own columns of the tidy table, one dictionary per row."""

    def judge(self, measured: pd.DataFrame) -> list[Any]:
        """Return the claims with their verdicts."""

    def published(self) -> Any:
        """Return the published table that the figures show."""

    def figures(self, published: Any, measured: pd.DataFrame) -> dict[str, Any]:
        """Return the figures with their captions, by name."""

    def overview_table(self, measured: pd.DataFrame) -> tuple[str, pd.DataFrame]:
        """Return a caption and a small table of the measured data."""

    def tables(self, measured: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
        """Return all small tables, each with its caption."""


def place(study: Any) -> float:
    """Return a study's sort key: its number, or infinity if it has no number."""
    return getattr(study, "NUMBER", float("inf"))


#: Every study that is installed or was registered; ours first, in the order of their numbers.
STUDIES: Registry[Any] = Registry("study", "elevatorlab.studies", order=place)


def ours() -> list[Any]:
    """Return this package's own studies: the reference and the artifact contain only these."""
    return [study for name, study in STUDIES.items() if is_ours(name)]


def is_ours(name: str) -> bool:
    """Tell whether this package brings a study; nothing is imported."""
    package = STUDIES.package(name)
    return package is not None and package.name == OURS


def get(name: str) -> Any:
    """Return the study called `name`."""
    return STUDIES.get(name)
