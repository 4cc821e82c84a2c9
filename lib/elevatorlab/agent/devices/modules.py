"""Kernel modules and commands: what the agent's devices are made with."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..lifecycle.journal import retried, undoes

if TYPE_CHECKING:
    from ..lifecycle.journal import Journal

#: Modules that the trial brings along, by name: what the kernel loads (`lifecycle.plugin_archive`).
BROUGHT: dict[str, bytes] = {}


def load_module(name: str, *options: str, journal: Journal | None = None) -> None:
    """Load a kernel module; say so in one sentence if the kernel has none of that name.

    With a journal, the module is unloaded afterwards, unless it was loaded before.
    """
    if journal is not None and not loaded(name):
        journal.will("unload_module", name)
    if name in BROUGHT:
        return _insert(name, BROUGHT[name], options)
    run = subprocess.run(["modprobe", name, *options], capture_output=True, text=True)
    if run.returncode:
        kernel = pathlib.Path("/proc/sys/kernel/osrelease").read_text().strip()
        raise AgentError(
            f"kernel {kernel} has no module {name} ({run.stderr.strip()}); "
            "use a kernel that has it, or leave it out of the trial"
        )


def _insert(name: str, content: bytes, options: tuple[str, ...]) -> None:
    """Load a module that the trial brings along."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, f"{name}.ko")
        file.write_bytes(content)
        run = subprocess.run(["insmod", str(file), *options], capture_output=True, text=True)
    if run.returncode:
        said = subprocess.run(["dmesg", "--notime"], capture_output=True, text=True).stdout
        reason = run.stderr.strip().rpartition(": ")[2]
        last = "; ".join(said.splitlines()[-3:])
        raise AgentError(f"the kernel does not load module {name} ({reason}); it says: {last}")


@undoes("unload_module")
def unload(name: str) -> None:
    """Take a module out of the kernel, if it is there."""
    if loaded(name):
        retried(["rmmod", name])


def loaded(name: str) -> bool:
    """Tell whether a module is in the kernel."""
    return pathlib.Path("/sys/module", name.replace("-", "_")).exists()


def run(*argv: str) -> str:
    """Run a command and return what it printed."""
    run = subprocess.run(argv, capture_output=True, text=True)
    if run.returncode:
        raise AgentError(f"{' '.join(argv)} failed: {run.stderr.strip()}")
    return run.stdout.strip()
