"""Testbeds: where trials run."""

from ..errors import ElevatorLabError
from .deterministic import DeterministicTestbed
from .docker import DockerTestbed
from .pair import PairTestbed
from .ssh import HostTestbed, SshTestbed, parse
from .vagrant import VagrantTestbed

#: Testbeds by name; those on other machines have an address.
TESTBEDS = {
    "deterministic": DeterministicTestbed,
    "host": HostTestbed,
    "docker": DockerTestbed,
    "vagrant": VagrantTestbed,
}

DEFAULT = "deterministic"

FORMS = (*TESTBEDS, "ssh://[USER@]HOST[:PORT]", "docker+ssh://[USER@]HOST[:PORT]")
FORMS += ("ssh://HOST?target=HOST",)

#: What stands for the address, which results do not tell, of a testbed that has one.
ADDRESSES = {SshTestbed.name: "ssh://HOST", PairTestbed.name: "ssh://HOST?target=HOST"}


def get(name, say=print):
    """Return the testbed called `name`; `say` receives what takes longer than a moment.

    Parameters
    ----------
    name : str
        One of `TESTBEDS`, ``ssh://...`` (see `elevatorlab.testbeds.ssh.parse`), the same with a
        target (`elevatorlab.testbeds.pair`), or ``docker+ssh://USER@HOST:PORT`` for the Docker
        engine of another machine.
    """
    if name in TESTBEDS:
        return TESTBEDS[name](say=say)
    if name.startswith("ssh://"):
        return PairTestbed(name, say=say) if "target" in parse(name) else SshTestbed(name, say=say)
    if name.startswith("docker+ssh://"):
        return DockerTestbed(name.removeprefix("docker+"), say=say)
    raise ElevatorLabError(f"testbed: expected one of {', '.join(FORMS)}; found {name!r}")


def several(names, say=print):
    """Return the testbeds of a list with commas between.

    >>> [testbed.name for testbed in several("deterministic,host")]
    ['deterministic', 'host']

    Raises
    ------
    ElevatorLabError
        For a name that is none, or one that is there twice.
    """
    each = [name.strip() for name in names.split(",")]
    if twice := [name for name in each if each.count(name) > 1]:
        raise ElevatorLabError(f"testbed: expected each once; found {twice[0]!r} twice")
    return [get(name, say) for name in each]
