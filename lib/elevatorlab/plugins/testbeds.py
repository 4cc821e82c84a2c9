"""The testbeds by name: ours, and those of other packages or of a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .registry import Registry

#: The testbed that runs trials unless the user asks for another.
DEFAULT = "deterministic"

#: A machine behind SSH; and two such machines, host and target.
SSH, SSH_PAIR = "ssh", "ssh-pair"

#: Forms of the addresses of these testbeds; results contain only the names.
ADDRESSES = {
    SSH: "ssh://HOST",
    SSH_PAIR: "ssh://HOST?target=HOST",
}


class TestbedClass(Protocol):
    """A class of testbeds, which makes a testbed when it is called."""

    #: Values of a study's parameters on this testbed, unless the user says otherwise.
    defaults: Mapping[str, Any]

    def __call__(self, *address: str, say: Callable[[str], object]) -> Any:
        """Return the testbed, at `address` if it has one.

        ``KIND://...`` is the address of the testbed registered as KIND, which gets the whole
        address. `say` receives a line when something takes long.
        """


#: The testbeds, by the names that their results have.
TESTBEDS: Registry[TestbedClass] = Registry("testbed", "elevatorlab.testbeds")


def names() -> list[str]:
    """Return the names of the testbeds that need no address; nothing is imported."""
    return [name for name in TESTBEDS.names() if name not in ADDRESSES]


def forms() -> list[str]:
    """Return the ways to spell a testbed: names, and forms of addresses."""
    addresses = ["ssh://[USER@]HOST[:PORT]", "docker+ssh://[USER@]HOST[:PORT]"]
    return [*names(), *addresses, ADDRESSES[SSH_PAIR], f"{DEFAULT}?cpus=N"]
