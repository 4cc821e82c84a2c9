"""Schedulers that users write: a folder with C sources, a Kbuild and ``scheduler.json``.

These schedulers are built for the deterministic machine's kernel, and run only there
(docs/elevators.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, field_validator, model_validator
from pydantic_core import PydanticCustomError

from ..errors import ElevatorLabError
from ..paths import ENVIRONMENTS, command
from ..records import Record, checked
from . import module_folders
from .schedulers import OF_THE_KERNEL, SCHEDULERS, SchedulerRecord

RECORD = "scheduler.json"

#: Markers of matplotlib that are one character, and visible. A test compares them with
#: matplotlib's own.
MARKERS = "ov^<>sp*hHDdPX8+x1234|_.,"


def _text(pattern: str, expected: str) -> BeforeValidator:
    """Return a validator that accepts texts that match `pattern`; its error says `expected`."""

    def checked_text(given: object) -> str:
        if isinstance(given, str) and re.fullmatch(pattern, given):
            return given
        raise PydanticCustomError("text", "expected {expected}", {"expected": expected})

    return BeforeValidator(checked_text)


#: The kernel's name of a scheduler, which also serves as the name of a file and of an option.
#: ELV_NAME_MAX is 16, with the final zero byte.
KernelName = Annotated[
    str,
    _text("[a-z][a-z0-9_-]{0,14}", "a small letter, and up to 14 small letters, digits, - and _"),
]
_Module = Annotated[
    str, _text("[A-Za-z0-9][A-Za-z0-9_-]{0,54}", "at most 55 letters, digits, - and _")
]
_File = Annotated[
    str, _text("[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}", "the name of a file, without a path")
]
_Label = Annotated[str, _text(".{0,24}", "a text of at most 24 letters")]
_Colour = Annotated[str, _text("(#[0-9A-Fa-f]{6})?", "a colour such as #117733")]
_Marker = Annotated[
    str, _text(f"[{re.escape(MARKERS)}]?", f"a marker of matplotlib's, one of {' '.join(MARKERS)}")
]

REMEDY = "take the deterministic testbed, the only one where code of somebody's own runs"


class Description(Record):
    """The fields of ``scheduler.json``; see `elevatorlab.plugins.schedulers.SchedulerRecord`."""

    name: KernelName
    module: _Module = ""
    tunables: _File | None = "iosched"
    signature: _File | None = None
    counters: tuple[_File, ...] = ()
    weight_files: dict[str, _File] = {}
    label: _Label = ""
    colour: _Colour = ""
    marker: _Marker = ""
    source: str = "another project"

    @model_validator(mode="before")
    @classmethod
    def _has_these_fields(cls, content: Any) -> Any:
        expected = f"expected an object with some of the fields {', '.join(cls.model_fields)}"
        if not isinstance(content, Mapping):
            raise ValueError(f'{expected}, such as {{"name": "mine"}}; found {content!r}')
        if unknown := [field for field in content if field not in cls.model_fields]:
            raise ValueError(f"{expected}; found {unknown[0]!r}")
        return content

    @field_validator("name")
    @classmethod
    def _is_not_the_kernel_s(cls, name: str) -> str:
        if name in OF_THE_KERNEL:
            raise ValueError(
                f"expected a name that is not the kernel's; found {name!r}. Choose another"
            )
        return name


def read(path: Path | str) -> SchedulerRecord:
    """Read the folder of a scheduler; the record that is returned has the sources as ``folder``."""
    path = Path(path).resolve()
    file = path / RECORD
    if not file.is_file():
        raise ElevatorLabError(f"{path}: expected the folder of a scheduler; {_lacking(path)}")
    try:
        content = json.loads(file.read_text())
    except ValueError as problem:
        raise ElevatorLabError(f"{file}: expected JSON; found {problem}") from None
    told = checked(Description, content, str(file)).model_dump()
    module = told["module"] = told["module"] or _module_of(told["name"])
    record = SchedulerRecord(**told, remedy=REMEDY)
    agents = json.dumps(record.for_the_agent(), sort_keys=True).encode()
    # The fields that the agent gets decide a result; how figures draw the scheduler does not.
    return replace(record, folder=module_folders.read(path, module, {RECORD: agents}))


def _lacking(path: Path) -> str:
    """Say why a path is not the folder of a scheduler, and what to do."""
    begin = f"Begin a new one: {command('scheduler new mine')}"
    if not path.exists():
        return f"found no such folder. {begin}"
    if not path.is_dir():
        return f"found a file. {begin}"
    code = _text_of(path, "*.c")
    modules = module_folders.made_in(_text_of(path, "Kbuild", "Makefile"))
    if not code and not modules:
        return f"found no {RECORD} in it. {begin}"
    found = re.search(r'\.elevator_name\s*=\s*"([^"]+)"', code)
    told = {"name": found[1] if found else "NAME"}
    if modules and modules[0] != _module_of(told["name"]):
        told["module"] = modules[0]
    return f"found sources without a {RECORD}. It needs one line: {json.dumps(told)}"


def _text_of(path: Path, *names: str) -> str:
    """Return the text of the files of a folder whose names match."""
    files = sorted(file for name in names for file in path.glob(name) if file.is_file())
    return "\n".join(file.read_text(errors="replace") for file in files)


def _module_of(name: str) -> str:
    """Return the default name of a scheduler's module."""
    return f"{name}-iosched"


def named(given: str) -> str | Path:
    """Return `given`, if it is the name of a known scheduler, or else the path of a folder."""
    if given not in SCHEDULERS:
        if "/" not in given and not Path(given).exists():
            raise ElevatorLabError(
                f"scheduler: expected one of {', '.join(SCHEDULERS.names())}, or a folder; "
                f"found {SCHEDULERS.with_successor(given)}"
            )
        return Path(given)
    known = SCHEDULERS.get(given).folder
    if Path(given, RECORD).is_file() and (known is None or not known.path.samefile(given)):
        raise ElevatorLabError(
            f"scheduler: expected a name or a folder; {given!r} is both here. "
            f"Write ./{given} for the folder, or go elsewhere for the scheduler of that name"
        )
    return given


def folder_of(given: str) -> Path:
    """Return the folder of a scheduler by its name, or by its path."""
    known = named(given)
    if isinstance(known, Path):
        return known
    folder = SCHEDULERS.get(known).folder
    if folder is None:
        raise ElevatorLabError(
            f"scheduler: expected a folder, or the name of a scheduler that has one; {given!r} "
            "has no sources here"
        )
    return folder.path


def write(record: SchedulerRecord, path: Path) -> None:
    """Write the files of a scheduler, as they were when they were read, to a new folder."""
    assert record.folder is not None
    told = {name: getattr(record, name) for name in Description.model_fields}
    files = {**record.folder.files, RECORD: (json.dumps(told, indent=1) + "\n").encode()}
    path.mkdir(parents=True)
    for name, content in files.items():
        (path / name).write_bytes(content)


def register(path: Path | str) -> SchedulerRecord:
    """Make a folder's scheduler known for as long as this process runs.

    A folder that was changed is registered again by the same call.
    """
    record = read(path)
    anew = record.name in SCHEDULERS and SCHEDULERS.get(record.name).folder is not None
    return SCHEDULERS.register(record.name, record, anew)


def records_in(folder: Path) -> dict[str, SchedulerRecord]:
    """Return the schedulers whose folders are in `folder`, by name, for an entry point."""
    found = [read(file.parent) for file in sorted(folder.glob(f"*/{RECORD}"))]
    return {record.name: record for record in found}


#: Ours, written from published descriptions (environments/kernel/schedulers).
ZOO = records_in(ENVIRONMENTS / "kernel" / "schedulers")
