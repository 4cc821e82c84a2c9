"""Trials on this machine, and on any other that SSH reaches."""

import functools
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ...errors import ElevatorLabError
from ...trial import Trial
from .. import agent_answer, agent_archive, plugin_archive
from ..base import Say
from . import far_agent, openssh
from .real import RealTestbed
from .shell import LocalShell, Shell
from .ssh_shell import SshShell

#: Options after the question mark of a testbed's address: how to log in, and the target of a pair
#: (see `elevatorlab.testbeds.remote.pair`).
OPTIONS = {"key": "key_file", "known_hosts": "known_hosts", "config": "ssh_config"}
OPTIONS |= {"target": "target", "address": "address"}

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


class HostTestbed(ShellTestbed):
    """The machine on which this program runs."""

    name = "host"

    def __init__(self, say: Say = print) -> None:
        super().__init__(LocalShell(), say)


class SshTestbed(ShellTestbed):
    """Another machine, by its address: ``ssh://USER@HOST:PORT?key=FILE&known_hosts=FILE&config=yes``."""

    name = "ssh"

    def __init__(self, address: str, say: Say = print) -> None:
        super().__init__(SshShell(**parse(address)), say)


def parse(address: str) -> dict[str, Any]:
    """Return the parts of an address: arguments of `SshShell`, and the target of a pair.

    >>> parse("ssh://me@there:2222?key=~/.ssh/lab")
    {'host': 'there', 'user': 'me', 'port': 2222, 'key_file': '~/.ssh/lab'}
    >>> parse("ssh://there?config=yes")
    {'host': 'there', 'user': None, 'port': None, 'ssh_config': True}
    """
    form = "ssh://[USER@]HOST[:PORT][?key=FILE&known_hosts=FILE&config=yes]"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        port, parts = None, urlsplit("")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.password:
        address = address.replace(f":{parts.password}@", ":...@")
    if parts.scheme != "ssh" or not parts.hostname or parts.password or parts.path.strip("/"):
        raise ElevatorLabError(f"testbed: expected {form}, without a password; found {address!r}")
    for name in options:
        if name not in OPTIONS:
            raise ElevatorLabError(
                f"testbed: expected one of {', '.join(OPTIONS)} after '?'; found {name!r}"
            )
    if "address" in options and "target" not in options:
        raise ElevatorLabError(
            f"testbed: expected target=HOST beside address, the target's; found {address!r}"
        )
    given: dict[str, Any] = {OPTIONS[name]: unquote(value) for name, value in options.items()}
    if "ssh_config" in given:
        given["ssh_config"] = given["ssh_config"] in ("", "yes", "1", "true")
    return {"host": openssh.spelled(parts.netloc), "user": parts.username, "port": port, **given}
