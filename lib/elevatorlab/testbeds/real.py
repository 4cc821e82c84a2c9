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
from .capabilities import capabilities

#: A difference of the clocks that a reader of two logs would stumble over.
SKEW_WORTH_A_WORD_S = 2


class RealTestbed:
    """Base of the testbeds whose trials run on a machine's own kernel and disk.

    A device is used by one trial at a time, so there is one slot. Subclasses have `name`,
    `facts`, `_run` (a trial's files), and say how commands reach the machine.
    """

    slots = 1
    anywhere = False
    identity_is = " (machine, kernel, packages and agent make it up)"

    #: The device is as fast as the machine's disk, whose own scheduler stays out of the way. A real
    #: processor's time needs no scale.
    defaults = {"device": "file_backed", "backing_schedulers": ("none",), "time_scale": 1}

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
