"""The records of a stored result, with a version: ``result.json`` and ``provenance.json``.

The version changes when a reader of these files must know of the change.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from ..records import Number, Record
from ..trial.required_plugins import Plugin

SCHEMA_VERSION: Literal[2] = 2


class Proof(Record):
    """Evidence that a knob was set.

    Attributes
    ----------
    knob : str
        A file of the kernel; without such a file, the name of what was set.
    written, read : str
        What was written to it, and what it showed afterwards.
    probe : str or None
        What a short test of its effect showed.
    """

    knob: str
    written: str
    read: str
    probe: str | None = None


class Rates(Record):
    """Rates of the device, or of a partition, over `duration_s`, as in ``iostat -x``."""

    duration_s: Number
    read_iops: Number
    write_iops: Number
    read_kib_s: Number
    write_kib_s: Number
    read_await_ms: Number | None
    write_await_ms: Number | None
    queue_length: Number
    utilization_ratio: Number


class Server(Record):
    """How busy a disk's server was, and its mean time per request; None if that is unknown."""

    busy_ratio: Number | None
    service_ms: Number | None


class Result(Record):
    """What a trial measured: ``result.json``.

    Attributes
    ----------
    proofs : tuple of Proof
        In the order in which the knobs were set.
    cpu_busy_ratio : float or None
        Busy time of the processors, divided by all their time.
    device : Rates
    server : Server
    partitions : dict of Rates
        By group, if each group has a partition of its own.
    regulator : tuple of dict, or None
        Events of the isolation regulator (docs/regulator.md); None if no regulator ran.
    workloads : dict
        What each workload measured (`elevatorlab.trial.measurements`), by its name.
    """

    schema_version: Literal[2] = SCHEMA_VERSION
    outcome: Literal["finished"]
    proofs: tuple[Proof, ...]
    cpu_busy_ratio: Number | None
    device: Rates
    server: Server
    partitions: dict[str, Rates]
    regulator: tuple[dict[str, Any], ...] | None
    workloads: dict[str, Mapping[str, Any]]


class Host(Record):
    """The machine that ran the trial, or that ran the emulator with the trial.

    Attributes
    ----------
    disks : tuple of str
        Disks below the files of file-backed devices.
    """

    cpu: str
    kernel: str
    machine: str
    cores: int | None
    disks: tuple[str, ...] = ()


class Client(Record):
    """The machine that asked for the trial."""

    kernel: str
    machine: str


class Target(Record):
    """The machine that served a disk over the network."""

    cpu: str
    cores: int | None
    kernel: str
    architecture: str
    virtualization: str


class BuiltModule(Record):
    """A kernel module that was built for a trial.

    Attributes
    ----------
    sources : str
        Digest of the module's sources, as the trial has it.
    sha256 : str
        SHA-256 of the module that was loaded.
    """

    sources: str
    sha256: str


class Provenance(Record):
    """Where a result comes from: ``provenance.json``, with all that the host decides.

    Attributes
    ----------
    testbed, machine : str
        The testbed's name, and an id that only this physical machine has.
    accelerator : str
        What executed the processor's instructions.
    image_digest : str
        SHA-256 of the deterministic image, or of a real machine's package versions.
    agent_digest : str
        SHA-256 of the agent's archive.
    kernel : str
    packages : dict of str to str or None
        Versions of the Debian packages that trials use; None if a package is not installed.
    package : str
        Version of this package.
    capabilities : tuple of str
        Capabilities that the trial required. The testbed had all of them: otherwise, it refuses a
        trial.
    plugins : tuple of Plugin
        The plug-ins that the trial used.
    testbed_plugin : Plugin or None
        The plug-in that the testbed is; None for our testbeds.
    modules : dict of str to BuiltModule
        The kernel modules that were built for the trial.
    host, client, target : Host, Client, Target
        The machines. Only results of real machines have `client`; only results of a pair have
        `target`.
    qemu, boot_ram_sha256 : str or None
        The emulator's version, and the digest of the booted machine's memory.
    clock_skew_s : float or None
        Time by which the machine's clock is ahead of the client's.
    wall_s : float
        How long the trial took.
    """

    schema_version: Literal[2] = SCHEMA_VERSION
    testbed: str
    machine: str
    accelerator: str
    image_digest: str
    agent_digest: str
    kernel: str
    packages: dict[str, str | None] = {}
    package: str
    capabilities: tuple[str, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    testbed_plugin: Plugin | None = None
    modules: dict[str, BuiltModule] = {}
    host: Host
    client: Client | None = None
    target: Target | None = None
    qemu: str | None = None
    boot_ram_sha256: str | None = None
    clock_skew_s: Number | None = None
    wall_s: Number


class Sample(Record):
    """One row of ``samples.csv``: the device, or one group, over one interval.

    The file's version is that of ``result.json`` beside it.
    """

    time_s: Number = Field(
        description="End of the interval, from the first sample on", json_schema_extra={"unit": "s"}
    )
    target: str = Field(description="`device`, or the name of a group")
    read_iops: Number = Field(
        description="Reads that ended", json_schema_extra={"unit": "requests/s"}
    )
    write_iops: Number = Field(
        description="Writes that ended", json_schema_extra={"unit": "requests/s"}
    )
    read_kib_s: Number = Field(description="Bytes read", json_schema_extra={"unit": "KiB/s"})
    write_kib_s: Number = Field(description="Bytes written", json_schema_extra={"unit": "KiB/s"})
    read_await_ms: Number | None = Field(
        description="Mean time of a read; none where none ended", json_schema_extra={"unit": "ms"}
    )
    write_await_ms: Number | None = Field(
        description="Mean time of a write; none where none ended", json_schema_extra={"unit": "ms"}
    )
    queue_length: Number | None = Field(
        description="Mean number of requests in flight; none of a group on a shared device",
        json_schema_extra={"unit": "requests"},
    )
    utilization_ratio: Number | None = Field(
        description="Part of the time with any request in flight; none as above",
        json_schema_extra={"unit": "1"},
    )
