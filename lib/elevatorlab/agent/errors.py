"""What ends a trial, and what a regulator cannot start with: the text is what a user reads."""

from __future__ import annotations


class AgentError(Exception):
    """A trial cannot go on; the message says what was expected, found, and what to do."""


class KnobFailed(AgentError):
    """A setting was written and did not take."""

    def __init__(self, file: object, written: object, read: object) -> None:
        self.file, self.written, self.read = str(file), str(written), str(read)
        super().__init__(
            f"the knob {file} did not take: wrote {written!r}, read back {read!r}; "
            "this kernel or device does not support that value"
        )


class Refused(Exception):
    """The regulator does not start; the message says what was expected, found, and what to do."""
