"""Disks that a case makes for itself, and their request queues."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import ClassVar

from .failure import Broken

NULL_BLK = Path("/sys/kernel/config/nullb/nullb0")

SECTOR_BYTES = 512

#: Completion of a null_blk disk: in the submitting call, by an interrupt, or after a time.
AT_ONCE, BY_INTERRUPT, AFTER_A_TIME = 0, 1, 2


def write(path: Path, value: object) -> None:
    """Write one value to a file of the kernel's, in one call."""
    with open(path, "wb", buffering=0) as file:
        file.write(str(value).encode())


class Disk:
    """A block device and its queue; the supervisor watches all disks in `opened`.

    The name is the kernel's, such as nullb0.
    """

    opened: ClassVar[list[Disk]] = []

    def __init__(self, name: str) -> None:
        self.name = name
        self.device = f"/dev/{name}"
        self.folder = Path("/sys/block", name)
        self.selected_s = 0.0
        self.opened.append(self)

    def close(self) -> None:
        """Stop watching the disk."""
        self.opened.remove(self)

    def select(self, scheduler: str, waiting: int | None = None) -> None:
        """Choose a scheduler for the disk, and check that the kernel uses it.

        The scheduler may hold so many waiting requests at once. By default the kernel allows twice
        as many as the disk takes at once.
        """
        file = self.folder / "queue/scheduler"
        self.selected_s = time.monotonic()
        try:
            write(file, scheduler)
        except OSError as error:
            raise Broken(
                f"{self.name} did not take the scheduler {scheduler}: {error.strerror}. Its "
                "init_sched or init_hctx failed."
            ) from None
        found = file.read_text()
        if f"[{scheduler}]" not in found:
            raise Broken(f"{self.name} was told to use {scheduler}, but uses {found.strip()}.")
        if waiting is not None:
            self.set("nr_requests", waiting)

    def set(self, knob: str, value: object) -> None:
        """Set a knob of the queue."""
        write(self.folder / "queue" / knob, value)

    @property
    def size_bytes(self) -> int:
        """Size of the disk."""
        return int((self.folder / "size").read_text()) * SECTOR_BYTES

    @property
    def number(self) -> str:
        """Major and minor number, as traces show them."""
        return (self.folder / "dev").read_text().strip().replace(":", ",")

    @property
    def completed(self) -> int:
        """How many requests have completed."""
        counts = self._statistics()
        return sum(counts[column] for column in (0, 4, 11, 15)) if counts else 0

    @property
    def merged(self) -> int:
        """How many bios or requests were merged into others."""
        return self._statistics()[1] + self._statistics()[5]

    def _statistics(self) -> list[int]:
        try:
            return [int(word) for word in (self.folder / "stat").read_text().split()]
        except OSError:  # it was taken away
            return []


class NullBlk(Disk):
    """A null_blk disk with memory behind it, for the length of a with block.

    The options are files of its folder in configfs, and their values.
    """

    def __init__(self, **options: int) -> None:
        NULL_BLK.mkdir()
        settings = {"size": 32, "memory_backed": 1, "blocksize": SECTOR_BYTES, "irqmode": 0}
        for name, value in {**settings, **options}.items():
            write(NULL_BLK / name, value)
        self.show()
        super().__init__("nullb0")

    def __enter__(self) -> NullBlk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        NULL_BLK.rmdir()

    @staticmethod
    def show() -> None:
        """Let the disk appear, with all that was written to it."""
        write(NULL_BLK / "power", 1)

    @staticmethod
    def take_away() -> None:
        """Let the disk vanish."""
        write(NULL_BLK / "power", 0)


class ScsiDebug(Disk):
    """A disk of the test driver scsi_debug, which can be told to refuse or to halve commands."""

    def __init__(self, **options: int) -> None:
        words = [f"{name}={value}" for name, value in {"dev_size_mb": 16, **options}.items()]
        subprocess.run(["modprobe", "scsi_debug", *words], check=True)
        while not (Path("/sys/block/sda/queue/scheduler")).exists():
            time.sleep(0.01)
        super().__init__("sda")

    def __enter__(self) -> ScsiDebug:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        subprocess.run(["rmmod", "scsi_debug"], check=True)
