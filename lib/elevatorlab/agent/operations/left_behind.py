"""What a killed regulator has left in force, as its journal says: nothing is changed here."""

from __future__ import annotations

import fcntl
import json
import pathlib
from typing import TYPE_CHECKING, NamedTuple

from .audited_host import V1_FILES

if TYPE_CHECKING:
    from collections.abc import Iterator


class Left(NamedTuple):
    """A cgroup's limits of one device before a regulator set others: key -> limit, None: none."""

    journal: str
    #: The regulator's command, and when it was started; nothing where an older agent did not say.
    command: str
    since: str
    cgroup: pathlib.Path
    device: str
    before: dict[str, int | None]

    def record(self) -> dict[str, object]:
        """Return it as the log has it."""
        return {**self._asdict(), "cgroup": str(self.cgroup)}


def everywhere(state: pathlib.Path) -> Iterator[Left]:
    """Yield what is noted in the journals of regulators that no longer run."""
    for journal in sorted(state.glob("*.jsonl")):
        yield from noted(journal)


def noted(journal: pathlib.Path) -> list[Left]:
    """Return what a regulator's journal would restore, if the regulator no longer runs."""
    try:
        with open(journal) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            lines = file.read().splitlines()
    except OSError:  # it runs, or it is somebody else's
        return []
    keys = {file: key for key, file in V1_FILES.items()}
    command = since = ""
    found: dict[tuple[pathlib.Path, str], dict[str, int | None]] = {}
    for line in lines:
        try:
            action, *arguments = json.loads(line)
        except json.JSONDecodeError:  # cut off by the kill: its change was never made
            break
        if action == "owner":
            command, since = arguments
        elif action == "restore_limit":
            path, (number, *words) = pathlib.Path(arguments[0]), arguments[1].split()
            pairs = [f"{keys[path.name]}={words[0]}"] if path.name in keys else words
            before = found.setdefault((path.parent, number), {})
            for pair in pairs:
                key, _, value = pair.partition("=")
                before.setdefault(key, int(value) if value.isdigit() and int(value) else None)
    return [Left(journal.name, command, since, *place, before) for place, before in found.items()]
