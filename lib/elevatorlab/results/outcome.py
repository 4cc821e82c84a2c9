"""The outcome of a trial, on its way from the testbed to the store."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """The result of a finished trial, before it is stored.

    Attributes
    ----------
    files : mapping of str to bytes
        Contents of the files, by name in the result's folder.
    provenance : mapping
        Where the result comes from: everything that the host decides.

    Examples
    --------
    >>> list(Outcome({"result.json": b"{}"}, {"kernel": "6.1"}).files)
    ['result.json']
    """

    files: Mapping[str, bytes]
    provenance: Mapping[str, Any]
