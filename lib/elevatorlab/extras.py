"""What the package's extras bring, and the sentence where one of them is missing."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

from .errors import ElevatorLabError

#: "fabric; extra == 'remote'", as the metadata of an installed package spell it.
_OF_AN_EXTRA = re.compile(r"^([A-Za-z0-9._-]+).*;.*extra == ['\"]([a-z]+)['\"]")

#: Extras that are for a user; the others gather them, or are for those who change the package.
_FOR_USERS = ("remote", "cluster", "notebooks")


class MissingExtra(ElevatorLabError):
    """A part of the package was used whose libraries are not installed.

    Attributes
    ----------
    extra, module : str
        The extra that brings the module, and the module.
    """

    def __init__(self, extra: str, module: str) -> None:
        self.extra, self.module = extra, module
        super().__init__(
            f"expected the extra `{extra}`, which brings {module}; found it missing. {self.remedy}"
        )

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return f"Install it: pip install 'elevatorlab[{self.extra}]'"


def missing(problem: BaseException) -> MissingExtra | None:
    """Return the error that says which extra brings a module, where an import failed for that."""
    if not isinstance(problem, ModuleNotFoundError) or not problem.name:
        return None
    module = problem.name.partition(".")[0]
    extra = _extras().get(module.lower())
    return MissingExtra(extra, module) if extra else None


def _extras() -> dict[str, str]:
    """Return the extra that brings each module; ours are named like their packages."""
    try:
        wanted = requires("elevatorlab") or []
    except PackageNotFoundError:  # run from its source files, without an installation
        return {}
    found = [match.groups() for line in wanted if (match := _OF_AN_EXTRA.match(line))]
    return {name.lower().replace("-", "_"): extra for name, extra in found if extra in _FOR_USERS}
