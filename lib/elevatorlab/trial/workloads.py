"""What runs in a trial, by kind."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from .model import Cache, Count, Model, Name, NotNegative, Positive


class WorkloadModel(Model):
    """Base of all workloads.

    Attributes
    ----------
    endless : bool
        It runs until all those that end have ended.
    needs_filesystem : bool
        It works on files; the others can do without, on the bare device.
    requires : tuple of str
        What a testbed must have for it: names of findings (`testbeds.base.requirements`).
    """

    endless: ClassVar[bool] = False
    needs_filesystem: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ()

    name: Name
    group: Name

    @property
    def duration_s(self):
        """How long its parameters say that it takes; 0 where the machine decides that."""
        return 0


class EndlessWrite(WorkloadModel):
    """``while true; do dd if=/dev/zero of=file bs=1M; done &``."""

    endless: ClassVar[bool] = True

    kind: Literal["endless_write"] = "endless_write"
    direct: bool = False


class EndlessRead(WorkloadModel):
    """``while true; do cat file >/dev/null; done &``."""

    endless: ClassVar[bool] = True

    kind: Literal["endless_read"] = "endless_read"
    size_mib: Count
    direct: bool = False


class TimedReads(WorkloadModel):
    """``time cat file >/dev/null`` for files of several sizes."""

    kind: Literal["timed_reads"] = "timed_reads"
    sizes_mib: Annotated[tuple[Positive, ...], Field(min_length=1)]
    cache: Cache


class TimedTreeRead(WorkloadModel):
    """``time find tree -type f -exec cat {} ; >/dev/null`` over small files."""

    kind: Literal["timed_tree_read"] = "timed_tree_read"
    files: Count
    files_per_folder: Count = 50
    median_kib: Positive
    sigma: Positive
    largest_kib: Count
    cache: Cache


class Fio(WorkloadModel):
    """fio with the given options; on the bare device where there is no file system."""

    needs_filesystem: ClassVar[bool] = False
    requires: ClassVar[tuple[str, ...]] = ("program fio",)

    kind: Literal["fio"] = "fio"
    options: dict[str, str | int]


class FioPoints(WorkloadModel):
    """fio again and again, each time with other options, and the kernel's counters meanwhile.

    Attributes
    ----------
    options : dict
        Options of fio that all points share.
    points : tuple of dict
        The options of each point, one run of fio each.
    ramp_ms : int
        Each run's beginning, once it is seen at work, which is left out.
    counted_ms : int
        Then the kernel's counters are read at both ends of this time.
    window_ms : int
        Then fio's own measurement, in which nothing else runs.
    traced_points : tuple of int
        Numbers of points at which, between the two and for half of `counted_ms`, the kernel says
        whose work the processor does (`elevatorlab.agent.sides`), where it has tracepoints.
    """

    needs_filesystem: ClassVar[bool] = False
    requires: ClassVar[tuple[str, ...]] = ("program fio",)

    kind: Literal["fio_points"] = "fio_points"
    options: dict[str, str | int]
    points: Annotated[tuple[dict[str, str | int], ...], Field(min_length=1)]
    ramp_ms: Count
    counted_ms: Count
    window_ms: Count
    traced_points: tuple[Annotated[int, Field(ge=0)], ...] = ()

    @model_validator(mode="after")
    def _traced_points_exist(self):
        if beyond := [number for number in self.traced_points if number >= len(self.points)]:
            raise ValueError(
                f"traced_points: expected numbers of the {len(self.points)} points, from 0; "
                f"found {beyond[0]}"
            )
        return self

    @property
    def duration_s(self):
        """How long all points take together."""
        points_ms = len(self.points) * (self.ramp_ms + self.counted_ms + self.window_ms)
        return (points_ms + len(self.traced_points) * self.counted_ms) / 1000


class Iostat(WorkloadModel):
    """``iostat -x`` for `count` intervals: a second witness beside the sampler."""

    needs_filesystem: ClassVar[bool] = False
    requires: ClassVar[tuple[str, ...]] = ("program iostat",)

    kind: Literal["iostat"] = "iostat"
    interval_s: Count = 1
    count: Count

    @property
    def duration_s(self):
        """How long all intervals take together."""
        return self.interval_s * self.count


class Phase(Model):
    """A part of a load, in which it does not change.

    Attributes
    ----------
    writers : int
        Writes that are asked for at the same time; each thinks after each of its own.
    think_us : float
        Mean time between the end of a write and the next one of the same writer.
    arrivals_per_s : float or None
        Open load: writes come at this mean rate, whether those before have ended or not, and
        up to `writers` are in flight. None: closed load, with think time.
    """

    duration_s: Positive
    writers: Annotated[int, Field(ge=0, le=256)] = 1
    think_us: NotNegative = 0
    arrivals_per_s: Positive | None = None


class PacedWrites(WorkloadModel):
    """Synchronous writes around the page cache, one after the other, with time between them.

    Attributes
    ----------
    request_bytes : int
        Size of each; a multiple of 512.
    phases : tuple of Phase
        One after the other.
    spread : str
        How think times, or times between arrivals, are distributed: ``constant`` or
        ``exponential``.
    report_ms : int
        Width of the intervals of the series that is reported.
    """

    needs_filesystem: ClassVar[bool] = False

    kind: Literal["paced_writes"] = "paced_writes"
    request_bytes: Annotated[int, Field(ge=512, le=1 << 20, multiple_of=512)]
    phases: Annotated[tuple[Phase, ...], Field(min_length=1)]
    spread: Literal["constant", "exponential"] = "exponential"
    report_ms: Count = 1000

    @property
    def duration_s(self):
        """How long all phases take together."""
        return sum(phase.duration_s for phase in self.phases)


class Iozone(WorkloadModel):
    """``iozone -i 0 -i 2 -i 8`` with each number of threads, caches dropped before each.

    Attributes
    ----------
    tool : str
        ``iozone``, or ``fio`` for the same five patterns where iozone cannot be had.
    threads : tuple of int
        Numbers of threads, one run each.
    size_mib, record_kib : int
        Size of each thread's file, and of each request.
    direct : bool
        Around the page cache (``-I``), which the article did not do.
    dirty_mib : float or None
        How much of what is written may wait in memory (``vm.dirty_bytes``) before writers must
        wait for the disk; None leaves the machine's own limit. A file scaled down with memory
        as it was would never meet the disk.
    """

    kind: Literal["iozone"] = "iozone"
    tool: Literal["iozone", "fio"] = "iozone"
    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)]
    size_mib: Count
    record_kib: Annotated[int, Field(ge=4, le=16384)]
    direct: bool = False
    dirty_mib: Positive | None = None

    @property
    def requires(self):
        """What a testbed must have for it: the tool, and caches that can be dropped."""
        return (f"program {self.tool}", "page-cache drop")

    @model_validator(mode="after")
    def _whole_records(self):
        if self.size_mib * 1024 % self.record_kib:
            raise ValueError(
                "record_kib: expected a size that files consist of (iozone does nothing where a "
                f"record is larger than the file); found {self.record_kib} KiB for files of "
                f"{self.size_mib} MiB"
            )
        if list(self.threads) != sorted(set(self.threads)):
            found = ", ".join(map(str, self.threads))
            raise ValueError(f"threads: expected different numbers, rising; found {found}")
        return self


class CommitPhase(Model):
    """Rows inserted by one run of sysbench, each of them a transaction.

    Attributes
    ----------
    threads : int
        Connections that insert at the same time.
    flush_log_at_trx_commit : int
        InnoDB's setting: 1, the log is written and flushed at each commit; 2, written at each
        and flushed once a second; 0, both once a second.
    commits : int
        Of all threads together.
    """

    threads: Annotated[int, Field(ge=1, le=64)]
    flush_log_at_trx_commit: Literal[0, 1, 2] = 1
    commits: Count


class SysbenchInsert(WorkloadModel):
    """A MariaDB server with its data on the device, and ``sysbench oltp_insert``.

    Attributes
    ----------
    phases : tuple of CommitPhase
        One after the other, with one server and one table.
    buffer_pool_mib, log_mib : int
        Sizes of InnoDB's memory for pages, and of its redo log.
    start_limit_s : float
        A server that does not answer by then fails the trial.
    """

    requires: ClassVar[tuple[str, ...]] = ("program mariadbd", "program sysbench")

    kind: Literal["sysbench_insert"] = "sysbench_insert"
    phases: Annotated[tuple[CommitPhase, ...], Field(min_length=1)]
    buffer_pool_mib: Annotated[int, Field(ge=8)] = 32
    log_mib: Annotated[int, Field(ge=4)] = 8
    start_limit_s: Positive = 60

    @property
    def needed_mib(self):
        """What the data directory and the file system take before the first row."""
        return self.log_mib + 64


Workload = Annotated[
    EndlessWrite
    | EndlessRead
    | TimedReads
    | TimedTreeRead
    | Fio
    | FioPoints
    | Iostat
    | Iozone
    | PacedWrites
    | SysbenchInsert,
    Field(discriminator="kind"),
]
