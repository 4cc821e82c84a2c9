"""The regulator's log."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TextIO


class JsonLines:
    """Events as one JSON object a line; flushed, so that none is lost."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, event: str, **values: Any) -> None:
        """Write one event with the wall-clock time."""
        now = datetime.datetime.now(datetime.timezone.utc)
        line = {"time": now.isoformat(timespec="milliseconds"), "event": event, **values}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
