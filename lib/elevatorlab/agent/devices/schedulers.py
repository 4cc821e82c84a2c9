"""Select the I/O scheduler of a device, set its tunables, and prove both."""

from __future__ import annotations

import json
import pathlib
import pkgutil
import re
from typing import TYPE_CHECKING

from ..errors import AgentError, KnobFailed
from .modules import BROUGHT, load_module

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..lifecycle.journal import Journal
    from ..lifecycle.proofs import Proofs

#: What is known of each scheduler, by the kernel's name (see `plugins.schedulers`): ours, and
#: those of the trial's plug-ins once they are loaded.
RECORDS: dict[str, dict[str, Any]] = json.loads(
    pkgutil.get_data(__name__.rpartition(".")[0], "schedulers.json") or ""
)

#: Set beside the scheduler's own tunables; `rotational` says whether the disk turns.
OF_THE_QUEUE = ("nr_requests", "rotational")


def module(name: str) -> str | None:
    """Return the kernel module of a scheduler; None where there is none, or nobody knows it."""
    return RECORDS.get(name, {}).get("module")


def counters() -> list[str]:
    """Return the names of the counters that schedulers keep beside their tunables."""
    return [name for record in RECORDS.values() for name in record["counters"]]


def weight_files(version: int) -> list[str]:
    """Return the files of cgroups of this version by which schedulers weigh groups."""
    files = (record["weight_files"].get(str(version)) for record in RECORDS.values())
    return [file for file in files if file]


def selected(text: str) -> str:
    """Return the bracketed name of a ``queue/scheduler`` file.

    >>> selected("first [second] third")
    'second'
    """
    match = re.search(r"\[(.+?)\]", text)
    return match.group(1) if match else text.strip()


def offered(device: str) -> list[str]:
    """Return the schedulers that the kernel offers for `device` now."""
    text = pathlib.Path("/sys/class/block", device, "queue/scheduler").read_text()
    return text.replace("[", "").replace("]", "").split()


def select(
    device: str, scheduler: Mapping[str, Any], journal: Journal | None, proofs: Proofs
) -> None:
    """Switch `device` to the trial's scheduler and set the scheduler's tunables."""
    name = scheduler["name"]
    needed = module(name)
    if needed and name not in offered(device):
        # The kernel's own may stay; what the trial brings goes with it.
        load_module(needed, journal=journal if needed in BROUGHT else None)
    if name not in offered(device):
        raise AgentError(
            f"the kernel does not offer scheduler {name!r} for {device}; "
            f"it offers {', '.join(offered(device))}"
        )
    queue = pathlib.Path("/sys/class/block", device, "queue")
    proofs.set(queue / "scheduler", name, journal, read_as=selected)
    proofs.records[-1]["probe"] = _probe(queue, name)
    for tunable, value in scheduler.get("tunables", {}).items():
        folder = queue if tunable in OF_THE_QUEUE else _tunables(queue, name)
        proofs.set(folder / tunable, value, journal)


def _tunables(queue: pathlib.Path, name: str) -> pathlib.Path:
    """Return the folder of a scheduler's tunables, also of one that should have none."""
    return queue / (RECORDS.get(name, {}).get("tunables") or "iosched")


def _probe(queue: pathlib.Path, name: str) -> str:
    """Look for the tunables that only the running scheduler's code can have made."""
    folder = _tunables(queue, name)
    tunables = sorted(file.name for file in folder.iterdir()) if folder.exists() else []
    record = RECORDS.get(name, {})
    signature = record.get("signature")
    has_none = bool(record) and record["tunables"] is None
    if (signature and signature not in tunables) or (has_none and tunables):
        raise KnobFailed(folder, f"tunables of {name}", " ".join(tunables) or "nothing")
    return "tunables: " + (" ".join(tunables) or "none, as expected without a scheduler")
