"""Workloads by kind. Each has `prepare`, then either `start` (background) or `run`."""

from .background import EndlessRead, EndlessWrite, Iostat
from .fio import Fio
from .fio_points import FioPoints
from .iozone import Iozone
from .requests import PacedWrites, Replay, SerialReplay
from .sysbench import SysbenchInsert
from .timed_reads import TimedReads, TimedTreeRead

KINDS = {
    "endless_read": EndlessRead,
    "endless_write": EndlessWrite,
    "fio": Fio,
    "fio_points": FioPoints,
    "iostat": Iostat,
    "paced_writes": PacedWrites,
    "iozone": Iozone,
    "replay": Replay,
    "serial_replay": SerialReplay,
    "sysbench_insert": SysbenchInsert,
    "timed_reads": TimedReads,
    "timed_tree_read": TimedTreeRead,
}
