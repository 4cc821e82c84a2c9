"""A limit that somebody sets by hand while containers are at work, as a policy of the regulator.

It is in a folder of its own, whose files belong to the hash of the trials that use it.
"""

from __future__ import annotations

from typing import ClassVar

from ....trial import Count, Name, PolicyModel


class FixedLimit(PolicyModel):
    """A limit on containers that somebody names in advance.

    Attributes
    ----------
    containers : tuple of str
        The containers' names.
    bytes_s : int
        The limit of each, for reads and for writes.
    """

    agent: ClassVar[str] = f"{__name__}.beside_disk.fixed_limit:FixedLimit"

    containers: tuple[Name, ...]
    bytes_s: Count
