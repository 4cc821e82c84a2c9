"""Endless readers and writers: the interference in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
