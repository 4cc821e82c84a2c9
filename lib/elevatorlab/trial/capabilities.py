"""What a trial can require of a testbed, why, and what to do if a testbed lacks it.

The members of `Capability` are a closed list. A requirement that contains a name (of a scheduler, a
kind of device, a driver, a program) is spelled by the functions below, and `FAMILIES` says what it
is for. So whoever registers a scheduler, for example, adds a requirement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..paths import command
from ..plugins.schedulers import IN_THE_IMAGE, SCHEDULERS, SchedulerRecord
from ..plugins.testbeds import DEFAULT

VERSION_2 = "boot with systemd.unified_cgroup_hierarchy=1"


class Capability(StrEnum):
    """Something that a testbed has or lacks; its value is how results spell it."""

    #: What the capability is for.
    sentence: str
    #: What to do if a testbed lacks it.
    remedy: str

    def __new__(cls, name: str, sentence: str, remedy: str) -> Capability:
        """Make a member whose value is `name`."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.sentence = sentence
        member.remedy = remedy
        return member

    CGROUPS = ("cgroups with I/O", "The kernel counts and limits I/O by group.", VERSION_2)
    LIMITS = ("limits", "A group's bytes or requests per second are limited.", VERSION_2)
    WEIGHTS = ("weights", "A group gets a share of the device by its weight.", VERSION_2)
    IO_COST = ("io.cost", "The kernel's cost controller divides the device.", VERSION_2)
    PAGE_CACHE_DROP = (
        "page-cache drop",
        "The page cache is emptied before a read.",
        "run as root, outside an unprivileged container",
    )
    TRACEPOINTS = (
        "tracepoints",
        "The kernel tells each request's way through the block layer.",
        "run mount -t tracefs tracefs /sys/kernel/tracing",
    )
    LINK = (
        "link",
        "The cable between an NVMe/TCP host and its target has a rate and a delay.",
        "leave it out (-p link=false), or use the deterministic testbed",
    )
    VIRTUAL_MACHINES = (
        "virtual machines",
        "A group is a virtual machine of its own, made by KVM inside the machine.",
        "use the deterministic testbed (docs/virtual_machines.md)",
    )
    PROCESSORS = (
        "processors",
        "The machine has as many processors as a trial asks for.",
        "use the deterministic testbed (docs/multicore.md)",
    )
    ROUNDS = (
        "rounds",
        "The processors are emulated, and a trial says how they take turns.",
        "use the deterministic testbed (docs/multicore.md)",
    )
    BACKING_SCHEDULER = (
        "backing scheduler",
        "The scheduler of the physical disk below the device is set.",
        "keep /var/tmp on a local disk",
    )


def scheduler(name: str) -> str:
    """Return the requirement of a scheduler, as testbeds and results spell it."""
    return f"scheduler {name}"


def device(kind: str) -> str:
    """Return the requirement of a kind of device, as testbeds and results spell it."""
    return f"device {kind}"


def driver(name: str) -> str:
    """Return the requirement of an NVMe/TCP driver, as testbeds and results spell it."""
    return f"driver {name}"


def program(name: str) -> str:
    """Return the requirement of a program, as testbeds and results spell it."""
    return f"program {name}"


def processors(number: int) -> str:
    """Return the requirement of so many processors, as results spell it."""
    return f"{Capability.PROCESSORS} {number}"


@dataclass(frozen=True)
class Family:
    """The requirements that begin with one word and end with a name."""

    #: What such a requirement is for; ``{}`` stands for the name.
    sentence: str
    #: What to do if a testbed lacks it; ``{}`` stands for the name.
    remedy: str
    #: Remedies by name, where they differ from `remedy`.
    remedies: Mapping[str, str] = field(default_factory=dict)


LEAVE_OUT = "or leave it out: -p schedulers=..."

#: What the requirements that contain a name are for, and what to do, by their first word. Every
#: testbed takes both from here. A scheduler's remedy begins with that of its record.
FAMILIES = {
    scheduler(""): Family(
        "The device under test can have the I/O scheduler {}.", f"install its module, {LEAVE_OUT}"
    ),
    device(""): Family(
        "The device under test can be a {}.",
        "use another device, or a testbed that has this one",
        {
            "disk": "use a real machine that has the disk: --testbed host",
            "drive": "use the deterministic testbed, the only one that has disks with an arm",
            "file_backed": "use a real machine (--testbed host) with loop devices, losetup, "
            "mkfs.ext4 and 512 MiB of disk space",
            "null_blk": "use -p device=file_backed, or the deterministic testbed",
            "nvme_tcp": "install the kernel's modules nvme-tcp and nvmet-tcp, and iproute2, name "
            "another machine as its target (docs/testbeds.md), or use the deterministic testbed",
            "paced_disk": "run modprobe fuse loop, or use the deterministic testbed",
        },
    ),
    driver(""): Family(
        "A disk over NVMe/TCP can have the host's driver {}.",
        "install its module, or leave it out: -p drivers=stock",
        {
            "stock": "use a kernel that has it, or the deterministic testbed",
            "one_send": "install the module (environments/kernel/README.md), or leave it out: "
            "-p drivers=stock",
        },
    ),
    program(""): Family(
        "A workload or the set-up runs the program {}.",
        "run environments/provision.sh on the machine under test",
        {
            "iozone": "add Debian's component non-free to the package sources and run "
            "environments/provision.sh on the machine under test, for the deterministic one "
            f"{command('image build --force')} (or take fio for the same patterns: -p tool=fio)"
        },
    ),
    f"{Capability.PROCESSORS} ": Family(
        "The machine has {} processors.",
        f"use --testbed '{DEFAULT}?cpus={{}}' (docs/multicore.md)",
    ),
}


_BY_NAME = {str(capability.value): capability for capability in Capability}


def _family(what: str) -> tuple[Family, str] | None:
    """Return the family of a requirement, and the name in it; None if it has none."""
    for start, family in FAMILIES.items():
        if what.startswith(start):
            return family, what.removeprefix(start)
    return None


def sentence_of(what: str) -> str:
    """Return a sentence on what a capability is for; "" for all else, as a testbed's own needs.

    >>> sentence_of("limits")
    "A group's bytes or requests per second are limited."
    >>> sentence_of("program fio")
    'A workload or the set-up runs the program fio.'
    """
    if what in _BY_NAME:
        return _BY_NAME[what].sentence
    if found := _family(what):
        family, name = found
        return family.sentence.format(name)
    return ""


def remedy_of(what: str) -> str:
    """Return the remedy for a testbed that lacks a capability.

    >>> remedy_of("device null_blk")
    'use -p device=file_backed, or the deterministic testbed'
    """
    if what in _BY_NAME:
        return _BY_NAME[what].remedy
    if found := _family(what):
        family, name = found
        if family is FAMILIES[scheduler("")] and name in SCHEDULERS:
            return _remedy_of_scheduler(SCHEDULERS.get(name))
        return family.remedies.get(name, family.remedy.format(name))
    return "use another testbed"


def _remedy_of_scheduler(record: SchedulerRecord) -> str:
    remedy = f"{record.remedy}, {LEAVE_OUT}"
    if record.folder is None and record.source not in IN_THE_IMAGE:
        return f"{remedy} (only a real machine can have it: --testbed host)"
    return remedy
