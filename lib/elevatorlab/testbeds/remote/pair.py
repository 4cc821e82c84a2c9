"""Two machines: one with a disk, and one that uses it over NVMe/TCP."""

import contextlib
import functools
import hashlib
import ipaddress
import re
import socket
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...errors import ElevatorLabError, NotReady
from ...trial import Trial, capabilities
from ...trial.devices import NvmeTcp
from ..base import Readiness, Say
from . import far_agent
from .shell_testbed import SET_UP_S, ShellTestbed
from .ssh import parse
from .ssh_shell import SshShell

#: Finding on `Capability.LINK`: a pair has a real network, whose rate and delay are not set.
NO_LINK: dict[str, Any] = {
    "found": "two machines have a network of their own",
    "ready": False,
    "remedy": capabilities.Capability.LINK.remedy,
}


class PairTestbed(ShellTestbed):
    """A host and its NVMe/TCP target: ``ssh://HOST?target=USER@TARGET:PORT&address=IPV4``.

    Trials run on the host. During a trial on the device ``nvme_tcp``, the target serves its disk
    to this host alone. Any other device is the host's own. The options for logging in (`key`,
    `known_hosts`, `config`) hold for both machines.

    `address`: In the form above. Its option ``address`` is the IPv4 address at which the host
    reaches the target. By default, it is the address that the target's name has here. Name another
    address if the data have a network of their own.
    """

    name = "ssh-pair"

    def __init__(self, address: str, say: Say = print) -> None:
        way = parse(address)
        where, data_address = way.pop("target"), way.pop("address", None)
        target = {name: value for name, value in _login(where).items() if value}
        super().__init__(SshShell(**way), say)
        self.target = far_agent.FarAgent(SshShell(**{**way, "port": None, **target}))
        self.target_address = _ipv4(data_address or target["host"])
        self._served: dict[str, Any] | None = None

    @functools.cached_property
    def target_facts(self) -> dict[str, Any]:
        """Facts about the target (`elevatorlab.agent.observe.facts`)."""
        try:
            return self.target.facts()
        except NotReady as problem:
            raise NotReady(f"the target: {problem.lack}", problem.remedy) from None

    def findings(self) -> Iterator[Readiness]:
        """Yield the findings on host and target."""
        try:
            target = self.target_facts
        except NotReady as problem:
            target = None
            yield Readiness(self.name, "target", problem.lack, False, problem.remedy, needed=True)
        for finding in super().findings():
            if finding.what == capabilities.Capability.LINK:
                yield replace(finding, **NO_LINK)
            elif finding.what != capabilities.device("nvme_tcp"):
                yield finding
            elif target:
                yield self._rig(target)

    def _rig(self, target: Mapping[str, Any]) -> Readiness:
        there = {"nvme-tcp (host)": self.facts["modules"]["nvme-tcp"]}
        there |= {"nvmet-tcp (target)": target["modules"]["nvmet-tcp"]}
        there |= {"ip (host)": self.facts["programs"]["ip"]}
        lacking = [name for name, is_there in there.items() if not is_there]
        found = f"target {self.target.shell.name} at {self.target_address}"
        if lacking:
            found += f", but there is no {' and no '.join(lacking)}"
        what = capabilities.device("nvme_tcp")
        remedy = capabilities.remedy_of(what) if lacking else ""
        return Readiness(self.name, what, found, not lacking, remedy)

    def prepare(self, trials: list[Trial]) -> None:
        """Refuse trials that host or target cannot run, or whose MTU is not the network's."""
        super().prepare(trials)
        served = [trial.device for trial in trials if isinstance(trial.device, NvmeTcp)]
        if served:
            self._check_pair(served)
            self._check_mtu(served)

    def _check_pair(self, served: list[NvmeTcp]) -> None:
        """Refuse a pair that is one machine, a target without null_blk, a host with multipath."""
        name = self.target.shell.name
        if self.facts["machine_id"] == self.target_facts["machine_id"]:
            raise NotReady(
                f"{self.shell.name} and its target {name} are one machine; expected two. Leave the "
                "target out: target and host on one machine need no second address"
            )
        simulated = any(device.backing.kind == "null_blk" for device in served)
        if simulated and not self.target_facts["null_blk"]:
            raise NotReady(
                f"the target {name} has no module null_blk, which simulates its disks; expected "
                "it. Use a kernel that has it, or a disk of its own: -p targets=nvme_ssd -p disk=ID"
            )
        knob = "/sys/module/nvme_core/parameters/multipath"
        if self.shell.run(["sh", "-c", f"cat {knob} 2>/dev/null || true"]).strip() == "Y":
            raise NotReady(
                f"{knob} on {self.shell.name} is Y; expected N, since otherwise its NVMe disks "
                "have no scheduler. Boot it with nvme_core.multipath=N"
            )

    def _check_mtu(self, served: list[NvmeTcp]) -> None:
        port, mtu_bytes = self._port()
        for device in served:
            if device.mtu_bytes != mtu_bytes:
                raise NotReady(
                    f"the network port {port}, by which the host reaches the target at "
                    f"{self.target_address}, has an MTU of {mtu_bytes}; expected the trials' "
                    f"{device.mtu_bytes}. Set it on both machines and whatever is between "
                    f"them, or run the study with -p mtu_bytes={mtu_bytes}"
                )

    def _port(self) -> tuple[str, int]:
        """Return the host's network port to the target, and the port's MTU in bytes."""
        route = self.shell.run(["ip", "-oneline", "route", "get", self.target_address])
        port = re.findall(r" dev (\S+)", route)[0]
        return port, int(self.shell.run(["cat", f"/sys/class/net/{port}/mtu"]))

    def machine(self) -> str:
        """Return an id that only these two machines have as a pair."""
        both = f"{super().machine()} {self.target_facts['machine_id']}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    def identity(self) -> str:
        """Return an id of what, besides the trial, decides the results.

        It covers both machines, both kernels, and the host's packages and agent.
        """
        both = f"{super().identity()} {self.target_facts['kernel']}"
        return hashlib.sha256(both.encode()).hexdigest()

    def _provenance(self, wall_s: float) -> dict[str, Any]:
        """Add the facts about the target."""
        told = ("cpu", "cores", "kernel", "architecture", "virtualization")
        target = {name: self.target_facts[name] for name in told}
        return {**super()._provenance(wall_s), "target": target}

    def site(self) -> dict[str, Any]:
        """Return what the agent must know about the machine, and where the target is."""
        served = {"nvme_target": self._served} if self._served else {}
        return {**super().site(), **served}

    def _run(self, trial: Trial, note: Say) -> dict[str, bytes]:
        with self._serving(trial):
            return super()._run(trial, note)

    @contextlib.contextmanager
    def _serving(self, trial: Trial) -> Iterator[None]:
        """Have the target serve its disk to the host within the context."""
        if not isinstance(trial.device, NvmeTcp):
            yield
            return
        host = str(uuid.uuid4())
        backing = trial.device.backing.model_dump_json()
        # The target stops by itself after this time, even if nobody is left to end its job.
        limit_s = str(trial.deadline_s + 2 * SET_UP_S)
        failure = f"the target {self.target.shell.name} did not serve its disk"
        arguments = (backing, self.target_address, host, limit_s)
        with self.target.held(failure, "serve-nvme", *arguments, say=self.say) as proofs:
            # A result must not contain addresses of its owner's network.
            told = [proof for proof in proofs if not proof["knob"].endswith("addr_traddr")]
            told = [{**proof, "knob": f"target: {proof['knob']}"} for proof in told]
            self._served = {"address": self.target_address, "host": host, "proofs": told}
            try:
                yield
            finally:
                self._served = None

    def clean(self) -> str:
        """Clean up after killed runs on both machines; return a sentence on what was done."""
        return f"host: {super().clean()}; target: {self.target.clean()}"

    def close(self) -> None:
        """End both connections."""
        super().close()
        self.target.shell.close()


def _login(target: str) -> dict[str, Any]:
    """Return the arguments of `SshShell` that log in to the target."""
    try:
        way = parse(f"ssh://{target}")
    except ElevatorLabError:
        raise ElevatorLabError(
            f"testbed: expected target=[USER@]HOST[:PORT]; found target={target!r}"
        ) from None
    if "target" in way:
        raise ElevatorLabError(f"testbed: expected one target; found target={target!r}")
    return way


def _ipv4(name: str) -> str:
    """Return the IPv4 address to which a name resolves here."""
    try:
        return str(ipaddress.IPv4Address(socket.gethostbyname(name)))
    except (OSError, ValueError):
        raise ElevatorLabError(
            f"testbed: expected the target's IPv4 address, or a name that has one here; found "
            f"{name!r}. Say where the host reaches it: ssh://HOST?target=...&address=192.0.2.2"
        ) from None
