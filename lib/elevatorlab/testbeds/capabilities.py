"""What a real machine can do, derived from the facts about it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..plugins.schedulers import SCHEDULERS, SchedulerRecord
from ..trial.capabilities import Capability, device, driver, program, remedy_of, scheduler
from .base import Readiness

#: Kernel modules of the NVMe/TCP drivers.
DRIVERS = {"stock": "nvme-tcp", "one_send": "nvme-tcp-one-send"}

PROGRAMS = ("fio", "iostat", "mariadbd", "sysbench", "iozone")


def capabilities(name: str, facts: Mapping[str, Any]) -> Iterator[Readiness]:
    """Yield what a machine with these facts can do, one finding for each thing."""

    def finding(what: str, ready: object, found: str, needed: bool = False) -> Readiness:
        remedy = "" if ready else remedy_of(what)
        return Readiness(name, str(what), found, bool(ready), remedy, needed)

    version = facts["cgroup"]
    yield finding(
        Capability.CGROUPS,
        version,
        f"version {version}" if version else "neither version",
        needed=True,
    )
    offered = [record for record in SCHEDULERS.values() if record.offered(facts)]
    for record in SCHEDULERS.values():
        found = "offered" if record in offered else f"not in kernel {facts['kernel']}"
        yield finding(scheduler(record.name), record in offered, found)
    disks = ", ".join(facts["scratch"]["disks"])
    free_mib = facts["scratch"]["free_mib"]
    has_loop = facts["loop"] and facts["programs"]["losetup"] and facts["programs"]["mkfs.ext4"]
    yield finding(
        device("file_backed"),
        facts.get("test_disk") or (has_loop and free_mib > 512),
        facts.get("test_disk") or f"loop device over a file on {disks or '?'}, {free_mib} MiB free",
    )
    yield finding(
        Capability.BACKING_SCHEDULER,
        disks or facts.get("test_disk"),
        f"of {disks}" if disks else "of no block device",
    )
    yield finding(device("disk"), True, "a disk named by its id, with destroy: true")
    yield finding(
        device("null_blk"),
        facts["null_blk"],
        "kernel module" if facts["null_blk"] else f"no such module for kernel {facts['kernel']}",
    )
    yield finding(
        device("paced_disk"),
        facts["loop"] and facts["fuse"] and facts["programs"]["losetup"],
        "loop device over FUSE" if facts["fuse"] else "no FUSE, or no loop devices",
    )
    yield finding(
        Capability.IO_COST,
        facts["io_cost"],
        "io.cost.qos" if facts["io_cost"] else "not in this kernel, or cgroup version 1",
    )
    lacking = [name for name in ("nvme-tcp", "nvmet-tcp", "veth") if not facts["modules"][name]]
    yield finding(
        device("nvme_tcp"),
        not lacking and facts["null_blk"] and facts["programs"]["ip"],
        f"needs {', '.join(lacking)}" if lacking else "target and host on this machine",
    )
    has_netem = facts["modules"]["sch_netem"]
    yield finding(
        Capability.LINK,
        has_netem,
        "module sch_netem" if has_netem else f"no sch_netem in kernel {facts['kernel']}",
    )
    for name_of_driver, module in DRIVERS.items():
        there = facts["modules"][module]
        found = f"module {module}" if there else f"not in kernel {facts['kernel']}"
        yield finding(driver(name_of_driver), there, found)
    limits = "blkio.throttle (not for buffered writes)" if version == 1 else "io.max"
    yield finding(Capability.LIMITS, version, limits)
    weights = ["io.weight"] if version == 2 else _weight_files_of_version_1(offered)
    yield finding(
        Capability.WEIGHTS,
        weights,
        ", ".join(weights) or "no scheduler that weighs groups",
    )
    yield finding(
        Capability.PAGE_CACHE_DROP,
        facts["drop_caches"],
        "/proc/sys/vm/drop_caches" if facts["drop_caches"] else "may not be written",
    )
    yield finding(
        Capability.TRACEPOINTS,
        facts["tracefs"],
        "block" if facts["tracefs"] else "tracefs is not mounted, or not in the kernel",
    )
    for name_of_program in PROGRAMS:
        there = facts["programs"][name_of_program]
        yield finding(program(name_of_program), there, "found" if there else "not found")
    found = facts["virtualization"]
    kind = "bare metal" if found == "none" else f"itself a virtual machine ({found})"
    yield finding("accelerator", True, facts.get("accelerator", kind))


def _weight_files_of_version_1(offered: Iterable[SchedulerRecord]) -> list[str]:
    return [record.weight_files["1"] for record in offered if "1" in record.weight_files]
