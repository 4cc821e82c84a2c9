"""Testbeds: where trials run. Each is imported when it is first asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from ..errors import ElevatorLabError
from ..extras import MissingExtra
from ..plugins.testbeds import (
    ADDRESSES,
    DEFAULT,
    SSH,
    SSH_PAIR,
    TESTBEDS,
    forms,
    names,
)

if TYPE_CHECKING:
    from .base import Readiness, Testbed

__all__ = ["ADDRESSES", "DEFAULT", "TESTBEDS", "each"]
__all__ += ["findings", "forms", "get", "names", "several"]


def get(name: str, say: Callable[[str], object] = print) -> Testbed:
    """Return the testbed called `name`.

    `name`: One of `names`, or an address. An address ``KIND://...`` goes to the testbed registered
    as KIND, which parses it: ``ssh://...`` (see `elevatorlab.testbeds.remote.ssh.parse`), also with
    a target (`elevatorlab.testbeds.remote.pair`). ``docker+ssh://USER@HOST:PORT`` is the Docker
    engine of another machine: the testbed gets the part after ``+``. ``deterministic?cpus=N`` is
    the default testbed with so many processors for each trial. `say`: The testbed calls it with a
    line before anything that takes long.
    """
    kind, address = _taken_apart(name)
    if kind not in TESTBEDS:
        raise ElevatorLabError(f"testbed: expected one of {', '.join(forms())}; found {name!r}")
    made = TESTBEDS.get(kind)
    try:
        inspect.signature(made).bind(*address, say=say)
    except TypeError:
        form = ADDRESSES.get(kind, f"{kind}://...")
        wanted = "no address" if address else f"an address, {form}"
        raise ElevatorLabError(f"testbed {kind}: expected {wanted}; found {name!r}") from None
    testbed: Testbed = made(*address, say=say)
    return testbed


def _taken_apart(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind of testbed that `name` means, and its address, if any."""
    if name.startswith(f"{DEFAULT}?"):
        return DEFAULT, (name,)
    if "://" not in name:
        return name, ()
    scheme = name.partition("://")[0]
    kind = scheme.partition("+")[0]
    if kind == SSH and "target" in parse_qs(name.partition("?")[2], keep_blank_values=True):
        kind = SSH_PAIR
    return kind, (name.removeprefix(f"{kind}+"),)


def several(listed: str) -> list[Testbed]:
    """Return the testbeds named in a list with commas.

    >>> [testbed.name for testbed in several("deterministic,host")]
    ['deterministic', 'host']
    """
    return [get(name) for name in each(listed)]


def each(listed: str) -> list[str]:
    """Return the names in a list with commas."""
    found = [name.strip() for name in listed.split(",")]
    if twice := [name for name in found if found.count(name) > 1]:
        raise ElevatorLabError(f"testbed: expected each once; found {twice[0]!r} twice")
    return found


def findings(name: str) -> list[Readiness]:
    """Return what a testbed needs and what it can do, and whether each is ready.

    A testbed whose libraries are not installed has one finding, which says so.
    """
    from .base import Readiness

    try:
        testbed = get(name)
    except MissingExtra as problem:
        extra = f"extra {problem.extra}"
        found = f"{problem.module} is not installed"
        return [Readiness(name, extra, found, False, problem.remedy, needed=True)]
    try:
        return list(testbed.findings())
    finally:
        testbed.close()
