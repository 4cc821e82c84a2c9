"""Inserting rows into a database."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ...records import NotNegative, Positive, Record
from .. import measurements
from ..capabilities import program
from .base import WorkloadModel


class CommitPhase(Record):
    """Rows that sysbench inserts for a time, each of them a transaction.

    Attributes
    ----------
    threads : int
        Connections that insert at the same time.
    flush_log_at_trx_commit : int
        InnoDB's setting. 1: the log is written and flushed at each commit. 2: the log is written
        at each commit, and flushed once per second. 0: it is written and flushed once per second.
    warm_up_s : float
        Time for which rows are inserted in the same way before the phase; none of it is measured.
    duration_s : float
        Length of the phase. Each thread ends with the first commit after it.
    """

    threads: Annotated[int, Field(ge=1, le=64)]
    flush_log_at_trx_commit: Literal[0, 1, 2] = 1
    warm_up_s: NotNegative = 0
    duration_s: Annotated[float, Field(ge=0.001)]


class SysbenchInsert(WorkloadModel):
    """A MariaDB server with its data on the device, and sysbench's ``oltp_insert``.

    Attributes
    ----------
    phases : tuple of CommitPhase
        Phases that run one after the other, with one server and one table.
    buffer_pool_mib, log_mib : int
        Sizes of InnoDB's memory for pages, and of its redo log.
    log_file_buffering : bool
        Whether the redo log is written through the page cache. It was until MariaDB 10.8, and in
        the MySQL of 2008: there, ``innodb_flush_method=O_DIRECT`` opened the data files alone with
        O_DIRECT. MariaDB 10.11 by itself opens the log with O_DIRECT, too. The value is read back
        from the server.
    start_limit_s : float
        The trial fails if the server does not answer within this time.
    """

    measurements: ClassVar[type[Record] | None] = measurements.SysbenchInsert

    kind: Literal["sysbench_insert"] = "sysbench_insert"
    phases: Annotated[tuple[CommitPhase, ...], Field(min_length=1)]
    buffer_pool_mib: Annotated[int, Field(ge=8)] = 32
    log_mib: Annotated[int, Field(ge=4)] = 8
    log_file_buffering: bool = True
    start_limit_s: Positive = 60

    @property
    def requires(self) -> tuple[str, ...]:
        """The server and the client."""
        return (program("mariadbd"), program("sysbench"))

    @property
    def duration_s(self) -> float:
        """All phases together, with what goes before them."""
        return sum(phase.warm_up_s + phase.duration_s for phase in self.phases)

    @property
    def needed_mib(self) -> int:
        """Space that the data directory and the file system take before the first row."""
        return self.log_mib + 64
