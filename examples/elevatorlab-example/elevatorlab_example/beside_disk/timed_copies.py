"""Copies of a file, each timed."""

from agent.workloads.base import Workload


class TimedCopies(Workload):
    """Copy a file that is in the page cache; the copies go through write-back."""

    def prepare(self):
        size_bytes = self.specification["size_mib"] << 20
        self.worker.call("make_file", path=self.path("original"), size_bytes=size_bytes, seed=1)

    def run(self):
        command = ["cp", self.path("original"), self.path("copy")]
        self.rows = [
            self.worker.call("timed", argv=command) for _ in range(self.specification["copies"])
        ]

    def measurements(self):
        return {"times_ms": [row["time_ns"] / 1e6 for row in self.rows]}
