"""Pack what is sent with a trial: plug-ins' parts for the machine with the disk, and modules."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..plugins import shipped_files
from ..plugins.schedulers import SCHEDULERS
from ..plugins.trial_parts import POLICIES
from ..trial import kernel_modules
from .agent_archive import EPOCH

if TYPE_CHECKING:
    from ..trial import Trial

#: Names that the agent looks for (agent/lifecycle/plugin_archive.py).
NAME = "plugins.zip"
LIST = "plugins.json"
MODULES = "modules.zip"


def plugin_archive(trial: Trial) -> bytes | None:
    """Return the archive of a trial's plug-ins, or None if the trial uses no plug-in.

    The same plug-ins give the same bytes.
    """
    if not trial.plugins:
        return None
    models: list[tuple[str, str, Any]] = [("device", trial.device.kind, trial.device)]
    models += [("workload", one.kind, one) for one in trial.workloads]
    if trial.regulator:
        policy = trial.regulator.policy
        models.append(("policy", policy, POLICIES.get(policy)))
    names = {one.name for one in trial.plugins if one.kind == "scheduler"}
    return _packed(models, {name: SCHEDULERS.get(name).for_the_agent() for name in names})


def module_archive(trial: Trial, built: Mapping[str, bytes]) -> bytes | None:
    """Return the archive of a trial's kernel modules, or None if the trial has no modules.

    `built`: The built modules by name; empty for a machine that must have them already.
    """
    if not trial.modules:
        return None
    records = {name: SCHEDULERS.get(name) for name in kernel_modules.scheduler_names(trial)}
    told = {name: one.for_the_agent() for name, one in records.items() if one.folder}
    files = {f"{name}.ko": content for name, content in built.items()}
    return _zip({**files, "schedulers.json": json.dumps(told, sort_keys=True).encode()})


def with_plugins(trial: Trial) -> dict[str, bytes]:
    """Return the files that a real machine gets for a trial, by name.

    They contain no kernel module: a real machine loads only modules that its owner has installed.
    """
    return files_of(trial, module_archive(trial, {}))


def files_of(trial: Trial, brought: bytes | None) -> dict[str, bytes]:
    """Return the files that a machine gets for a trial, by name."""
    found = {
        "trial.json": trial.canonical_json().encode(),
        NAME: plugin_archive(trial),
        MODULES: brought,
    }
    return {name: content for name, content in found.items() if content is not None}


def policy_archive() -> bytes | None:
    """Return the archive of all policies from plug-ins, or None if there is no such policy."""
    models = [("policy", name, model) for name, model in POLICIES.items() if model.agent]
    return _packed(models, {}) if models else None


def _packed(models: Iterable[tuple[str, str, Any]], records: dict[str, Any]) -> bytes:
    told: dict[str, dict[str, Any]] = {"scheduler": records} if records else {}
    files: dict[str, bytes] = {}
    for kind, name, model in models:
        if model.agent:
            told.setdefault(kind, {})[name] = model.agent
            files.update(shipped_files.files(model.agent))
    files[LIST] = json.dumps(told, sort_keys=True).encode()
    return _zip(files)


def _zip(files: Mapping[str, bytes]) -> bytes:
    """Return an archive; the same files give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), files[name])
    return content.getvalue()
