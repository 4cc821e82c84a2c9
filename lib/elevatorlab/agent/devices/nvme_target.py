"""The target's side of NVMe/TCP: it serves a disk of this machine to a host."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from ..errors import AgentError
from .modules import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..lifecycle.context import Context

NVMET = pathlib.Path("/sys/kernel/config/nvmet")

MODULES = ("nvmet", "nvmet-tcp")

#: The target's name and its TCP port.
SUBSYSTEM, SERVICE = "elevatorlab", "4420"


def qualified(uuid: str) -> str:
    """Return a host's NVMe Qualified Name (NVM Express Base Specification, section 4.5)."""
    return f"nqn.2014-08.org.nvmexpress:uuid:{uuid}"


def serve(
    backing: str,
    address: str,
    host: str | None,
    context: Context,
    inside: Sequence[str] = (),
) -> None:
    """Let the target listen, with `backing` as its only disk.

    Attributes: drivers/nvme/target/configfs.c of the kernel.

    `host` is the UUID of the only host that it lets in; None: any that can reach the address.
    `inside` is a command that runs another one where the target is to listen.
    """
    proofs = context.proofs
    subsystem, port = NVMET / "subsystems" / SUBSYSTEM, NVMET / "ports" / SERVICE
    disk = subsystem / "namespaces" / "1"
    for folder in (subsystem, disk, port):
        _make(folder, context)
    proofs.set(subsystem / "attr_allow_any_host", int(host is None))
    if host is not None:
        known = NVMET / "hosts" / qualified(host)
        _make(known, context)
        _link(known, subsystem / "allowed_hosts" / known.name, context)
    proofs.set(disk / "device_path", backing)
    proofs.set(disk / "enable", 1)
    place = {"trtype": "tcp", "adrfam": "ipv4", "traddr": address, "trsvcid": SERVICE}
    for name, value in place.items():
        proofs.set(port / f"addr_{name}", value)
    # The target listens where the process is that makes this link.
    _link(subsystem, port / "subsystems" / SUBSYSTEM, context, inside)


def _make(folder: pathlib.Path, context: Context) -> None:
    if folder.exists():
        raise AgentError(
            f"{folder} exists already; expected the name to be free. Does this machine serve "
            "another trial? Otherwise remove it"
        )
    context.journal.will("remove_folder", folder)
    folder.mkdir()


def _link(
    what: pathlib.Path, link: pathlib.Path, context: Context, inside: Sequence[str] = ()
) -> None:
    context.journal.will("remove_file", link)
    run(*inside, "ln", "--symbolic", str(what), str(link))
