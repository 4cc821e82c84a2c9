"""What the testbeds on real machines share: facts, capabilities, identity, provenance."""

import functools
import hashlib
import json
import platform
import time

from ..errors import NotReady
from ..paths import ENVIRONMENTS
from . import pyz
from .base import Finding, refuse_what_is_missing

#: Schedulers that a study may ask for.
SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber", "sbq")

#: A difference of the clocks that a reader of two logs would stumble over.
SKEW_WORTH_A_WORD_S = 2

INSTALL = "run environments/provision.sh there"

INSTALL_IOZONE = (
    "add Debian's component non-free to the package sources there and run "
    "environments/provision.sh (or take fio for the same patterns: -p tool=fio)"
)


class RealTestbed:
    """Base of the testbeds whose trials run on a machine's own kernel and disk.

    A device is used by one trial at a time, so there is one slot. Subclasses have `name`,
    `facts`, `_run` (a trial's files), and say how commands reach the machine.
    """

    slots = 1
    anywhere = False
    identity_is = " (machine, kernel, packages and agent make it up)"

    #: The device is as fast as the machine's disk, whose own scheduler stays out of the way.
    defaults = {"device": "file_backed", "backing_schedulers": ("none",)}

    def __init__(self, say=print):
        self.say = say

    # ---- what it can do ---------------------------------------------------------------

    def reachable(self):
        """Yield findings about the way to the machine; the facts come after it."""
        return iter(())

    def findings(self):
        """Say what there is of what the testbed needs, and what it can do."""
        yield from self.reachable()
        try:
            facts = self.facts
        except NotReady as problem:
            yield Finding(self.name, "machine", str(problem), False, needed=True)
            return
        yield from capabilities(self.name, facts)

    def prepare(self, trials):
        """Refuse what this machine cannot run."""
        refuse_what_is_missing(self, self.findings(), trials)
        skew_s = self.facts["clock_skew_s"]
        if abs(skew_s) > SKEW_WORTH_A_WORD_S:
            self.say(
                f"{self.name}: the clock there is {abs(skew_s):.0f} s "
                f"{'ahead' if skew_s > 0 else 'behind'}; results do not depend on it (times are "
                "taken there, from a clock that is never set), but logs will not line up"
            )

    # ---- what it is -------------------------------------------------------------------

    @functools.cached_property
    def facts(self):
        """What the machine is and has (`elevatorlab.agent.facts`)."""
        raise NotImplementedError

    def machine(self):
        """Return what tells the physical machine below from others."""
        return self.facts["machine_id"]

    def accelerator(self):
        """Return what executes the processor's instructions."""
        found = self.facts["virtualization"]
        if found == "none":
            return "none (bare metal)"
        return f"the machine is itself virtual ({found})"

    def packages(self):
        """Return the versions, on the machine, of the packages that environments/ lists."""
        listed = ENVIRONMENTS.joinpath("packages.txt").read_text().splitlines()
        names = sorted(name for line in listed if (name := line.partition("#")[0].strip()))
        return {name: self.facts["packages"].get(name) for name in names}

    def environment_digest(self):
        """Return the SHA-256 over `packages`."""
        return hashlib.sha256(json.dumps(self.packages()).encode()).hexdigest()

    def identity(self):
        """Return what, besides the trial, decides the results: machine, kernel, packages, agent."""
        parts = [
            *(self.name, self.machine(), self.facts["kernel"], self.accelerator()),
            *(self.environment_digest(), pyz.agent_digest()),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def folder_name(self):
        """Return the name of the folder that this testbed's results go to."""
        return f"{self.name}-{self.machine()[:8]}"

    # ---- what it does -----------------------------------------------------------------

    def run(self, trial, folder, note):
        """Run `trial`, write its result into the empty `folder`, return the provenance."""
        start_s = time.monotonic()
        self._run(trial, folder, note)
        return {
            "testbed": self.name,
            "machine": self.machine(),
            "image_digest": self.environment_digest(),
            "agent_digest": pyz.agent_digest(),
            "kernel": self.facts["kernel"],
            "packages": self.packages(),
            "accelerator": self.accelerator(),
            "clock_skew_s": self.facts["clock_skew_s"],
            "host": {
                "cpu": self.facts["cpu"],
                "kernel": self.facts["kernel"],
                "machine": self.facts["architecture"],
                "cores": self.facts["cores"],
                "disks": self.facts["scratch"]["disks"],
            },
            "client": {"kernel": platform.release(), "machine": platform.machine()},
            "wall_s": round(time.monotonic() - start_s, 3),
        }

    def close(self):
        """Give back what `prepare` took."""


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
    has_rig = facts["nvme_tcp"] and facts["null_blk"] and facts["programs"]["ip"]
    yield finding(
        "device nvme_tcp",
        has_rig,
        "target and host on this machine" if has_rig else "needs nvme-tcp, nvmet-tcp, veth, ip",
        "use a disk of another machine's (docs/testbeds.md), or the deterministic testbed",
    )
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
