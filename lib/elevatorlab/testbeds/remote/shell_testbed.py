"""Trials on any machine that a shell reaches."""

import functools
from typing import Any

from ...trial import Trial
from .. import agent_answer, agent_archive, plugin_archive
from ..base import Say
from . import far_agent
from .real_testbed import RealTestbed
from .shell import Shell

#: Time beyond the trial's own deadline, to make the device and its files, and to remove them.
SET_UP_S = 300


class ShellTestbed(RealTestbed):
    """A machine that a shell reaches. The agent runs there."""

    defaults = {**RealTestbed.defaults, "arms": ("host",)}

    def __init__(self, shell: Shell, say: Say = print) -> None:
        super().__init__(say)
        self.shell = shell
        self.far = far_agent.FarAgent(shell)
        self._running: str | None = None

    @functools.cached_property
    def facts(self) -> dict[str, Any]:
        """Facts about the machine (`elevatorlab.agent.observe.facts`)."""
        return self.far.facts()

    def takes(self, trial: Trial) -> bool:
        """Tell whether a trial has only plain processes, directly on the host."""
        processes = all(group.isolation == "process" for group in trial.groups)
        return trial.machine == "host" and processes

    def site(self) -> dict[str, Any]:
        """Return what the agent must know about the machine."""
        return {"scratch": self.far.scratch}

    def _run(self, trial: Trial, note: Say) -> dict[str, bytes]:
        run = self._running = f"{trial.hash}-{agent_archive.agent_digest()[:8]}"
        try:
            sent = self.far.run(
                run,
                plugin_archive.with_plugins(trial),
                self.site(),
                note,
                functools.partial(self._bring_containers, run, trial),
                limit_s=trial.deadline_s + SET_UP_S,
            )
        finally:
            self._running = None
        return agent_answer.result_files(sent, sent.get("log.txt", b""))

    def _bring_containers(self, run: str, trial: Trial, wanted: far_agent.Wanted) -> None:
        """Make the containers that the agent waits for; it does where `site` has a rendezvous."""
        raise NotImplementedError

    def stop(self) -> None:
        """End the trial that runs now; the machine is restored before this returns."""
        if self._running:
            self.far.stop(self._running)

    def clean(self) -> str:
        """Clean up after killed runs; return a sentence that says what was done."""
        return self.far.clean()

    def close(self) -> None:
        """End the connection."""
        self.shell.close()
