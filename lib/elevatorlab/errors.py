"""Errors whose text is meant for the person at the keyboard."""


class ElevatorLabError(Exception):
    """Something expected was not found; the message says what, and what to do."""


class NotReady(ElevatorLabError):
    """The machine lacks what the testbed needs."""


class TrialFailed(ElevatorLabError):
    """A trial ran and did not produce a result."""
