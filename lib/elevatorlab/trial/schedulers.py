"""An I/O scheduler in a trial."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from ..plugins.schedulers import SCHEDULERS
from ..records import Name, Record
from .registered import name_in

#: A scheduler that is installed or was registered.
SchedulerName = Annotated[str, AfterValidator(name_in(SCHEDULERS))]


class Scheduler(Record):
    """An I/O scheduler, by the kernel's name, and its tunables.

    Attributes
    ----------
    tunables : dict
        Values by name: the files of ``queue/iosched``; ``nr_requests``, how many requests the
        scheduler may hold; ``rotational``, whether the kernel takes the disk for a rotating one
        (1) or not (0).
    """

    name: SchedulerName
    tunables: dict[Name, int] = {}
