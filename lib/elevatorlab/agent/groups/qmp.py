"""QEMU's monitor (QMP): lines of JSON over a socket."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator
    from typing import Any


class Monitor:
    """A conversation with one QEMU."""

    def __init__(self, path: pathlib.Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError as problem:
            raise AgentError(
                f"no virtual machine waits here ({path}: {problem.strerror}); expected the one "
                "that the testbed boots"
            ) from None
        self._lines = self._socket.makefile("rw")
        self._lines.readline()  # the greeting
        self.do("qmp_capabilities")

    def do(self, name: str, **arguments: Any) -> Any:
        """Run a command, and return its answer."""
        for answer in self._answers({"execute": name, "arguments": arguments}):
            if "error" in answer:
                raise AgentError(f"QEMU refused {name}: {answer['error']['desc']}")
            if "return" in answer:  # what else there is are events
                return answer["return"]
        raise AgentError(f"QEMU ended at {name}; expected it to answer. Run the trial again")

    def _answers(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Send a request, and yield what QEMU says until it ends."""
        try:
            self._lines.write(json.dumps(request) + "\n")
            self._lines.flush()
            yield from map(json.loads, self._lines)
        except ConnectionError:
            return
