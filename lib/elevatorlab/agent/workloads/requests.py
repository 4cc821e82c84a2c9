"""Requests that the worker itself sends in the group: see `paced_writer` and `replayer` there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import AgentError
from .base import Workload

if TYPE_CHECKING:
    from typing import Any


class PacedWrites(Workload):
    """Writes to the bare device, or to the group's part of it, at a pace."""

    def prepare(self) -> None:
        self.worker.call(
            "prepare_writes",
            name=self.name,
            device=f"/dev/{self.device}",
            request_bytes=self.specification["request_bytes"],
            spread=self.specification["spread"],
            seed=f"{self.seed}/{self.name}",
            io_class=self.specification.get("io_class"),
        )

    def run(self) -> None:
        """Write until the last phase has ended."""
        self.found: dict[str, Any] = self.worker.call(
            "paced_writes",
            name=self.name,
            phases=self.specification["phases"],
            report_ms=self.specification["report_ms"],
        )
        if not self.found["requests"]:
            raise AgentError(
                f"workload {self.name}: expected at least one write to end; found none in "
                f"{self.found['duration_s']:g} s. Make the phases longer"
            )

    def measurements(self) -> dict[str, Any]:
        return self.found


class Replay(Workload):
    """Sends the trial's requests to the bare device, each when it is due."""

    def run(self) -> None:
        """Send all of them, and wait for the last one's end."""
        self.ended: list[dict[str, float]] = self.worker.call(
            "replay",
            device=f"/dev/{self.device}",
            requests=self.specification["requests"],
            in_flight=self.specification["in_flight"],
        )

    def measurements(self) -> dict[str, Any]:
        return {"requests": self.ended}


class SerialReplay(Workload):
    """Sends the trial's requests to the bare device, one after the other."""

    def run(self) -> None:
        """Send all of them."""
        path, requests = f"/dev/{self.device}", self.specification["requests"]
        self.latencies_us: list[float] = self.worker.call(
            "replay_serially", device=path, requests=requests
        )

    def measurements(self) -> dict[str, Any]:
        return {"latencies_us": self.latencies_us}
