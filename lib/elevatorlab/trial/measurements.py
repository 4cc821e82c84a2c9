"""What each kind of workload measures: its part of ``result.json``.

Each record is named like its workload in `elevatorlab.trial.workloads`. Numbers keep the type that
the agent gave them, so that a table made from these records has the agent's own digits.
"""

from typing import Any, Literal

from ..records import Number, Record, Whole


class Endless(Record):
    """A background workload: the command that was repeated."""

    command: str


class TimedRead(Record):
    """One read that was timed.

    Attributes
    ----------
    bytes_read : int
        Size of what was read.
    time_ns : int
        From the start of the command to its end.
    device_read_bytes, storage_read_bytes : int
        Bytes that the device served meanwhile, and bytes that the reader itself fetched from
        storage.
    """

    bytes_read: Whole
    time_ns: Whole
    device_read_bytes: Whole
    storage_read_bytes: Whole


class TimedFileRead(TimedRead):
    """One read of a file of `size_mib`."""

    size_mib: Number


class TimedReads(Record):
    """Reads of single files, smallest first."""

    reads: tuple[TimedFileRead, ...]


class TimedTreeRead(Record):
    """The read of a tree of `files` files."""

    files: Whole
    reads: tuple[TimedRead, ...]


class FioDirection(Record):
    """What fio reports of all reads, writes or trims; latencies are fio's completion latencies.

    Without a mean, fio did not measure them; without percentiles, it reported none of all jobs.
    """

    requests: Whole
    bytes: Whole
    iops: Number
    kib_s: Number
    latency_mean_ns: Number | None = None
    latency_percentile_ns: dict[str, Number]


class Fio(Record):
    """One run of fio; a direction without requests is absent."""

    read: FioDirection | None = None
    write: FioDirection | None = None
    trim: FioDirection | None = None


class PointDirection(Record):
    """What fio reports of a point's reads, writes or trims; latencies begin with the submission."""

    requests: Whole
    bytes: Whole
    iops: Number
    latency_mean_ns: Number
    latency_p50_ns: Number
    latency_p99_ns: Number


class Counters(Record):
    """What the kernel counted in `duration_ns` (`elevatorlab.agent.observe.kernel_counters`)."""

    duration_ns: Whole
    requests: Whole
    busy_ns: Whole
    context_switches: Whole
    interrupts: Whole
    host_sends: Whole | None = None
    target_sends: Whole | None = None
    scheduler: dict[str, Whole] | None = None


class ProcessorTime(Record):
    """Whose work the processor did (`elevatorlab.agent.observe.processor_time.divide`)."""

    requests: Whole
    time_ns: dict[str, Whole]
    events: dict[str, Whole]


class Point(Record):
    """One run of fio: the options of this point, what fio reports, and what the kernel counted."""

    point: dict[str, str | int]
    read: PointDirection | None = None
    write: PointDirection | None = None
    trim: PointDirection | None = None
    counters: Counters
    processor_time: ProcessorTime | None = None


class FioPoints(Record):
    """All points, in the order of the trial."""

    points: tuple[Point, ...]


class Iostat(Record):
    """iostat's own reports, one per interval; the version of iostat decides their fields."""

    reports: tuple[dict[str, Any], ...]


class IozoneTest(Record):
    """One of iozone's tests, all threads together; fio gives no `parent_kib_s`."""

    test: str
    threads: Whole
    throughput_kib_s: Number
    parent_kib_s: Number | None = None
    slowest_kib_s: Number
    fastest_kib_s: Number
    least_kib: Number


class IozoneRun(Record):
    """All tests with one number of threads, and the bytes that the device served meanwhile."""

    threads: Whole
    probe_read_bytes: Whole
    device_read_bytes: Whole
    device_written_bytes: Whole
    tests: tuple[IozoneTest, ...]


class Iozone(Record):
    """One run for each number of threads."""

    tool: Literal["iozone", "fio"]
    runs: tuple[IozoneRun, ...]


class Interval(Record):
    """The writes that ended in an interval, which ends at `time_s`.

    Results that were stored before the percentile was introduced do not have it.
    """

    time_s: Number
    requests: Whole
    latency_mean_us: Number | None
    latency_p99_us: Number | None = None


class PacedWrites(Record):
    """Writes at a pace.

    Attributes
    ----------
    busy_s : float
        Sum of the latencies of all writes.
    histogram : tuple of (float, int)
        Upper end of each bin, in us, and the bin's count; empty bins are absent.
    series : tuple of Interval
    """

    requests: Whole
    bytes: Whole
    duration_s: Number
    busy_s: Number
    latency_mean_us: Number | None
    latency_percentile_us: dict[str, Number]
    histogram: tuple[tuple[Number, Whole], ...]
    series: tuple[Interval, ...]


class ReplayedRequest(Record):
    """A request that was sent `late_us` after it was due, and took `latency_us`."""

    late_us: Number
    latency_us: Number


class Replay(Record):
    """All requests, in the order of the trial."""

    requests: tuple[ReplayedRequest, ...]


class SerialReplay(Record):
    """What each request took, in the order of the trial."""

    latencies_us: tuple[Number, ...]


class CommitPhase(Record):
    """One run of sysbench.

    Attributes
    ----------
    threads, flush_log_at_trx_commit, warm_up_s : int, float
        As the trial has them.
    commits, duration_s : int, float
        How many commits there were, and how long that took.
    reads, writes, write_sectors, flushes, busy_ms : int
        What the kernel counted for the device; kernels before 5.5 do not count flushes.
    busy_s, idle_while_waiting_s : float or None
        See `elevatorlab.agent.observe.device_idle`; None without tracepoints.
    fsyncs : int
        How often InnoDB called fsync.
    """

    threads: Whole
    flush_log_at_trx_commit: Whole
    warm_up_s: Number
    commits: Whole
    duration_s: Number
    tps: Number
    latency_mean_ms: Number
    latency_max_ms: Number
    latency_p50_ms: Number
    latency_p95_ms: Number
    latency_p99_ms: Number
    reads: Whole
    writes: Whole
    write_sectors: Whole
    busy_ms: Whole
    flushes: Whole | None = None
    busy_s: Number | None
    idle_while_waiting_s: Number | None
    fsyncs: Whole
    utilization_ratio: Number
    cpu_busy_ratio: Number | None


class SysbenchInsert(Record):
    """The phases, one after the other."""

    phases: tuple[CommitPhase, ...]
