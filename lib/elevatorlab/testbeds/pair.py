"""Two machines: one with a disk, and one that uses it over NVMe/TCP."""

import contextlib
import functools
import hashlib
import ipaddress
import re
import socket
import uuid

from ..errors import ElevatorLabError, NotReady
from . import far
from .base import Finding
from .shell import SshShell
from .ssh import SET_UP_S, SshTestbed, parse


class PairTestbed(SshTestbed):
    """A host and its NVMe/TCP target: ``ssh://HOST?target=USER@TARGET:PORT&address=IPV4``.

    Trials run on the host. For as long as one lasts, the target serves its disk, to this host
    alone; another device than ``nvme_tcp`` is the host's own. The ways of logging in (`key`,
    `known_hosts`, `config`) hold for both.

    Parameters
    ----------
    address : str
        As above. ``address`` is where the host reaches the target: by default what the target's
        name means here. It is another one where the data have a network of their own.
    """

    name = "ssh-pair"

    def __init__(self, address, say=print):
        way = parse(address)
        where, data_address = way.pop("target"), way.pop("address", None)
        if not way["user"]:
            way.pop("user")
        target = {name: value for name, value in parse(f"ssh://{where}").items() if value}
        super(SshTestbed, self).__init__(SshShell(**way), say)
        self.target = far.FarAgent(SshShell(**{**way, "port": None, **target}))
        self.target_address = _ipv4(data_address or target["host"])
        self._served = None

    @functools.cached_property
    def target_facts(self):
        """What the target is and has (`elevatorlab.agent.facts`)."""
        return self.target.facts()

    def findings(self):
        """Say what host and target have for trials."""
        try:
            target = self.target_facts
        except NotReady as problem:
            yield Finding(self.name, "target", str(problem), False, needed=True)
            return
        for finding in super().findings():
            yield self._rig(target) if finding.what == "device nvme_tcp" else finding

    def _rig(self, target):
        there = {"nvme-tcp (host)": self.facts["modules"]["nvme-tcp"]}
        there |= {"nvmet-tcp (target)": target["modules"]["nvmet-tcp"]}
        there |= {"ip (host)": self.facts["programs"]["ip"]}
        lacking = [name for name, is_there in there.items() if not is_there]
        found = f"target {self.target.shell.name} at {self.target_address}"
        if lacking:
            found += f", but there is no {' and no '.join(lacking)}"
        remedy = "install the kernel's modules there, and iproute2" if lacking else ""
        return Finding(self.name, "device nvme_tcp", found, not lacking, remedy)

    def prepare(self, trials):
        """Refuse what host or target cannot run, and a network that is not the trials'."""
        super().prepare(trials)
        port, mtu_bytes = self._port()
        for trial in trials:
            if trial.device.kind == "nvme_tcp" and trial.device.mtu_bytes != mtu_bytes:
                raise NotReady(
                    f"the network port {port}, by which the host reaches the target at "
                    f"{self.target_address}, has an MTU of {mtu_bytes}; expected the trials' "
                    f"{trial.device.mtu_bytes}. Set it on both machines and whatever is between "
                    f"them, or run the study with -p mtu_bytes={mtu_bytes}"
                )

    def _port(self):
        """Return the host's network port to the target, and its MTU."""
        route = self.shell.run(["ip", "-oneline", "route", "get", self.target_address])
        port = re.search(r" dev (\S+)", route)[1]
        return port, int(self.shell.run(["cat", f"/sys/class/net/{port}/mtu"]))

    def machine(self):
        """Return what tells these two machines from other pairs."""
        both = f"{super().machine()} {self.target_facts['machine_id']}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    def identity(self):
        """Return what, besides the trial, decides the results: both machines and their kernels."""
        both = f"{super().identity()} {self.target_facts['kernel']}"
        return hashlib.sha256(both.encode()).hexdigest()

    def run(self, trial, folder, note):
        """Run `trial`; the provenance says what the target is."""
        found = super().run(trial, folder, note)
        told = ("cpu", "cores", "kernel", "architecture", "virtualization")
        return {**found, "target": {name: self.target_facts[name] for name in told}}

    def site(self):
        """Tell the agent where the target is."""
        served = {"nvme_target": self._served} if self._served else {}
        return {**super().site(), **served}

    def _run(self, trial, folder, note):
        with self._serving(trial):
            super()._run(trial, folder, note)

    @contextlib.contextmanager
    def _serving(self, trial):
        """Have the target serve its disk, to this trial's host alone."""
        if trial.device.kind != "nvme_tcp":
            yield
            return
        host = str(uuid.uuid4())
        backing = trial.device.backing.model_dump_json()
        # It ends by itself where nobody is left to let it go.
        limit_s = str(trial.deadline_s + 2 * SET_UP_S)
        failure = f"the target {self.target.shell.name} did not serve its disk"
        arguments = (backing, self.target_address, host, limit_s)
        with self.target.held(failure, "serve-nvme", *arguments) as proofs:
            # A result says nothing of its owner's network.
            told = [proof for proof in proofs if not proof["knob"].endswith("addr_traddr")]
            told = [{**proof, "knob": f"target: {proof['knob']}"} for proof in told]
            self._served = {"address": self.target_address, "host": host, "proofs": told}
            try:
                yield
            finally:
                self._served = None

    def clean(self):
        """Finish what killed runs left on both; return a sentence that says what was done."""
        return f"host: {super().clean()}; target: {self.target.clean()}"

    def close(self):
        """End both connections."""
        super().close()
        self.target.shell.close()


def _ipv4(name):
    """Return the IPv4 address that a name or an address means here."""
    try:
        return str(ipaddress.IPv4Address(socket.gethostbyname(name)))
    except (OSError, ValueError):
        raise ElevatorLabError(
            f"testbed: expected the target's IPv4 address, or a name that has one here; found "
            f"{name!r}. Say where the host reaches it: ssh://HOST?target=...&address=192.0.2.2"
        ) from None
