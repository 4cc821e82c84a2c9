"""The files of a plug-in that travel with a trial to the far side, the machine under test.

They are not part of the agent's own archive, because every deterministic result depends on that
archive's digest. Installing a plug-in must not change the reference results.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ..errors import ElevatorLabError


class _NotThere(Exception):
    """A module has no file that could travel; the text says why."""


def files(target: str) -> dict[str, bytes]:
    """Return a plug-in's files for the far side, by their names in the archive.

    For a module in a package, all modules of its folder and of the folders below travel, so that
    it may have helpers. Each package around it travels as an empty ``__init__.py``, because what
    the real one imports is not on the far side.
    """
    module, separator, name = target.partition(":")
    try:
        if not (module and separator and name):
            raise _NotThere("it is not of that form")
        source = _source(module)
    except _NotThere as why:
        raise ElevatorLabError(
            "agent: expected 'module:name' of a module that can be imported here, in Python; "
            f"found {target!r} ({why}). Mend the attribute `agent` of the model"
        ) from None
    *packages, last = module.split(".")
    if not packages:
        return {f"{last}.py": source.read_bytes()}
    inside = PurePosixPath(*packages)
    found = {
        str(inside / file.relative_to(source.parent).as_posix()): file.read_bytes()
        for file in sorted(source.parent.rglob("*.py"))
    }
    around = [PurePosixPath(*packages[:depth]) for depth in range(1, len(packages) + 1)]
    return {**found, **{str(package / "__init__.py"): b"" for package in around}}


def _source(module: str) -> Path:
    try:
        spec = find_spec(module)
    except ImportError as problem:
        raise _NotThere(str(problem)) from None
    if spec is None:
        raise _NotThere(f"No module named {module!r}")
    if spec.origin is None or not spec.origin.endswith(".py"):
        raise _NotThere(f"{spec.origin or module} is no file of Python")
    return Path(spec.origin)
