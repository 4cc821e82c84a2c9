"""What a real machine can do, derived from the facts about it."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...plugins.schedulers import SCHEDULERS
from ...trial.capabilities import Capability, device, driver, program, remedy_of, scheduler
from ..base import Readiness

#: Kernel modules of the NVMe/TCP drivers.
DRIVERS = {"stock": "nvme-tcp", "one_send": "nvme-tcp-one-send"}

PROGRAMS = ("fio", "iostat", "mariadbd", "sysbench", "iozone")


def capabilities(name: str, facts: Mapping[str, Any]) -> Iterator[Readiness]:
    """Yield what a machine with these facts can do, one finding for each thing."""
    for what, ready, if_ready, if_not in _table(facts):
        found, remedy = (if_ready, "") if ready else (if_not or if_ready, remedy_of(what))
        needed = what == Capability.CGROUPS
        yield Readiness(name, str(what), found, bool(ready), remedy, needed)


def _table(facts: Mapping[str, Any]) -> list[tuple[str, object, str, str]]:
    """Return a row for each thing: whether it can be, and what is found if so, and if not."""
    version, kernel, test_disk = facts["cgroup"], facts["kernel"], facts.get("test_disk")
    modules, programs = facts["modules"], facts["programs"]
    not_there = f"not in kernel {kernel}"
    limits = "blkio.throttle (not for buffered writes)" if version == 1 else "io.max"
    offered = [record for record in SCHEDULERS.values() if record.offered(facts)]
    of_1 = [record.weight_files["1"] for record in offered if "1" in record.weight_files]
    weights = ", ".join(["io.weight"] if version == 2 else of_1)
    disks, free_mib = ", ".join(facts["scratch"]["disks"]), facts["scratch"]["free_mib"]
    over_file = f"loop device over a file on {disks or '?'}, {free_mib} MiB free"
    has_loop = facts["loop"] and programs["losetup"]
    has_room = has_loop and programs["mkfs.ext4"] and free_mib > 512
    lacking = [name for name in ("nvme-tcp", "nvmet-tcp", "veth") if not modules[name]]
    has_target = not lacking and facts["null_blk"] and programs["ip"]
    needs = f"needs {', '.join(lacking)}" if lacking else ""
    found = facts["virtualization"]
    kind = "bare metal" if found == "none" else f"itself a virtual machine ({found})"
    return [
        (Capability.CGROUPS, version, f"version {version}", "neither version"),
        *((scheduler(o.name), o in offered, "offered", not_there) for o in SCHEDULERS.values()),
        (device("file_backed"), test_disk or has_room, test_disk or over_file, ""),
        (Capability.BACKING_SCHEDULER, disks or test_disk, f"of {disks or 'no block device'}", ""),
        (device("disk"), True, "a disk named by its id, with destroy: true", ""),
        (
            device("null_blk"),
            facts["null_blk"],
            "kernel module",
            f"no such module for kernel {kernel}",
        ),
        (
            device("paced_disk"),
            facts["fuse"] and has_loop,
            "loop device over FUSE",
            "no FUSE, loop devices or losetup",
        ),
        (
            Capability.IO_COST,
            facts["io_cost"],
            "io.cost.qos",
            "not in this kernel, or cgroup version 1",
        ),
        (device("nvme_tcp"), has_target, "target and host on this machine", needs),
        (
            Capability.LINK,
            modules["sch_netem"],
            "module sch_netem",
            f"no sch_netem in kernel {kernel}",
        ),
        *((driver(one), modules[of], f"module {of}", not_there) for one, of in DRIVERS.items()),
        (Capability.LIMITS, version, limits, ""),
        (Capability.WEIGHTS, weights, weights, "no scheduler that weighs groups"),
        (
            Capability.PAGE_CACHE_DROP,
            facts["drop_caches"],
            "/proc/sys/vm/drop_caches",
            "may not be written",
        ),
        (
            Capability.TRACEPOINTS,
            facts["tracefs"],
            "block",
            "tracefs is not mounted, or not in the kernel",
        ),
        *((program(one), programs[one], "found", "not found") for one in PROGRAMS),
        ("accelerator", True, facts.get("accelerator", kind), ""),
    ]
