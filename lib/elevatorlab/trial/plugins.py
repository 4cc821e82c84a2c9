"""Which plug-ins a trial uses: they belong to its hash, as everything that decides its result."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ElevatorLabError
from ..plugins import far_side
from ..plugins.kinds import DEVICES, POLICIES, WORKLOADS
from ..plugins.profiles import PROFILES
from ..plugins.registry import OURS, Registry
from ..plugins.schedulers import SCHEDULERS
from ..plugins.studies import STUDIES
from ..records import Record

if TYPE_CHECKING:
    from .trial import Trial

REGISTRIES: dict[str, Registry[Any]] = {
    "device": DEVICES,
    "policy": POLICIES,
    "profile": PROFILES,
    "scheduler": SCHEDULERS,
    "study": STUDIES,
    "workload": WORKLOADS,
}


class Plugin(Record):
    """Something that another package, or a notebook, has brought.

    A trial names those that it uses; a bundle names its studies, too.

    Attributes
    ----------
    kind, name : str
        What it is, and how the registry calls it.
    package, version : str
        Who brings it; empty for what a call of `register` has added.
    digest : str
        SHA-256 over its module here and its files for the far side.
    """

    kind: Literal["device", "policy", "profile", "scheduler", "study", "workload"]
    name: str
    package: str = ""
    version: str = ""
    digest: str

    def __str__(self) -> str:
        brought = f"package {self.package} {self.version}" if self.package else "a notebook"
        return f"the {self.kind} {self.name} of {brought} (digest {self.digest[:12]})"


def installed(kind: str, name: str) -> Plugin | None:
    """Return an installed plug-in; None if none is installed, or if the agent already has it.

    What is ours is in the agent, unless it names a far side of its own. A scheduler that comes as
    a folder is none: a trial names its sources (`trial.modules`).
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

    Of a record these are its values; of a model the file that it is defined in (its schema, where
    a notebook defines it) and the files for the far side; of a study its whole package.
    """
    if is_dataclass(entry) and not isinstance(entry, type):
        return hashlib.sha256(json.dumps(asdict(entry), sort_keys=True).encode()).hexdigest()
    parts = _files_of_model(entry) if isinstance(entry, type) else _files_of_study(entry)
    found = hashlib.sha256()
    for name, content in parts:
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def _files_of_study(study: Any) -> list[tuple[str, bytes]]:
    """Return all files of a study's package, data among them; none of one without a package."""
    if not (file := getattr(study, "__file__", None)):
        return []
    folder = Path(file).parent
    return [
        (each.relative_to(folder).as_posix(), each.read_bytes())
        for each in sorted(folder.rglob("*"))
        if each.is_file() and "__pycache__" not in each.parts
    ]


def _files_of_model(model: Any) -> list[tuple[str, bytes]]:
    """Return the file that defines a model, or its schema, and its files for the far side."""
    file = getattr(sys.modules[model.__module__], "__file__", None)
    if file and model.__module__ != "__main__":
        near = Path(file).read_bytes()
    else:
        near = json.dumps(model.model_json_schema(), sort_keys=True).encode()
    far = sorted(far_side.files(model.agent).items()) if model.agent else []
    return [("", near), *far]


def used_by(trial: Trial) -> tuple[Plugin, ...]:
    """Return the plug-ins that a trial uses, each once; ours are no plug-ins."""
    found = dict.fromkeys(_parts(trial))
    plugins = (installed(kind, name) for kind, name in sorted(found))
    return tuple(plugin for plugin in plugins if plugin is not None)


def _parts(trial: Trial) -> Iterator[tuple[str, str]]:
    yield "device", trial.device.kind
    for device in (trial.device, getattr(trial.device, "backing", None)):
        if profile := getattr(device, "profile", None):
            yield "profile", profile
    yield "scheduler", trial.scheduler.name
    if trial.backing_scheduler:
        yield "scheduler", trial.backing_scheduler
    if trial.regulator:
        yield "policy", trial.regulator.policy
    for workload in trial.workloads:
        yield "workload", workload.kind


def lacking(plugins: Iterable[Plugin]) -> str:
    """Say which plug-ins are not here as somebody names them; "" if none."""
    return "; ".join(sentence for one in plugins if (sentence := _lacking(one)))


def _lacking(plugin: Plugin) -> str:
    found = installed(plugin.kind, plugin.name)
    if found == plugin:
        return ""
    remedy = "Run the notebook that registers it"
    if plugin.package:
        remedy = f"Install {plugin.package}=={plugin.version}"
    return f"expected {plugin}; found {found or 'none of that name'}. {remedy}"
