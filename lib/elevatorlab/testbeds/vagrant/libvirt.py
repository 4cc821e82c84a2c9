"""A virtual machine's objects in libvirt: domain, storage pool and network of the same name."""

import ipaddress
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from ...errors import ElevatorLabError, NotReady
from . import commands

URI = "qemu:///system"

#: Folder in which QEMU's user may write; a home folder often refuses that user.
IMAGES = Path("/var/lib/libvirt/images")

#: By kind of object: virsh's arguments to list the names of all such objects.
KINDS = {
    "domain": ("list", "--all", "--name"),
    "pool": ("pool-list", "--all", "--name"),
    "network": ("net-list", "--all", "--name"),
}

NETWORK = """<network>
  <name>{name}</name>
  <forward mode='nat'/>
  <ip address='{gateway}' netmask='{mask}'>
    <dhcp><range start='{first}' end='{last}'/></dhcp>
  </ip>
</network>
"""

REMOVE_S = 60


def virsh(*arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run one virsh command; return the completed process, whatever its status."""
    return commands.run(["virsh", "--quiet", "--connect", URI, *arguments], timeout_s)


def require() -> None:
    """Make sure that libvirtd answers this user."""
    answer = virsh("version", timeout_s=20)
    if answer.returncode:
        said = " ".join(answer.stderr.split())
        raise NotReady(
            f"libvirtd does not answer on {URI} ({said})",
            "Start it with systemctl start libvirtd, and be in the group libvirt; where no service "
            "manager runs, environments/start-libvirt.sh starts it",
        )


def names(kind: str) -> set[str]:
    """Return the names of all domains, pools or networks, active or not."""
    return set(_do(*KINDS[kind]).split())


def left(name: str) -> list[str]:
    """Return the kinds of which an object called `name` exists."""
    return [kind for kind in KINDS if name in names(kind)]


def running(name: str) -> bool:
    """Tell whether the domain called `name` runs."""
    return virsh("domstate", name).stdout.strip() == "running"


def make_pool(name: str) -> None:
    """Make a storage pool called `name`, in a folder of its own that can be removed as a whole."""
    _do("pool-define-as", name, "dir", "--target", str(IMAGES / name))
    _do("pool-build", name)
    _do("pool-start", name)


def make_network(name: str, network: str, file: Path) -> None:
    """Make a private network called `name`; nobody outside can open a connection to its guests.

    `network`: Range of its addresses, such as ``192.168.100.0/24``. `file`: File to which the
    network's description is written for virsh.
    """
    all_of_it = ipaddress.IPv4Network(network)
    file.write_text(
        NETWORK.format(
            name=name,
            mask=all_of_it.netmask,
            gateway=all_of_it[1],
            first=all_of_it[2],
            last=all_of_it[-2],
        )
    )
    _do("net-define", str(file))
    _do("net-start", name)


def free_network(name: str, routes: Path = Path("/proc/net/route")) -> ipaddress.IPv4Network:
    """Return a private network that is not in libvirt and has no route on this machine.

    The search begins at a place that depends on `name`. So two virtual machines that start
    together rarely choose the same network.
    """
    taken = [*_routed(routes.read_text()), *_defined()]
    begin = sum(name.encode())
    for step in range(100):
        network = ipaddress.IPv4Network(f"192.168.{100 + (begin + step) % 100}.0/24")
        if not any(network.overlaps(other) for other in taken):
            return network
    raise NotReady("expected a free network from 192.168.100.0 to 192.168.199.0; all are taken")


def _routed(table: str) -> Iterator[ipaddress.IPv4Network]:
    """Yield the networks in the text of /proc/net/route, except the default route."""
    for line in table.splitlines()[1:]:
        _, destination, *_, mask, _, _, _ = line.split()
        numbers = [int.from_bytes(bytes.fromhex(one), "little") for one in (destination, mask)]
        if numbers[1]:
            yield ipaddress.IPv4Network((numbers[0], numbers[1].bit_count()))


def _defined() -> Iterator[ipaddress.IPv4Network]:
    """Yield the networks in libvirt, also inactive ones, which have no route."""
    for name in names("network"):
        for ip in ElementTree.fromstring(virsh("net-dumpxml", name).stdout).findall("ip"):
            if ip.get("family", "ipv4") == "ipv4":
                size = ip.get("prefix") or ip.get("netmask")
                yield ipaddress.IPv4Network(f"{ip.get('address')}/{size}", strict=False)


def _do(*arguments: str) -> str:
    done = virsh(*arguments)
    if done.returncode:
        raise NotReady(f"virsh {arguments[0]}: {' '.join(done.stderr.split())}")
    return done.stdout


def remove(name: str) -> None:
    """Remove the domain, the pool with its volumes, and the network called `name`.

    A client that was killed may have left a request that libvirtd still carries out, so
    an object counts as removed only after two checks in a row have not found it.
    """
    until_s = time.monotonic() + REMOVE_S
    gone = 0
    while gone < 2:
        kinds = left(name)
        gone = 0 if kinds else gone + 1
        for kind in kinds:
            REMOVERS[kind](name)
        if kinds and time.monotonic() > until_s:
            raise ElevatorLabError(
                f"libvirt still has the {' and the '.join(kinds)} {name} after {REMOVE_S} s of "
                f"removing; look at virsh --connect {URI} {' '.join(KINDS[kinds[0]])}"
            )
        time.sleep(0.5)


def _remove_domain(name: str) -> None:
    virsh("destroy", name)
    virsh("undefine", name, "--managed-save", "--snapshots-metadata", "--nvram")


def _remove_pool(name: str) -> None:
    virsh("pool-start", name)  # volumes are listed and deleted through a running pool
    virsh("pool-refresh", name)
    for line in virsh("vol-list", name).stdout.splitlines():
        virsh("vol-delete", line.split()[0], "--pool", name)
    virsh("pool-destroy", name)
    virsh("pool-delete", name)
    virsh("pool-undefine", name)


def _remove_network(name: str) -> None:
    virsh("net-destroy", name)
    virsh("net-undefine", name)


REMOVERS = {"domain": _remove_domain, "pool": _remove_pool, "network": _remove_network}
