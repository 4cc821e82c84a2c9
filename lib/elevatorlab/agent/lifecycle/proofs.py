"""Write a knob, read it back, and keep the evidence."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from ..errors import AgentError, KnobFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from .journal import Journal


class Proofs:
    """Evidence that each setting of a trial took effect, in the order of setting."""

    def __init__(self) -> None:
        self.records: list[dict[str, str | None]] = []

    def add(self, knob: object, written: object, read: object, probe: str | None = None) -> None:
        """Record one knob; `probe` is what a short test of its effect showed."""
        self.records.append(
            {"knob": str(knob), "written": str(written), "read": str(read), "probe": probe}
        )

    def set(
        self,
        file: str | pathlib.Path,
        value: object,
        journal: Journal | None = None,
        read_as: Callable[[str], str] = str.strip,
    ) -> None:
        """Write `value` to `file` and read it back.

        With a journal, the old value is restored afterwards. `read_as` turns the file's text into
        the value to compare with.
        """
        file = pathlib.Path(file)
        if not file.exists():
            raise AgentError(
                f"the knob {file} does not exist in this kernel; expected it to take {value!r}"
            )
        if journal is not None:
            journal.will_write(file, read_as(file.read_text()))
        try:
            file.write_text(f"{value}\n")
        except OSError as refusal:
            found = f"{file.read_text().strip()} ({refusal.strerror})"
            raise KnobFailed(file, value, found) from refusal
        self.compare(file, value, read_as(file.read_text()))

    def compare(self, file: object, written: object, read: str) -> None:
        """Record a knob, whoever has set it, if it holds what was meant."""
        if read != str(written):
            raise KnobFailed(file, written, read)
        self.add(file, written, read)
