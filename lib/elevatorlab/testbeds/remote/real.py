"""What the testbeds on real machines share: facts, capabilities, identity, provenance."""

import functools
import hashlib
import json
import platform
import time
from collections.abc import Iterator
from typing import Any

from ...errors import NotReady
from ...paths import ENVIRONMENTS
from ...results.outcome import Outcome
from ...trial import Trial
from .. import agent_archive
from ..base import Readiness, Say, refuse_what_is_missing
from ..capabilities import capabilities

#: A difference of the clocks that a reader of two logs would stumble over.
SKEW_WORTH_A_WORD_S = 2


class RealTestbed:
    """Base of the testbeds whose trials run on a machine's own kernel and disk.

    A device is used by one trial at a time, so there is one slot. Subclasses have `name`,
    `facts`, `_run` (the files of a trial's result), and say how commands reach the machine.
    """

    name: str
    slots = 1
    anywhere = False
    identity_is = " (machine, kernel, packages and agent make it up)"

    #: The device is as fast as the machine's disk, whose own scheduler stays out of the way. A real
    #: processor's time needs no scale.
    defaults: dict[str, Any] = {
        "device": "file_backed",
        "backing_schedulers": ("none",),
        "time_scale": 1,
        # Two machines have a network of their own; on one, its processor is busy enough.
        "link": False,
        # A module of our own runs inside the emulated machine alone.
        "reimplemented": (),
        "drives": (),
    }

    def __init__(self, say: Say = print) -> None:
        self.say = say

    # ---- what it can do ---------------------------------------------------------------

    def reachable(self) -> Iterator[Readiness]:
        """Yield findings about the connection to the machine.

        The facts about the machine itself are asked for only afterwards.
        """
        return iter(())

    def findings(self) -> Iterator[Readiness]:
        """Say what there is of what the testbed needs, and what it can do."""
        way = list(self.reachable())
        yield from way
        if not all(one.ready for one in way):
            return
        try:
            facts = self.facts
        except NotReady as problem:
            yield Readiness(self.name, "machine", str(problem), False, needed=True)
            return
        yield from capabilities(self.name, facts)

    def prepare(self, trials: list[Trial]) -> None:
        """Refuse what this machine cannot run."""
        refuse_what_is_missing(self.name, self.findings(), trials)
        skew_s = self.facts["clock_skew_s"]
        if abs(skew_s) > SKEW_WORTH_A_WORD_S:
            self.say(
                f"{self.name}: the clock there is {abs(skew_s):.0f} s "
                f"{'ahead' if skew_s > 0 else 'behind'}; results do not depend on it (times are "
                "taken there, from a clock that is never set), but logs will not line up"
            )

    # ---- what it is -------------------------------------------------------------------

    @functools.cached_property
    def facts(self) -> dict[str, Any]:
        """What the machine is and has (`elevatorlab.agent.observe.facts`)."""
        raise NotImplementedError

    def machine(self) -> str:
        """Return an id that only this physical machine has."""
        return str(self.facts["machine_id"])

    def accelerator(self) -> str:
        """Return what executes the processor's instructions."""
        found = self.facts["virtualization"]
        if found == "none":
            return "none (bare metal)"
        return f"the machine is itself virtual ({found})"

    def packages(self) -> dict[str, str | None]:
        """Return the versions, on the machine, of the packages that environments/ lists."""
        listed = ENVIRONMENTS.joinpath("packages.txt").read_text().splitlines()
        names = sorted(name for line in listed if (name := line.partition("#")[0].strip()))
        return {name: self.facts["packages"].get(name) for name in names}

    def environment_digest(self) -> str:
        """Return the SHA-256 over `packages`."""
        return hashlib.sha256(json.dumps(self.packages()).encode()).hexdigest()

    def identity(self) -> str:
        """Return what, besides the trial, decides the results: machine, kernel, packages, agent."""
        parts = [
            *(self.name, self.machine(), self.facts["kernel"], self.accelerator()),
            *(self.environment_digest(), agent_archive.agent_digest()),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def folder_name(self) -> str:
        """Return the name of the folder that this testbed's results go to."""
        return f"{self.name}-{self.machine()[:8]}"

    # ---- what it does -----------------------------------------------------------------

    def run(self, trial: Trial, note: Say) -> Outcome:
        """Run `trial` and return what it came to."""
        start_s = time.monotonic()
        files = self._run(trial, note)
        return Outcome(files, self._provenance(time.monotonic() - start_s))

    def _run(self, trial: Trial, note: Say) -> dict[str, bytes]:
        """Return the files of a trial's result."""
        raise NotImplementedError

    def _provenance(self, wall_s: float) -> dict[str, Any]:
        return {
            "testbed": self.name,
            "machine": self.machine(),
            "image_digest": self.environment_digest(),
            "agent_digest": agent_archive.agent_digest(),
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
            "wall_s": round(wall_s, 3),
        }

    def close(self) -> None:
        """Give back what `prepare` took."""
