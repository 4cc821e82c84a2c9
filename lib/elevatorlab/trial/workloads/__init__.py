"""What runs in a trial, by kind."""

from __future__ import annotations

from typing import Annotated

from pydantic import SerializeAsAny

from ...plugins.trial_parts import WORKLOADS
from ..registry_fields import OfKind
from .base import WorkloadModel
from .databases import CommitPhase, SysbenchInsert
from .files import EndlessRead, EndlessWrite, TimedReads, TimedTreeRead
from .fio import Fio, FioPoints
from .paced_writes import PacedWrites, Phase
from .replays import Replay, Request, SerialReplay, SerialRequest
from .tools import Iostat, Iozone

__all__ = [
    "CommitPhase",
    "EndlessRead",
    "EndlessWrite",
    "Fio",
    "FioPoints",
    "Iostat",
    "Iozone",
    "PacedWrites",
    "Phase",
    "Replay",
    "Request",
    "SerialReplay",
    "SerialRequest",
    "SysbenchInsert",
    "TimedReads",
    "TimedTreeRead",
    "Workload",
    "WorkloadModel",
]

Workload = Annotated[WorkloadModel, SerializeAsAny(), OfKind(WORKLOADS)]
