"""The regulator in a trial, a process of its own: the loop that an operator runs, too."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..groups.isolation import Group


class Regulation:
    """Starts the regulator after the foreground, and ends it with it.

    Does nothing where no regulator is wanted. `archive` is what the trial's plug-ins bring, if any.
    """

    def __init__(
        self,
        wanted: Mapping[str, Any] | None,
        device: str,
        members: Iterable[Group],
        raw: pathlib.Path,
        archive: pathlib.Path | None = None,
    ) -> None:
        self.wanted = wanted
        self.log = raw / "regulator.jsonl"
        self.process: subprocess.Popen[bytes] | None = None
        self.begun_s = 0.0
        if wanted:
            self.specification = {
                **wanted,
                "disk": device,
                "cgroups": {str(member.path): member.device for member in members},
                "log": str(self.log.absolute()),
                "plugins": str(archive.absolute()) if archive else None,
            }

    def __enter__(self) -> Regulation:
        self.begun_s = time.time()
        if self.wanted:
            self.timer = threading.Timer(self.wanted["start_s"], self._start)
            self.timer.start()
        return self

    def _start(self) -> None:
        program = [sys.executable or "python3", os.path.abspath(sys.argv[0]), "trial-regulator"]
        self.process = subprocess.Popen(
            [*program, json.dumps(self.specification)], stdin=subprocess.PIPE
        )

    def __exit__(self, failure: object, *_: object) -> None:
        if not self.wanted:
            return
        self.timer.cancel()
        self.timer.join()
        if self.process is None:
            status: int | str = "never started"
        else:
            self.process.terminate()
            self.process.communicate()  # which closes its input
            status = self.process.returncode
        if status != 0 and failure is None:
            raise AgentError(
                f"the regulator's status was {status}; expected 0 after it had regulated until "
                "the end. See log.txt, and start it before the workloads end"
            )

    def events(self) -> list[dict[str, Any]] | None:
        """Return its decisions, with their times after the foreground began; None without it."""
        if not self.wanted:
            return None
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [
            {"time_s": round(self._seconds(line["time"]), 3), **without_paths(line)}
            for line in lines
            if line["event"] in ("decision", "warning", "note", "missed")
        ]

    def _seconds(self, text: str) -> float:
        return datetime.datetime.fromisoformat(text).timestamp() - self.begun_s


def without_paths(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of the log without what only its own machine understands."""
    return {key: value for key, value in line.items() if key not in ("time", "proofs")}
