"""The one exception that ends a trial: its text is what the user reads."""


class TrialFailed(Exception):
    """A trial cannot go on; the message says what was expected, found, and what to do."""


class KnobFailed(TrialFailed):
    """A setting was written and did not take."""

    def __init__(self, file, written, read):
        self.file, self.written, self.read = str(file), str(written), str(read)
        super().__init__(
            f"the knob {file} did not take: wrote {written!r}, read back {read!r}; "
            "this kernel or device does not support that value"
        )
