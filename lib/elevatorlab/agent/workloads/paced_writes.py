"""Small synchronous writes with think time (see `writer`, which runs in the group)."""

from ..errors import TrialFailed
from .base import Workload


class PacedWrites(Workload):
    """Writes to the bare device, or to the group's part of it, at a pace."""

    def prepare(self):
        self.worker.call(
            "prepare_writes",
            name=self.name,
            device=f"/dev/{self.device}",
            request_bytes=self.specification["request_bytes"],
            spread=self.specification["spread"],
            seed=f"{self.seed}/{self.name}",
        )

    def run(self):
        """Write until the last phase has ended."""
        self.found = self.worker.call(
            "paced_writes",
            name=self.name,
            phases=self.specification["phases"],
            report_ms=self.specification["report_ms"],
        )
        if not self.found["requests"]:
            raise TrialFailed(
                f"workload {self.name}: expected at least one write to end; found none in "
                f"{self.found['duration_s']:g} s. Make the phases longer"
            )

    def figures(self):
        return self.found
