"""The testbeds by name: ours, and those of other packages or of a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .registry import Registry

#: The one that runs trials unless another is asked for.
DEFAULT = "deterministic"

#: A machine behind SSH, and two of them: host and target.
SSH, SSH_PAIR = "ssh", "ssh-pair"

#: The default one's machine with several processors, which have an address: how many, and how.
MULTICORE = "multicore"

#: The default one's machine with another processor, which can have virtual machines inside.
NESTED = "nested"

#: The forms of their addresses, which results do not tell.
ADDRESSES = {
    SSH: "ssh://HOST",
    SSH_PAIR: "ssh://HOST?target=HOST",
    MULTICORE: f"{DEFAULT}?cpus=N",
    NESTED: f"{DEFAULT}?processor=Opteron_G3",
}


class TestbedClass(Protocol):
    """What makes a testbed: its class.

    Attributes
    ----------
    defaults : dict
        What a study's parameters are there, unless the user says otherwise.
    """

    defaults: Mapping[str, Any]

    def __call__(self, *address: str, say: Callable[[str], object]) -> Any:
        """Return the testbed at `address`, where it has one; `say` receives what takes long.

        ``KIND://...`` is the address of the testbed registered as KIND, which gets the whole.
        """


#: By what their results are called.
TESTBEDS: Registry[TestbedClass] = Registry("testbed", "elevatorlab.testbeds")


def names() -> list[str]:
    """Return the names of the testbeds that need no address; nothing is imported."""
    return [name for name in TESTBEDS.names() if name not in ADDRESSES]


def forms() -> list[str]:
    """Return how testbeds are spelled: names, and forms of addresses."""
    addresses = ["ssh://[USER@]HOST[:PORT]", "docker+ssh://[USER@]HOST[:PORT]"]
    return [*names(), *addresses, ADDRESSES[SSH_PAIR], ADDRESSES[MULTICORE], ADDRESSES[NESTED]]
