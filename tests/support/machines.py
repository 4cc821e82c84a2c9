"""The virtual machine that all tests of a session share, and what one leaves on this machine."""

import contextlib
from pathlib import Path

import paramiko

from elevatorlab.paths import BUILD
from elevatorlab.testbeds.vagrant import libvirt
from elevatorlab.testbeds.vagrant.machine import Machine

DISK_MIB = 1024
#: An emulated machine on a busy host is slow to answer.
PATIENCE_S = 600


@contextlib.contextmanager
def shared_vm():
    """Yield a machine that is up; conftest.py makes a session's fixture `vm` of it."""
    with Machine(BUILD / "test-vm", disk_mib=DISK_MIB, say=lambda _: None) as machine:
        yield machine


@contextlib.contextmanager
def connected(machine, known_hosts=None):
    """Yield a connection to the machine, whose host key must be known."""
    way = machine.ssh_config()
    with paramiko.SSHClient() as client:
        client.load_host_keys(known_hosts or way["known_hosts"])
        client.connect(
            way["host"],
            way["port"],
            way["user"],
            key_filename=way["key_filename"],
            allow_agent=False,
            look_for_keys=False,
            timeout=PATIENCE_S,
            banner_timeout=PATIENCE_S,
            auth_timeout=PATIENCE_S,
        )
        yield client


def ran(client, command):
    """Run a command over a connection; return what it prints."""
    _, out, err = client.exec_command(command, timeout=PATIENCE_S)
    printed = out.read().decode()
    assert out.channel.recv_exit_status() == 0, printed + err.read().decode()
    return printed


def shell(machine, command, known_hosts=None):
    """Run a command in the machine; return what it prints."""
    with connected(machine, known_hosts) as client:
        return ran(client, command)


def send(client, content, name):
    """Write a file into the user's folder over a connection."""
    with client.open_sftp() as files, files.open(name, "wb") as file:
        file.write(content)


def left_here(own_name):
    """Return what libvirt has, but for other checkouts' machines, and the processes of this one."""

    def ours(name):
        return name == own_name or not name.startswith("elevatorlab-")

    everything = {kind: set(filter(ours, libvirt.names(kind))) for kind in libvirt.KINDS}
    everything["images"] = {path.name for path in libvirt.IMAGES.glob("*") if ours(path.name)}
    processes = Path("/proc").glob("[0-9]*")
    everything["processes"] = {path.name for path in processes if _bears(path, own_name)}
    return everything


def _bears(process, name):
    """Tell whether a process has the name in its environment (Vagrant) or arguments (QEMU)."""
    try:
        content = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
    except OSError:
        return False
    return f"ELEVATORLAB_VM_NAME={name}".encode() in content or f"guest={name},".encode() in content
