"""A policy of the regulator: the disk's mean queue stays under a length."""

from typing import ClassVar

from elevatorlab.trial import PolicyModel, Positive


class ShortQueue(PolicyModel):
    """Hold the queue under `longest` requests."""

    agent: ClassVar[str] = "elevatorlab_example.beside_disk.short_queue:ShortQueue"

    longest: Positive = 4.0
