"""The scheduler that is checked: its module, and what the kernel says of it."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import memory
from .failure import Broken


@dataclass(frozen=True)
class Scheduler:
    """The scheduler that is checked, and the files of its module."""

    #: The kernel's name of the scheduler.
    name: str
    #: The scheduler's kernel module.
    file: Path
    #: Names of the tunables and counters that ``scheduler.json`` promises.
    files: tuple[str, ...]
    #: The modules of the kernel's own schedulers, by the scheduler's name. None: that scheduler is
    #: always there.
    others: Mapping[str, str | None]
    #: The memory that was in use before the module was loaded for the first time.
    before: memory.Snapshot

    @property
    def module(self) -> str:
        """The kernel's name of the module."""
        return self.file.stem.replace("-", "_")

    @property
    def folder(self) -> Path:
        """The module's folder in sysfs, which exists while the module is loaded."""
        return Path("/sys/module", self.module)

    @property
    def references(self) -> int:
        """Number of references to the module, after up to 2 s for late ones to be given back."""
        for _ in range(20):
            number = int((self.folder / "refcnt").read_text())
            if not number:
                break
            time.sleep(0.1)
        return number

    def load(self) -> None:
        """Load the module."""
        run = subprocess.run(["insmod", str(self.file)], capture_output=True, text=True)
        if run.returncode:
            raise Broken(f"The module does not load: {self._why(run.stderr)}.")

    def _why(self, said: str) -> str:
        log = subprocess.run(["dmesg"], capture_output=True, text=True).stdout
        symbols = re.findall(r"Unknown symbol (\S+)", log)
        if symbols:
            return f"the kernel has no symbol {', '.join(dict.fromkeys(symbols))} for modules"
        return said.strip().rsplit(": ", 1)[-1]

    def unload(self) -> None:
        """Unload the module; no disk may use it."""
        if self.references:
            raise Broken(
                f"References to the module are left ({self.references}) though no disk uses it: a "
                "kobject_get or try_module_get without its put."
            )
        run = subprocess.run(["rmmod", self.module], capture_output=True, text=True)
        if run.returncode:
            raise Broken(f"The module does not unload: {run.stderr.strip()}.")
