"""Errors whose text is meant for the person at the keyboard."""


class ElevatorLabError(Exception):
    """Something expected was not found; the message says what, and what to do.

    Examples
    --------
    >>> raise ElevatorLabError("expected a folder, found a file; name a folder")
    Traceback (most recent call last):
    ...
    elevatorlab.errors.ElevatorLabError: expected a folder, found a file; name a folder
    """


class NoFolder(ElevatorLabError):
    """A folder that is needed does not exist, and cannot be made."""


class NotReady(ElevatorLabError):
    """The machine lacks what the testbed needs.

    Parameters
    ----------
    lack : str
        What is missing, and where.
    remedy : str, optional
        What to do about it, unless `lack` already says so.

    Examples
    --------
    >>> str(NotReady("fio is not installed", "Install it with: apt-get install fio"))
    'fio is not installed. Install it with: apt-get install fio'
    """

    def __init__(self, lack: str, remedy: str = "") -> None:
        super().__init__(f"{lack}. {remedy}" if remedy else lack)
        self.lack, self.remedy = lack, remedy


class TrialFailed(ElevatorLabError):
    """A trial ran and did not produce a result.

    Parameters
    ----------
    why : str
    log : bytes, optional
        The agent's log, if the trial got that far.

    Examples
    --------
    >>> TrialFailed("the guest's kernel stopped", b"Oops").log
    b'Oops'
    """

    def __init__(self, why: str, log: bytes = b"") -> None:
        super().__init__(why, log)
        self.why, self.log = why, log

    def __str__(self) -> str:
        return self.why


class NeverEnded(TrialFailed):
    """A trial was stopped at its limit of wall time."""
