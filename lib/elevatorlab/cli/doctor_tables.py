"""What `elevatorlab doctor` shows in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Column, Table

from ..testbeds.base import alike

if TYPE_CHECKING:
    from ..testbeds.base import Readiness

READY, MISSING = "[green]yes[/]", "[red]no[/]"


def overview(findings: Mapping[str, Sequence[Readiness]]) -> Table:
    """Return a table of what is ready and what is missing, with a column per testbed."""
    table = Table("", *findings)
    names = dict.fromkeys(f.what for some in findings.values() for f in some)
    for name in names:
        ready = {t: f.ready for t, some in findings.items() for f in some if f.what == name}
        cells = [{True: READY, False: MISSING, None: ""}[ready.get(t)] for t in findings]
        table.add_row(name, *cells)
    return table


def gaps(findings: Mapping[str, Sequence[Readiness]]) -> Iterator[str]:
    """Yield a line for each gap, with its remedy; gaps with the same remedy share a line."""
    for testbed, some in findings.items():
        for missing, found, remedy in alike(some):
            yield f"[red]{testbed}, {missing}:[/] {found}; {remedy}"


def packages(brought: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a line for each package of others: what it adds to this laboratory."""
    for package, entries in brought.items():
        yield f"plug-in {package}: {', '.join(entries)}"


def details(findings: Sequence[Readiness]) -> Table:
    """Return a table of one testbed's findings."""
    testbed = Column("testbed", no_wrap=True)  # a shortened address may be that of another
    table = Table(testbed, "what", "what for", "found", "", "what to do")
    for f in findings:
        table.add_row(
            f.testbed, f.what, f.sentence, f.found, READY if f.ready else MISSING, f.remedy
        )
    return table
