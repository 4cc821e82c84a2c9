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
        Its name in commands, and its title for people.
    NUMBER : int
        Its place among ours; one of another package needs none, and comes after them.
    Parameters : type
        Pydantic model of what a user may choose.
    PRESETS : dict
        By preset: the parameters that differ from their defaults.
    COLUMNS, ORDER : list of str
        The tidy table's columns, and those that it is sorted by.
    VARIATIONS : dict
        Where there is one: by name, parameters that make another machine of the one that the
        study assumes (`elevatorlab.running.sensitivity`).
    TABLE : Table
        Where there is one, what each column is (`elevatorlab.results.tables`): the table is held
        against it, and the data dictionary is made of it. `COLUMNS` are its names.
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
        """Yield the study's own columns of the tidy table, a dictionary a row."""

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
    """Return where a study comes among the others: its number, and after ours without one."""
    return getattr(study, "NUMBER", float("inf"))


#: Every study that is installed or was registered; ours first, in the order of their numbers.
STUDIES: Registry[Any] = Registry("study", "elevatorlab.studies", order=place)


def ours() -> list[Any]:
    """Return this package's own studies: the reference and the artifact have these alone."""
    return [study for name, study in STUDIES.items() if is_ours(name)]


def is_ours(name: str) -> bool:
    """Tell whether this package brings a study; nothing is imported."""
    package = STUDIES.package(name)
    return package is not None and package.name == OURS


def get(name: str) -> Any:
    """Return the study called `name`."""
    return STUDIES.get(name)
