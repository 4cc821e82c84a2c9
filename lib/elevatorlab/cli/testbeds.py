"""Commands about the testbeds: what they can do here, and what killed runs left on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..plugins import testbeds as registered
from .base import EXIT_ERROR, JsonOption, TestbedOption, app, console

if TYPE_CHECKING:
    from rich.table import Column, Table

    from ..testbeds.base import Readiness

#: Width up to which the name of a testbed stays in one line: addresses are easily confused.
WHOLE = 32

READY, MISSING = "[green]yes[/]", "[red]no[/]"


@app.command()
def doctor(
    testbed: Annotated[
        str | None,
        typer.Option(help=f"show this testbed in detail; one of {', '.join(registered.forms())}"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what each testbed can do on this machine, and what is missing.

    Exit status 0: the testbed that was named, or else the default one, can run trials.
    """
    from rich.markup import escape

    from .. import testbeds
    from ..testbeds.base import alike

    asked = testbeds.each(testbed) if testbed else testbeds.names()
    # Two testbeds of one kind differ in their addresses.
    addresses = {name: name.partition("?")[0] if "://" in name else name for name in asked}
    findings = {
        address: [replace(one, testbed=address) for one in testbeds.findings(name)]
        for name, address in addresses.items()
    }
    if as_json:
        every = [one for some in findings.values() for one in some]
        print(json.dumps([{**asdict(one), "sentence": one.sentence} for one in every], indent=1))
    elif testbed:
        for some in findings.values():
            console().print(_details(some))
    else:
        console().print(_overview(findings))
        for name, some in findings.items():
            for missing, found, remedy in alike(some):  # one line for all with the same remedy
                said = escape(f"{found}; {remedy}")
                _tell(f"[red]{escape(f'{name}, {missing}')}:[/] {said}")
        for package, entries in _of_others().items():
            _tell(f"plug-in {package}: {', '.join(entries)}")
    asked_for = findings if testbed else {testbeds.DEFAULT: findings[testbeds.DEFAULT]}
    if any(one.needed and not one.ready for some in asked_for.values() for one in some):
        raise typer.Exit(EXIT_ERROR)


def _of_others() -> dict[str, list[str]]:
    """Return the plug-ins ("KIND NAME") that each other package brings, by "PACKAGE VERSION"."""
    from ..plugins import drives, profiles, registry, schedulers, studies, trial_parts

    registries: tuple[registry.Registry[Any], ...] = (
        *(studies.STUDIES, schedulers.SCHEDULERS, trial_parts.DEVICES, profiles.PROFILES),
        *(drives.DRIVES, trial_parts.WORKLOADS, trial_parts.POLICIES, registered.TESTBEDS),
    )
    found: dict[str, list[str]] = {}
    for one in registries:
        for name in one.names():
            package = one.package(name)
            if package is not None and package.name != registry.OURS:
                found.setdefault(" ".join(package), []).append(f"{one.kind} {name}")
    return found


def _tell(line: str) -> None:
    """Print a line, folded at the console's width: 80 columns in a pipe."""
    console().print(line, soft_wrap=False, overflow="fold")


def _overview(findings: Mapping[str, Sequence[Readiness]]) -> Table:
    """Return a table of what is ready and what is missing, with a column per testbed."""
    from rich.markup import escape
    from rich.table import Table

    table = Table("", *(_folded(escape(name)) for name in findings))
    names = dict.fromkeys(f.what for some in findings.values() for f in some)
    for name in names:
        ready = {t: f.ready for t, some in findings.items() for f in some if f.what == name}
        cells = [{True: READY, False: MISSING, None: ""}[ready.get(t)] for t in findings]
        table.add_row(name, *cells)
    return table


def _details(findings: Sequence[Readiness]) -> Table:
    """Return a table of one testbed's findings."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(*map(_folded, ("testbed", "what", "what for", "found", "", "what to do")))
    table.columns[0].min_width = min(max(len(f.testbed) for f in findings), WHOLE)
    for f in findings:
        told = map(escape, (f.testbed, f.what, f.sentence, f.found))
        table.add_row(*told, READY if f.ready else MISSING, escape(f.remedy))
    return table


def _folded(header: str) -> Column:
    """Return a column that breaks what is too long for it: a shortened address may be another's."""
    from rich.table import Column

    return Column(header, overflow="fold")


@app.command()
def clean(testbed: TestbedOption = "host") -> None:
    """Undo what killed runs left behind on a testbed's machine: devices, schedulers, VMs."""
    from .. import testbeds

    for where in testbeds.several(testbed):
        print(f"{where.name}: {where.clean()}")
        where.close()
