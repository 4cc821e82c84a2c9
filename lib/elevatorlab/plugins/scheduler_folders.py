"""Schedulers that somebody writes: a folder with C sources, a Kbuild and ``scheduler.json``.

They are built for the deterministic machine's kernel and run there alone (docs/elevators.md).
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..errors import ElevatorLabError
from ..paths import ENVIRONMENTS, command
from ..records import Record, checked
from . import module_folders
from .schedulers import SCHEDULERS, SchedulerRecord

RECORD = "scheduler.json"

#: The kernel's, as a name of a file and of an option: ELV_NAME_MAX is 16, with the last zero.
KernelName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,14}$")]
_Module = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,54}$")]
_File = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}$")]

REMEDY = "take the deterministic testbed, the only one where code of somebody's own runs"


class Description(Record):
    """What ``scheduler.json`` says; see `elevatorlab.plugins.schedulers.SchedulerRecord`."""

    name: KernelName
    module: _Module = ""
    tunables: _File | None = "iosched"
    signature: _File | None = None
    counters: tuple[_File, ...] = ()
    weight_files: dict[str, _File] = {}
    label: Annotated[str, Field(max_length=24)] = ""
    colour: Annotated[str, Field(pattern=r"^(#[0-9A-Fa-f]{6})?$")] = ""
    marker: Annotated[str, Field(max_length=1)] = ""
    source: str = "another project"


def read(path: Path | str) -> SchedulerRecord:
    """Read the folder of a scheduler; its record has the sources as ``folder``.

    Parameters
    ----------
    path : Path or str

    Raises
    ------
    ElevatorLabError
        When it is no such folder, in one sentence.
    """
    path = Path(path).resolve()
    file = path / RECORD
    if not file.is_file():
        raise ElevatorLabError(
            f"{path}: expected the folder of a scheduler, with {RECORD}; found none. "
            f"Make one: {command('scheduler new')}"
        )
    try:
        content = json.loads(file.read_text())
    except ValueError as problem:
        raise ElevatorLabError(f"{file}: expected JSON; found {problem}") from None
    told = checked(Description, content, str(file)).model_dump()
    module = told["module"] = told["module"] or f"{told['name']}-iosched"
    record = SchedulerRecord(**told, remedy=REMEDY)
    agents = json.dumps(record.for_the_agent(), sort_keys=True).encode()
    # What the agent is told decides a result; how figures draw it does not.
    return replace(record, folder=module_folders.read(path, module, {RECORD: agents}))


def write(record: SchedulerRecord, path: Path) -> None:
    """Write the folder of a scheduler, as it was when it was read, to a new folder."""
    assert record.folder is not None
    told = {name: getattr(record, name) for name in Description.model_fields}
    files = {**record.folder.files, RECORD: (json.dumps(told, indent=1) + "\n").encode()}
    path.mkdir(parents=True)
    for name, content in files.items():
        (path / name).write_bytes(content)


def register(path: Path | str) -> SchedulerRecord:
    """Make a folder's scheduler known for as long as this process runs.

    A folder that was changed is registered again by the same call.

    Raises
    ------
    ElevatorLabError
        When it is no such folder, or its name is the kernel's or another package's.
    """
    record = read(path)
    if record.name in SCHEDULERS and SCHEDULERS.get(record.name).folder is not None:
        SCHEDULERS.unregister(record.name)
    return SCHEDULERS.register(record.name, record)


def records_in(folder: Path) -> dict[str, SchedulerRecord]:
    """Return the schedulers whose folders are in `folder`, by name, as an entry point has them."""
    found = [read(file.parent) for file in sorted(folder.glob(f"*/{RECORD}"))]
    return {record.name: record for record in found}


#: Ours, written from published descriptions (environments/kernel/schedulers).
ZOO = records_in(ENVIRONMENTS / "kernel" / "schedulers")
