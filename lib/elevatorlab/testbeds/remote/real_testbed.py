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
from .capabilities import capabilities

#: Difference of the clocks from which on the user is told that times in logs do not match.
SKEW_WORTH_A_WORD_S = 2


class RealTestbed:
    """Base of the testbeds whose trials run on a machine's own kernel and disk.

    Only one trial at a time may use a device, so there is one slot. A subclass defines `name`,
    `facts` and `_run`, and how commands reach the machine.
    """

    name: str
    slots = 1
    anywhere = False
    identity_is = " (machine, kernel, packages and agent make it up)"

    #: The device is a file on the machine's disk, and is as fast as that disk. The disk below gets
    #: the scheduler none, so that it does not interfere. Times of a real processor are not scaled.
    defaults: dict[str, Any] = {
        "device": "file_backed",
        "backing_schedulers": ("none",),
        "time_scale": 1,
        # Two machines have a real network. On one machine, an emulated link would cost too much.
        "link": False,
        # This project's kernel modules run inside the emulated machine only.
        "reimplemented": (),
        "drives": (),
        "cores": (),
        # A real machine keeps the processors that it has.
        "processors": 1,
    }

    def __init__(self, say: Say = print) -> None:
        self.say = say

    # ---- what it can do ---------------------------------------------------------------

    def reachable(self) -> Iterator[Readiness]:
        """Yield findings about the connection to the machine.

        Facts about the machine itself are collected only if all of these findings are ready.
        """
        return iter(())

    def findings(self) -> Iterator[Readiness]:
        """Yield the findings on the connection, then those on the machine."""
        way = list(self.reachable())
        yield from way
        if not all(one.ready for one in way):
            return
        try:
            facts = self.facts
        except NotReady as problem:
            yield Readiness(self.name, "machine", problem.lack, False, problem.remedy, needed=True)
            return
        yield from capabilities(self.name, facts)

    def prepare(self, trials: list[Trial]) -> None:
        """Refuse trials that this machine cannot run; warn if its clock is wrong."""
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
        """Facts about the machine (`elevatorlab.agent.observe.facts`)."""
        raise NotImplementedError

    def machine(self) -> str:
        """Return an id that only this physical machine has."""
        return str(self.facts["machine_id"])

    def accelerator(self) -> str:
        """Return what executes the processor's instructions: bare metal, or a hypervisor."""
        found = self.facts["virtualization"]
        if found == "none":
            return "none (bare metal)"
        return f"the machine is itself virtual ({found})"

    def packages(self) -> dict[str, str | None]:
        """Return the machine's versions of the packages in environments/packages.txt."""
        listed = ENVIRONMENTS.joinpath("packages.txt").read_text().splitlines()
        names = sorted(name for line in listed if (name := line.partition("#")[0].strip()))
        return {name: self.facts["packages"].get(name) for name in names}

    def environment_digest(self) -> str:
        """Return the SHA-256 over `packages`."""
        return hashlib.sha256(json.dumps(self.packages()).encode()).hexdigest()

    def identity(self) -> str:
        """Return the SHA-256 over machine, kernel, packages and agent.

        Besides the trial, these decide the results.
        """
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
        """Run `trial` and return its outcome."""
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
        """Release what `prepare` acquired."""
