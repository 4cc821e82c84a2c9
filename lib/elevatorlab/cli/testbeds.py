"""Commands about the testbeds: what they can do here, and what killed runs left on them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Annotated

import typer

from ..plugins import testbeds as registered
from .base import EXIT_ERROR, JsonOption, TestbedOption, app, console


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
    from .. import testbeds
    from ..plugins.packages import of_others
    from . import doctor_tables

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
            console().print(doctor_tables.details(some))
    else:
        console().print(doctor_tables.overview(findings))
        for line in (*doctor_tables.gaps(findings), *doctor_tables.packages(of_others())):
            console().print(line)
    asked_for = findings if testbed else {testbeds.DEFAULT: findings[testbeds.DEFAULT]}
    if any(one.needed and not one.ready for some in asked_for.values() for one in some):
        raise typer.Exit(EXIT_ERROR)


@app.command()
def clean(testbed: TestbedOption = "host") -> None:
    """Undo what killed runs left behind on a testbed's machine: devices, schedulers, VMs."""
    from .. import testbeds

    for where in testbeds.several(testbed):
        print(f"{where.name}: {where.clean()}")
        where.close()
