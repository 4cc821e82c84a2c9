"""Readers that are timed: single files with cat, and a tree of small files with find."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..devices import block_device, filesystems
from ..errors import AgentError
from .base import Workload

if TYPE_CHECKING:
    from typing import Any

MIB = 1 << 20
KIB = 1 << 10


class Timed(Workload):
    """Shared by both readers: the state of the page cache before a read, and its proof."""

    def _read(self, argv: list[str], size_bytes: int) -> dict[str, Any]:
        """Time one read in the trial's cache state.

        In the states ``dropped`` and ``direct`` every byte must come from the device: its own
        counter, and the reader's, have to show at least `size_bytes`.
        """
        cache = self.specification["cache"]
        if cache == "dropped":
            self.group.forget()
            filesystems.drop_caches()
        before = block_device.read_bytes(self.device)
        row = self.worker.call("timed", argv=argv)
        row["device_read_bytes"] = block_device.read_bytes(self.device) - before
        seen_bytes = min(row["device_read_bytes"], row["storage_read_bytes"])
        if cache != "warm" and seen_bytes < size_bytes:
            raise AgentError(
                f"the page cache was not out of the way ({cache}): expected at least "
                f"{size_bytes} bytes from the device, found {seen_bytes}"
            )
        return {"bytes_read": size_bytes, **row}

    def _warm(self, *programs: str) -> None:
        """Run the reader's programs once: in a warm cache they are, too."""
        if self.specification["cache"] == "warm":
            for program in programs:
                self.worker.call("run", argv=[program, "--version"])


class TimedReads(Timed):
    """Time to read files of several sizes, one after the other, smallest first.

    The files are written before the background starts. In the state ``warm`` they are
    still in the page cache then, as they were for the article.
    """

    def prepare(self) -> None:
        self._warm("cat")
        self.rows: list[dict[str, Any]] = []
        for index, size_mib in enumerate(self.specification["sizes_mib"]):
            self.worker.call(
                "make_file",
                path=self._file(index),
                size_bytes=round(size_mib * MIB),
                seed=self.seed + index,
            )

    def _file(self, index: int) -> str:
        # No workload's name has a dot in it, so nobody else's file is called that.
        return self.path(f"{self.name}.{index}")

    def run(self) -> None:
        """Read every file once."""
        for index, size_mib in enumerate(self.specification["sizes_mib"]):
            file = self._file(index)
            if self.specification["cache"] == "direct":
                argv = ["dd", f"if={file}", "of=/dev/null", "bs=1M", "iflag=direct", "status=none"]
            else:
                argv = ["cat", file]
            row = self._read(argv, round(size_mib * MIB))
            self.rows.append({"size_mib": size_mib, **row})

    def measurements(self) -> dict[str, Any]:
        return {"reads": self.rows}


class TimedTreeRead(Timed):
    """Time of ``find TREE -type f -exec cat {} ;`` over many small files.

    File sizes are drawn from a log-normal distribution, the shape found for file sizes in
    general (Agrawal et al., A five-year study of file-system metadata, FAST 2007), with
    the trial's median and shape, cut off at a largest size.
    """

    def prepare(self) -> None:
        self._warm("find", "cat")
        tree = self.specification
        mu = math.log(tree["median_kib"] * KIB)
        self.sizes_bytes = [
            min(round(self.random.lognormvariate(mu, tree["sigma"])), tree["largest_kib"] * KIB)
            for _ in range(tree["files"])
        ]
        self.worker.call(
            "make_tree",
            path=self.path(self.name),
            sizes_bytes=self.sizes_bytes,
            files_per_folder=tree["files_per_folder"],
            seed=self.seed,
        )

    def run(self) -> None:
        """Read the whole tree once."""
        if self.specification["cache"] == "direct":
            each = ["dd", "if={}", "of=/dev/null", "bs=1M", "iflag=direct", "status=none"]
        else:
            each = ["cat", "{}"]
        argv = ["find", self.path(self.name), "-type", "f", "-exec", *each, ";"]
        self.row = self._read(argv, sum(self.sizes_bytes))

    def measurements(self) -> dict[str, Any]:
        return {"files": len(self.sizes_bytes), "reads": [self.row]}
