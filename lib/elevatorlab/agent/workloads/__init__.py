"""Workloads by kind. Each has `prepare`, then either `start` (background) or `run`."""

from .background import EndlessRead, EndlessWrite
from .fio import Fio
from .iostat import Iostat
from .timed_reads import TimedReads, TimedTreeRead

KINDS = {
    "endless_read": EndlessRead,
    "endless_write": EndlessWrite,
    "fio": Fio,
    "iostat": Iostat,
    "timed_reads": TimedReads,
    "timed_tree_read": TimedTreeRead,
}
