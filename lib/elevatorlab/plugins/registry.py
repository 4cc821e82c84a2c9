"""A registry: names, the entry of each, and the package that brings it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, NamedTuple, TypeVar

from .. import extras
from ..errors import ElevatorLabError

T = TypeVar("T")

#: This package, whose entries come first.
OURS = "elevatorlab"


class Package(NamedTuple):
    """The package that brings an entry."""

    name: str
    version: str


def _anything(name: str, entry: object, package: Package | None) -> str:
    """Accept any entry."""
    return ""


class Registry(Generic[T]):
    """The entries of one kind that installed packages, and calls of `register`, have added.

    An entry is imported when it is first asked for, so that listing names costs nothing.

    Parameters
    ----------
    kind : str
        What messages call an entry: "study".
    group : str
        The group of entry points in which packages name their entries: "elevatorlab.studies".
    order : callable, optional
        Sort key for the entries of `items`; by default they have the order of `names`.
    collections : bool
        Whether an entry point names a mapping of entries by name, not one entry. This is for
        entries that are data, of which a package may bring many.
    check : callable, optional
        Called with the name, the entry and its package (None: a call of `register`) before an
        entry is accepted. Returns why the entry is not of this kind, or "".
    former : mapping, optional
        Names that many still know, and the entry that has their place today.

    Examples
    --------
    >>> drinks = Registry("drink", "mine.drinks")
    >>> drinks.register("tea", "hot")
    'hot'
    >>> drinks.names()
    ['tea']
    """

    def __init__(
        self,
        kind: str,
        group: str,
        order: Callable[[T], Any] | None = None,
        collections: bool = False,
        check: Callable[[str, T, Package | None], str] = _anything,
        former: Mapping[str, str] | None = None,
    ) -> None:
        self.kind, self.group = kind, group
        self._former = former or {}
        self._order, self._collections, self._check = order, collections, check
        self._known: dict[str, T] = {}
        self._waiting: dict[str, EntryPoint] | None = None
        self._packages: dict[str, Package] = {}

    def register(self, name: str, entry: T, anew: bool = False) -> T:
        """Add an entry for as long as this process runs.

        Parameters
        ----------
        name : str
        entry : object
        anew : bool
            Replace the entry that was registered under this name, which keeps its place in the
            order.

        Raises
        ------
        ElevatorLabError
            When the name is taken by another entry, or the entry is not of this kind.
        """
        taken = self._known.get(name, entry) is not entry and not anew
        if name in self._installed() or taken:
            raise ElevatorLabError(
                f"{self.kind}: expected a name that is not taken; found {name!r}. Choose another"
            )
        self._known[name] = self._checked(name, entry, None)
        return entry

    def unregister(self, name: str) -> None:
        """Remove an entry that `register` added."""
        if name not in self._installed():
            self._known.pop(name, None)

    @contextmanager
    def standing_in(self, name: str, entry: T) -> Iterator[None]:
        """Let `name` stand for `entry` while the context is open, even if the name is taken."""
        self._installed()  # loads collections, whose entries must outlast the context
        before = {name: self._known[name]} if name in self._known else {}
        self._known[name] = entry
        try:
            yield
        finally:
            # Only this name is reset: another thread of a cluster's worker may use other names.
            self._known.update(before)
            if not before:
                del self._known[name]

    def names(self) -> list[str]:
        """Return the names of all entries: ours, those of other packages, those registered."""
        return list(dict.fromkeys([*self._installed(), *self._known]))

    def get(self, name: str) -> T:
        """Return the entry called `name`.

        Raises
        ------
        ElevatorLabError
            When there is no such entry (the message lists all names), or when it cannot be
            imported, or is not of this kind.
        """
        installed = self._installed()
        if name not in self._known:
            if name not in installed:
                raise ElevatorLabError(
                    f"{self.kind}: expected one of {', '.join(self.names())}; found "
                    f"{self.with_successor(name)}"
                )
            entry = self._load(installed[name])
            self._known[name] = self._checked(name, entry, self.package(name))
        return self._known[name]

    def with_successor(self, name: str) -> str:
        """Return a name that is refused, in quotes, and what to take instead if that is known."""
        today = self._former.get(name)
        return repr(name) + (f", whose place {today!r} has today" if today else "")

    def package(self, name: str) -> Package | None:
        """Return the package that brings an entry; None for an entry that `register` added."""
        point = self._installed().get(name)
        if point is None or point.dist is None:
            return None
        # Kept, since a distribution reads its metadata from disk each time that it is asked.
        if name not in self._packages:
            self._packages[name] = Package(point.dist.name, point.dist.version)
        return self._packages[name]

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield every name with its entry, in the registry's order; this imports them all."""
        pairs = [(name, self.get(name)) for name in self.names()]
        if self._order is not None:
            order = self._order
            pairs.sort(key=lambda pair: order(pair[1]))
        yield from pairs

    def values(self) -> list[T]:
        """Return every entry, in the registry's order; this imports them all."""
        return [entry for _, entry in self.items()]

    def __contains__(self, name: object) -> bool:
        return name in self._installed() or name in self._known

    def __len__(self) -> int:
        return len(self.names())

    def _checked(self, name: str, entry: T, package: Package | None) -> T:
        if why := self._check(name, entry, package):
            raise ElevatorLabError(f"{self.kind} {name!r}: {why}")
        return entry

    def _installed(self) -> dict[str, EntryPoint]:
        """Return the entry point behind each name that packages bring."""
        if self._waiting is None:
            waiting: dict[str, EntryPoint] = {}
            for point in sorted(entry_points(group=self.group), key=_ours_first):
                for name in self._names_at(point):
                    if name in waiting:
                        raise ElevatorLabError(
                            f"{self.kind} {name!r}: expected one package to bring it; found "
                            f"{_named(waiting[name])} and {_named(point)}. Uninstall one of them"
                        )
                    waiting[name] = point
            self._waiting = waiting
        return self._waiting

    def _names_at(self, point: EntryPoint) -> list[str]:
        if not self._collections:
            return [point.name]
        entries = self._load(point)
        for name in entries:
            self._known.setdefault(name, entries[name])
        return list(entries)

    def _load(self, point: EntryPoint) -> Any:
        try:
            return point.load()
        except Exception as problem:
            if extra := extras.missing(problem):
                raise extra from None
            raise ElevatorLabError(
                f"{self.kind} {point.name!r}: expected {_named(point)} to bring it; importing "
                f"{point.value} ended with {type(problem).__name__}: {problem}. Mend or uninstall "
                "that package"
            ) from problem


def _ours_first(point: EntryPoint) -> tuple[bool, str]:
    return _named(point) != OURS, point.name


def _named(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value
