"""What goes with a trial through all that sets it up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .journal import Journal
    from .proofs import Proofs


class Context(NamedTuple):
    """Where changes are noted and proved, and what there is to make things with."""

    journal: Journal
    proofs: Proofs
    #: What the testbed offers here: ``scratch``, a folder for the file of a file-backed device;
    #: ``disk``, the id of the disk that the testbed made for this purpose; ``nvme_target``, where
    #: another machine serves the disk (`nvme_tcp.join`); ``rendezvous``, a folder where the
    #: testbed answers with its containers (`run.foreign_groups`).
    site: Mapping[str, Any] = {}
    #: The agent's own archive or folder: it serves a paced disk, and workers in containers.
    agent: str = ""
