"""What a trial can require of a testbed, why, and what to do if a testbed lacks it.

The members of `Capability` are a closed list. A requirement that contains a name (of a scheduler, a
kind of device, a driver, a program) is spelled by the functions below. So whoever registers a
scheduler, for example, adds a requirement.
"""

from __future__ import annotations

from enum import StrEnum

from ..plugins.testbeds import ADDRESSES, MULTICORE, NESTED

VERSION_2 = "boot with systemd.unified_cgroup_hierarchy=1"


class Capability(StrEnum):
    """Something that a testbed has or lacks; its value is how results spell it.

    Attributes
    ----------
    sentence : str
        What the capability is for.
    remedy : str
        What to do if a testbed lacks it.
    """

    sentence: str
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
        f"use --testbed '{ADDRESSES[NESTED]}' (docs/virtual_machines.md)",
    )
    PROCESSORS = (
        "processors",
        "An NVMe/TCP host and its target have processors of their own on one machine.",
        f"use --testbed '{ADDRESSES[MULTICORE]}' (docs/multicore.md)",
    )
    BACKING_SCHEDULER = (
        "backing scheduler",
        "The scheduler of the physical disk below the device is set.",
        "keep /var/tmp on a local disk",
    )


def remedy_of(what: str) -> str:
    """Return the remedy for a testbed that lacks a capability."""
    for capability in Capability:
        if what == capability:
            return capability.remedy
    return "use another testbed"


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


#: What the requirements that contain a name are for, by their first word.
_NAMED = {
    scheduler(""): "The device under test can have the I/O scheduler {}.",
    device(""): "The device under test can be a {}.",
    driver(""): "A disk over NVMe/TCP can have the host's driver {}.",
    program(""): "A workload or the set-up runs the program {}.",
}


def sentence_of(what: str) -> str:
    """Return a sentence on what a capability is for; "" for all else, as a testbed's own needs.

    >>> sentence_of("limits")
    "A group's bytes or requests per second are limited."
    >>> sentence_of("program fio")
    'A workload or the set-up runs the program fio.'
    """
    for capability in Capability:
        if what == capability:
            return capability.sentence
    for start, sentence in _NAMED.items():
        if what.startswith(start):
            return sentence.format(what.removeprefix(start))
    return ""
