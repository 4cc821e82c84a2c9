"""What a real machine can do, from what it is and has."""

from .base import Finding

#: Schedulers that a study may ask for.
SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber", "sbq")

#: NVMe/TCP drivers: the module of each, and what to do where it is not there.
DRIVERS = {
    "stock": ("nvme-tcp", "use a kernel that has it, or the deterministic testbed"),
    "one_send": (
        "nvme-tcp-one-send",
        "install the module (environments/kernel/README.md), or leave it out: -p drivers=stock",
    ),
}

INSTALL = "run environments/provision.sh there"

INSTALL_IOZONE = (
    "add Debian's component non-free to the package sources there and run "
    "environments/provision.sh (or take fio for the same patterns: -p tool=fio)"
)


def capabilities(name, facts):
    """Yield what a machine with these facts can do, one finding for each thing.

    Parameters
    ----------
    name : str
        The testbed.
    facts : dict
        See `elevatorlab.agent.facts`.
    """

    def finding(what, ready, found, remedy="", needed=False):
        return Finding(name, what, found, bool(ready), "" if ready else remedy, needed)

    version = facts["cgroup"]
    yield finding(
        "cgroups with I/O",
        version,
        f"version {version}" if version else "neither version",
        "boot with systemd.unified_cgroup_hierarchy=1",
        needed=True,
    )
    for scheduler in SCHEDULERS:
        there = scheduler in facts["schedulers"]
        found = "offered" if there else f"not in kernel {facts['kernel']}"
        remedy = f"use a kernel that has it, or leave it out: -p schedulers={SCHEDULERS[0]},..."
        if scheduler == "sbq":
            remedy = "install the module (environments/kernel/README.md), or leave it out"
        yield finding(f"scheduler {scheduler}", there, found, remedy)
    disks = ", ".join(facts["scratch"]["disks"])
    free_mib = facts["scratch"]["free_mib"]
    has_loop = facts["loop"] and facts["programs"]["losetup"] and facts["programs"]["mkfs.ext4"]
    yield finding(
        "device file_backed",
        facts.get("test_disk") or (has_loop and free_mib > 512),
        facts.get("test_disk") or f"loop device over a file on {disks or '?'}, {free_mib} MiB free",
        "needs loop devices, losetup, mkfs.ext4 and 512 MiB of disk space",
    )
    yield finding(
        "backing scheduler",
        disks or facts.get("test_disk"),
        f"of {disks}" if disks else "of no block device",
        "keep /var/tmp on a local disk",
    )
    yield finding("device disk", True, "a disk named by its id, with destroy: true")
    yield finding(
        "device null_blk",
        facts["null_blk"],
        "kernel module" if facts["null_blk"] else f"no such module for kernel {facts['kernel']}",
        "use -p device=file_backed, or the deterministic testbed",
    )
    yield finding(
        "device paced_disk",
        facts["loop"] and facts["fuse"] and facts["programs"]["losetup"],
        "loop device over FUSE" if facts["fuse"] else "no FUSE, or no loop devices",
        "modprobe fuse loop",
    )
    yield finding(
        "io.cost",
        facts["io_cost"],
        "io.cost.qos" if facts["io_cost"] else "not in this kernel, or cgroup version 1",
        "boot with systemd.unified_cgroup_hierarchy=1",
    )
    lacking = [name for name in ("nvme-tcp", "nvmet-tcp", "veth") if not facts["modules"][name]]
    yield finding(
        "device nvme_tcp",
        not lacking and facts["null_blk"] and facts["programs"]["ip"],
        f"needs {', '.join(lacking)}" if lacking else "target and host on this machine",
        "name another machine as its target (docs/testbeds.md), or use the deterministic testbed",
    )
    for driver, (module, remedy) in DRIVERS.items():
        there = facts["modules"][module]
        found = f"module {module}" if there else f"not in kernel {facts['kernel']}"
        yield finding(f"driver {driver}", there, found, remedy)
    limits = "blkio.throttle (not for buffered writes)" if version == 1 else "io.max"
    yield finding("limits", version, limits)
    yield finding(
        "weights",
        version == 2 or "bfq" in facts["schedulers"],
        "io.weight" if version == 2 else "blkio.bfq.weight",
    )
    yield finding(
        "page-cache drop",
        facts["drop_caches"],
        "/proc/sys/vm/drop_caches" if facts["drop_caches"] else "may not be written",
        "run as root, outside an unprivileged container",
    )
    yield finding(
        "tracepoints",
        facts["tracefs"],
        "block" if facts["tracefs"] else "tracefs is not mounted, or not in the kernel",
        "mount -t tracefs tracefs /sys/kernel/tracing",
    )
    remedies = dict.fromkeys(("fio", "iostat", "mariadbd", "sysbench"), INSTALL)
    for program, remedy in {**remedies, "iozone": INSTALL_IOZONE}.items():
        there = facts["programs"][program]
        yield finding(f"program {program}", there, "found" if there else "not found", remedy)
    found = facts["virtualization"]
    kind = "bare metal" if found == "none" else f"itself a virtual machine ({found})"
    yield finding("accelerator", True, facts.get("accelerator", kind))
