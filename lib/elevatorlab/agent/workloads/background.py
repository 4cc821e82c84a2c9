"""What goes on beside what is measured: endless readers and writers, and iostat as a witness."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from ..errors import AgentError
from .base import Workload

if TYPE_CHECKING:
    from typing import Any

MIB = 1 << 20


class Endless(Workload):
    """Repeats a shell command in the group until the trial ends."""

    background = True
    process_id: int | None = None

    def command(self) -> str:
        """Return the shell command that is repeated for ever."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the endless loop in the group."""
        self.process_id = self.worker.call("start_loop", command=self.command())

    def measurements(self) -> dict[str, Any]:
        return {"command": f"while true; do {self.command()}; done"}


class EndlessWrite(Endless):
    """``dd if=/dev/zero of=FILE bs=1M``, again and again: it fills the file system, starts over."""

    def command(self) -> str:
        direct = " oflag=direct" if self.specification["direct"] else ""
        return f"dd if=/dev/zero of={self.path(self.name)} bs=1M{direct}"


class EndlessRead(Endless):
    """``cat FILE >/dev/null``, again and again (through ``dd iflag=direct`` where `direct`)."""

    def prepare(self) -> None:
        size_bytes = self.specification["size_mib"] * MIB
        self.worker.call(
            "make_file", path=self.path(self.name), size_bytes=size_bytes, seed=self.seed
        )

    def command(self) -> str:
        file = self.path(self.name)
        if self.specification["direct"]:
            return f"dd if={file} of=/dev/null bs=1M iflag=direct"
        return f"cat {file} >/dev/null"


class Iostat(Workload):
    """``iostat -x`` over the trial's device, in the foreground for a fixed length.

    It is a second witness of the sampler's counters.
    """

    def run(self) -> None:
        """Watch for `count` intervals of `interval_s`."""
        interval_s, count = self.specification["interval_s"], self.specification["count"]
        argv = ["iostat", "-x", "-y", "-d", "-o", "JSON", self.device, str(interval_s), str(count)]
        run = subprocess.run(argv, capture_output=True, text=True)
        if run.returncode:
            raise AgentError(
                f"iostat ended with status {run.returncode}: {run.stderr.strip()}; "
                "expected its report on the device under test"
            )
        (self.raw / f"{self.name}.iostat.json").write_text(run.stdout)
        self.reports = reports(run.stdout, self.device, count)

    def measurements(self) -> dict[str, Any]:
        return {"reports": self.reports}


def reports(text: str, device: str, count: int) -> list[dict[str, Any]]:
    """Return what iostat's JSON says of a device, for each interval."""
    try:
        (host,) = json.loads(text)["sysstat"]["hosts"]
        disks = [disk for report in host["statistics"] for disk in report["disk"]]
        found = [disk for disk in disks if disk["disk_device"] == device]
    except (ValueError, KeyError, TypeError) as problem:
        raise AgentError(
            f"iostat's report is not whole: expected its JSON, found {len(text)} characters that "
            f"end in {text[-40:]!r} ({type(problem).__name__}: {problem}). See log.txt"
        ) from None
    if len(found) != count:
        raise AgentError(
            f"iostat reports {len(found)} intervals of {device}; expected {count}. Was the "
            "device there all the time?"
        )
    return found
