"""The plug-ins that a trial uses. Like all that decides its result, they belong to its hash."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import ElevatorLabError
from ..plugins import shipped_files
from ..plugins.profiles import PROFILES
from ..plugins.registry import OURS, Registry
from ..plugins.schedulers import SCHEDULERS
from ..plugins.studies import STUDIES
from ..plugins.testbeds import TESTBEDS
from ..plugins.trial_parts import DEVICES, POLICIES, WORKLOADS
from ..records import Record

REGISTRIES: dict[str, Registry[Any]] = {
    "device": DEVICES,
    "policy": POLICIES,
    "profile": PROFILES,
    "scheduler": SCHEDULERS,
    "study": STUDIES,
    "testbed": TESTBEDS,
    "workload": WORKLOADS,
}


class Plugin(Record):
    """An entry of a registry that the agent does not contain, such as another package's.

    A trial names the plug-ins that it uses; a bundle also names its studies, and a result's
    provenance its testbed.

    Attributes
    ----------
    kind, name : str
        The registry that has the entry, and the entry's name there.
    package, version : str
        The package that brings the entry; empty if a call of `register` added it.
    digest : str
        SHA-256 over what the plug-in consists of (`digest`).
    """

    kind: Literal["device", "policy", "profile", "scheduler", "study", "testbed", "workload"]
    name: str
    package: str = ""
    version: str = ""
    digest: str

    def __str__(self) -> str:
        brought = f"package {self.package} {self.version}" if self.package else "a notebook"
        return f"the {self.kind} {self.name} of {brought} (digest {self.digest[:12]})"


def installed(kind: str, name: str) -> Plugin | None:
    """Return an installed plug-in; None if no such entry is installed, or if it is no plug-in.

    This package's own entries are no plug-ins if the agent contains their part beside the disk. A
    scheduler that comes as a folder is no plug-in either: the trial names its sources as a kernel
    module (`trial.kernel_modules`).
    """
    registry = REGISTRIES[kind]
    if name not in registry:
        return None
    package = registry.package(name)
    entry = registry.get(name)
    if package is not None and package.name == OURS and not getattr(entry, "agent", ""):
        return None
    if kind == "scheduler" and entry.folder is not None:
        return None  # its sources are named as a module of the trial
    brought = {"package": package.name, "version": package.version} if package else {}
    try:
        found = digest(entry)
    except ElevatorLabError as problem:
        raise ElevatorLabError(f"{kind} {name}: {problem}") from None
    return Plugin(kind=kind, name=name, digest=found, **brought)


def digest(entry: Any) -> str:
    """Return the SHA-256 over what a plug-in consists of.

    A record consists of its values. A model, or a testbed, consists of the file that defines it (of
    its schema, or its source, if a notebook defines it) and of its files for the far side, the
    machine under test. A study consists of its whole package.
    """
    if is_dataclass(entry) and not isinstance(entry, type):
        return hashlib.sha256(json.dumps(asdict(entry), sort_keys=True).encode()).hexdigest()
    parts = _files_of_class(entry) if isinstance(entry, type) else _files_of_study(entry)
    found = hashlib.sha256()
    for name, content in parts:
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def _files_of_study(study: Any) -> list[tuple[str, bytes]]:
    """Return all files of a study's package, data included; no files without a package."""
    if not (file := getattr(study, "__file__", None)):
        return []
    folder = Path(file).parent
    return [
        (each.relative_to(folder).as_posix(), each.read_bytes())
        for each in sorted(folder.rglob("*"))
        if each.is_file() and "__pycache__" not in each.parts
    ]


def _files_of_class(entry: Any) -> list[tuple[str, bytes]]:
    """Return what defines a model or a testbed, and its files for the far side."""
    file = getattr(sys.modules[entry.__module__], "__file__", None)
    if file and entry.__module__ != "__main__":
        near = Path(file).read_bytes()
    elif hasattr(entry, "model_json_schema"):
        near = json.dumps(entry.model_json_schema(), sort_keys=True).encode()
    else:
        near = inspect.getsource(entry).encode()
    agent = getattr(entry, "agent", "")
    far = sorted(shipped_files.files(agent).items()) if agent else []
    return [("", near), *far]


def among(entries: Iterable[tuple[str, str]]) -> tuple[Plugin, ...]:
    """Return the plug-ins among entries, each a kind and a name (see `installed`); each once."""
    plugins = (installed(kind, name) for kind, name in sorted(set(entries)))
    return tuple(plugin for plugin in plugins if plugin is not None)


def lacking(plugins: Iterable[Plugin]) -> str:
    """Say which plug-ins are missing here, or differ from those that are named; "" if all match."""
    return "; ".join(sentence for one in plugins if (sentence := _lacking(one)))


def _lacking(plugin: Plugin) -> str:
    found = installed(plugin.kind, plugin.name)
    if found == plugin:
        return ""
    remedy = "Run the notebook that registers it"
    if plugin.package:
        remedy = f"Install {plugin.package}=={plugin.version}"
    return f"expected {plugin}; found {found or 'none of that name'}. {remedy}"
