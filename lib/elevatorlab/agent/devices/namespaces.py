"""Doing something in another network namespace."""

from __future__ import annotations

import ctypes
import pathlib
import threading
from typing import TYPE_CHECKING, TypeVar

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable

    Made = TypeVar("Made")

NAMESPACES = pathlib.Path("/run/netns")

#: CLONE_NEWNET of the kernel's include/uapi/linux/sched.h.
NEW_NETWORK = 0x40000000


def inside(name: str, make: Callable[[], Made]) -> Made:
    """Return what `make` returns where it is called in the network namespace `name`.

    What it opens stays in that namespace: a socket, or a file of /proc.
    """
    made = []

    def enter() -> None:
        with open(NAMESPACES / name) as place:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(place.fileno(), NEW_NETWORK):
                raise OSError(ctypes.get_errno(), f"entering {name}")
        made.append(make())

    thread = threading.Thread(target=enter)  # the namespace is the thread's own, and ends with it
    thread.start()
    thread.join()
    if not made:
        raise AgentError(
            f"{NAMESPACES / name} could not be entered; expected the trial's own namespace"
        )
    return made[0]
