"""Run trials in containers of a Docker engine, here or on another machine."""

import functools
import json
import shlex
from collections.abc import Iterator
from typing import Any

import docker
from docker.models.containers import Container
from docker.models.images import Image

from ...errors import ElevatorLabError, NotReady, TrialFailed
from ...paths import command
from ...trial import Trial
from .. import agent_archive
from ..base import Readiness, Say
from ..remote import far_agent
from ..remote.shell import ConnectionLost, LocalShell
from ..remote.shell_testbed import ShellTestbed
from . import engine, groups
from .shell import BROKEN, ContainerShell

IMAGE = "elevatorlab-environment"

#: Linux capabilities of the agent's container: to attach devices, set knobs, drop the page cache,
#: load the kernel's own modules, and see which machine the container is on.
CAPABILITIES = ["SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE"]

AGENT_NAME = f"elevatorlab-agent-{agent_archive.agent_digest()[:12]}"

#: The agent's folder; its path is the same in the container and on the engine's machine.
FOLDER = "/var/tmp/elevatorlab-0"

#: The agent's id of a machine whose own id it cannot read (agent/observe/facts.py).
UNKNOWN = "unknown"


class DockerTestbed(ShellTestbed):
    """A Docker engine, through its API; the machine needs nothing else.

    The agent runs on the engine's machine, in a container with the rights that it needs. The
    processes of a trial run in ordinary containers.

    `address`: ``ssh://USER@HOST:PORT`` of another machine's engine; by default the engine that
    Docker's own environment variables name.
    """

    name = "docker"
    defaults = {**ShellTestbed.defaults, "arms": ("container",)}

    def __init__(self, address: str | None = None, say: Say = print) -> None:
        if address is not None and not address.startswith("ssh://"):
            form = "docker+ssh://[USER@]HOST[:PORT]"
            raise ElevatorLabError(f"testbed docker: expected {form}; found {address!r}")
        self.address = address
        super().__init__(ContainerShell(address or "this machine", self._agent_container), say)

    # ---- the engine -------------------------------------------------------------------

    @functools.cached_property
    def client(self) -> docker.DockerClient:
        """Client of the engine."""
        return engine.connect(self.address)

    @functools.cached_property
    def image(self) -> Image:
        """The environment's image."""
        try:
            return self.client.images.get(IMAGE)
        except docker.errors.ImageNotFound:
            remedy = "Build it with: make environment-image"
            if self.address:
                there = shlex.quote(self.address)
                remedy += f", and bring it: docker save {IMAGE} | docker -H {there} load"
            raise NotReady(f"the engine has no image {IMAGE}", remedy) from None

    def reachable(self) -> Iterator[Readiness]:
        """Yield the findings on the engine and the image."""
        try:
            version = self.client.version()["Version"]
            yield Readiness(self.name, "engine", f"version {version}", True, needed=True)
            yield Readiness(self.name, "image", self.image.short_id, True, needed=True)
        except NotReady as problem:
            what, lack = "engine and image", problem.lack
            yield Readiness(self.name, what, lack, False, problem.remedy, needed=True)

    # ---- the agent's container --------------------------------------------------------

    def _agent_container(self) -> Container:
        """Return the agent's container; start it if it does not run."""
        try:
            container = self.client.containers.get(AGENT_NAME)
            if container.status == "running":
                return container
            container.remove(force=True)
        except docker.errors.NotFound:
            pass
        except BROKEN:
            self.__dict__.pop("client", None)  # docker-py does not repair an SSH connection
            raise
        return self.client.containers.run(
            self.image,
            ["sh", "-c", "mount -o remount,bind,rw /proc/sys && exec sleep infinity"],
            name=AGENT_NAME,
            labels={groups.LABEL: "agent"},
            detach=True,
            init=True,
            cap_add=CAPABILITIES,
            device_cgroup_rules=["b *:* rmw", "c *:* rmw"],
            security_opt=["apparmor=unconfined"],
            pid_mode="host",
            cgroupns="host",
            network_mode="none",
            volumes={
                "/dev": {"bind": "/dev"},
                "/sys": {"bind": "/sys"},
                "/lib/modules": {"bind": "/lib/modules", "mode": "ro"},
                "/run/elevatorlab": {"bind": "/run/elevatorlab"},
                # Runs outlive the container. The paths in the journal are the same outside, so
                # that `elevatorlab clean` on the machine itself finds the files, too.
                FOLDER: {"bind": FOLDER},
            },
        )

    # ---- what it does -----------------------------------------------------------------

    @functools.cached_property
    def facts(self) -> dict[str, Any]:
        """Facts about the engine's machine (`elevatorlab.agent.observe.facts`).

        A container may not see its machine's id. If its kernel has the boot id of this machine,
        the container is on this machine.
        """
        there = self.far.facts()
        if there["machine_id"] == UNKNOWN:
            here = far_agent.FarAgent(LocalShell()).facts(root=False)
            if here["boot_id"] == there["boot_id"]:
                there["machine_id"] = here["machine_id"]
        return there

    def takes(self, trial: Trial) -> bool:
        """Tell whether all groups of a trial are containers, directly on the host."""
        containers = all(group.isolation == "container" for group in trial.groups)
        return trial.machine == "host" and containers

    def environment_digest(self) -> str:
        """Return the digest of the image of the containers."""
        return str(self.image.id).removeprefix("sha256:")

    def site(self) -> dict[str, Any]:
        """Return what the agent must know, with the folder that it shares with the containers."""
        assert self._running  # this is called during a trial only
        return {**super().site(), "rendezvous": str(groups.MEETING_PLACE / self._running)}

    def _run(self, trial: Trial, note: Say) -> dict[str, bytes]:
        run = f"{trial.hash}-{agent_archive.agent_digest()[:8]}"
        try:
            return super()._run(trial, note)
        finally:
            self._take_down(run)

    def _bring_containers(self, run: str, trial: Trial, wanted: far_agent.Wanted) -> None:
        """Answer the agent's request for containers, if the agent still waits for the answer.

        The request may be read twice: after an answer that failed, or by a client that rejoins the
        run. By then, the agent may have its answer. The run may even have ended, and have removed
        the shared folder.
        """
        place = groups.MEETING_PLACE / run
        answer = place / "containers.json"
        waits = f"test -d {place} && test ! -e {answer} && echo waits || true"
        if not self.shell.run(["sh", "-c", waits]).strip():
            return
        try:
            containers = groups.make(self.client, self.image, run, trial, *wanted)
        except docker.errors.APIError as problem:
            self.far.stop(run)
            raise TrialFailed(
                f"the engine could not make the trial's containers: {problem.explanation}"
            ) from None
        except BROKEN as problem:
            raise ConnectionLost(f"the engine does not answer ({problem})") from None
        self.shell.put(json.dumps(containers).encode(), f"{answer}.part")
        self.shell.run(["mv", f"{answer}.part", str(answer)])

    def _take_down(self, run: str) -> None:
        try:
            groups.remove(self.client, run)
            self.shell.run(["rm", "-rf", str(groups.MEETING_PLACE / run)])
        except (*BROKEN, ConnectionLost) as problem:
            self.say(f"{problem}; `{command('clean')}` removes what is left of {run}")

    def clean(self) -> str:
        """Clean up after killed runs; return a sentence that says what was done."""
        sentence = super().clean()
        self.shell.run(["rm", "-rf", str(groups.MEETING_PLACE)])
        return f"{sentence}; {groups.remove(self.client)} containers and volumes removed"

    def close(self) -> None:
        """Remove the agent's container, unless a trial still runs in it without a client."""
        try:
            container = self.client.containers.get(AGENT_NAME)
            # An engine runs nothing in a container that has stopped.
            alone = ["flock", "--nonblock", far_agent.ONE_TRIAL, "true"]
            if container.status != "running" or container.exec_run(alone).exit_code == 0:
                container.remove(force=True)
        except (NotReady, *BROKEN):
            pass  # there is nothing to remove
