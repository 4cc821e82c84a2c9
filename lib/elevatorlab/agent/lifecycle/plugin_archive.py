"""What comes beside a trial that names it: plug-ins' parts for the far side, kernel modules."""

from __future__ import annotations

import importlib
import json
import pathlib
import sys
import zipfile
from typing import TYPE_CHECKING

from ..devices import block_device, modules, schedulers
from ..errors import AgentError
from ..regulator.catalogue import POLICIES
from ..workloads import KINDS

if TYPE_CHECKING:
    from typing import Any

#: Beside ``trial.json``: modules, and the list of what they bring.
ARCHIVE = "plugins.zip"
LIST = "plugins.json"

#: The same for kernel modules, and the list of the schedulers among them.
MODULES = "modules.zip"
SCHEDULERS = "schedulers.json"

#: Where each kind of thing is looked up by its name.
PLACES: dict[str, dict[str, Any]] = {
    "workload": KINDS,
    "device": block_device.MAKERS,
    "policy": POLICIES,
}


def load(archive: str | pathlib.Path) -> None:
    """Make what an archive brings known, as if it were the agent's own.

    Its list has, by kind and name, ``"module:name"``, or a scheduler's record.
    """
    archive = pathlib.Path(archive)
    if not archive.exists():
        raise AgentError(f"the trial uses plug-ins; expected {archive}, which brings them")
    with zipfile.ZipFile(archive) as content:
        told = json.loads(content.read(LIST))
    sys.path.insert(0, str(archive))
    schedulers.RECORDS.update(told.pop("scheduler", {}))
    for kind, targets in told.items():
        for name, target in targets.items():
            PLACES[kind][name] = _import(kind, name, target)


def load_modules(archive: str | pathlib.Path) -> None:
    """Make the kernel modules of an archive known, and the schedulers that they are."""
    with zipfile.ZipFile(archive) as content:
        schedulers.RECORDS.update(json.loads(content.read(SCHEDULERS)))
        files = [pathlib.PurePath(name) for name in content.namelist()]
        brought = {file.stem: content.read(str(file)) for file in files if file.suffix == ".ko"}
    modules.BROUGHT.update(brought)


def _import(kind: str, name: str, target: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError) as problem:
        version = ".".join(map(str, sys.version_info[:2]))
        raise AgentError(
            f"the plug-in {kind} {name}: expected {target} to be importable beside the disk, by "
            f"Python {version} with its standard library and the agent alone; found "
            f"{type(problem).__name__}: {problem}"
        ) from None
