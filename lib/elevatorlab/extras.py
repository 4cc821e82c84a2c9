"""Which modules the package's extras bring, and the error if an extra is missing."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

from .errors import ElevatorLabError

#: Matches a requirement of an extra in a package's metadata: "fabric; extra == 'remote'".
_OF_AN_EXTRA = re.compile(r"^([A-Za-z0-9._-]+).*;.*extra == ['\"]([a-z]+)['\"]")

#: Extras for users. Each other extra combines these, or is for developers of the package.
_FOR_USERS = ("remote", "cluster", "notebooks")


class MissingExtra(ElevatorLabError):
    """A used part of the package needs an extra that is not installed.

    `extra`, `module`: The extra, and the missing module that it brings.
    """

    def __init__(self, extra: str, module: str) -> None:
        self.extra, self.module = extra, module
        super().__init__(
            f"expected the extra `{extra}`, which brings {module}; found it missing. {self.remedy}"
        )

    @property
    def remedy(self) -> str:
        """How to install the extra."""
        return f"Install it: pip install 'elevatorlab[{self.extra}]'"


def missing(problem: BaseException) -> MissingExtra | None:
    """Return the error to raise if an import failed because an extra is missing; None otherwise."""
    if not isinstance(problem, ModuleNotFoundError) or not problem.name:
        return None
    module = problem.name.partition(".")[0]
    extra = _extras().get(module.lower())
    return MissingExtra(extra, module) if extra else None


def _extras() -> dict[str, str]:
    """Return the extra of each module. Each module of our extras is named like its package."""
    try:
        wanted = requires("elevatorlab") or []
    except PackageNotFoundError:  # run from its source files, without an installation
        return {}
    found = [match.groups() for line in wanted if (match := _OF_AN_EXTRA.match(line))]
    return {name.lower().replace("-", "_"): extra for name, extra in found if extra in _FOR_USERS}
