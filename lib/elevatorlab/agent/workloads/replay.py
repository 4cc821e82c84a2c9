"""Requests at given times, or one after the other (see `replayer`, which runs in the group)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Workload

if TYPE_CHECKING:
    from typing import Any


class Replay(Workload):
    """Sends the trial's requests to the bare device, each when it is due."""

    def run(self) -> None:
        """Send all of them, and wait for the last one's end."""
        path, requests = f"/dev/{self.device}", self.specification["requests"]
        self.ended: list[dict[str, float]] = self.worker.call(
            "replay", device=path, requests=requests
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
