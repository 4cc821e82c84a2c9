"""Start one virtual machine, tell how to reach it, and remove it without leftovers."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any, Self

import paramiko
from filelock import BaseFileLock, FileLock, Timeout

from ...errors import ElevatorLabError, NotReady
from ...paths import PROJECT
from ..base import Say
from . import commands, hostkey, kvm, libvirt, readiness
from .readiness import findings

__all__ = ["DISK_SERIAL", "Machine", "findings"]

#: Serial number of the second disk, which is /dev/disk/by-id/virtio-SERIAL (see Vagrantfile).
DISK_SERIAL = "elevatorlab"

#: Limit for starting the machine. Most of the time is for provisioning in an emulated machine.
UP_S = 2400
DESTROY_S = 180

ACCELERATORS = {
    ("libvirt", "kvm"): "KVM",
    ("libvirt", "qemu"): "TCG (QEMU, no hardware virtualisation)",
    ("virtualbox", ""): "VirtualBox",
}


class Machine:
    """A virtual machine of the project's Vagrantfile.

    Everything that is made for the machine has one name, which is derived from its folder. The
    name is written to a journal in that folder before anything is made. So after any interruption,
    the next run with the same folder, or `clean`, finds what is left. Within the context, the
    machine is up; afterwards, it is removed.

    `folder`: Folder for the journal, log, keys and Vagrant's state; made and removed with the
    machine. `memory_mib`, `disk_mib`: Memory, and the size of the second disk.
    `keep`: Leave the machine running at the end of the ``with`` block; the next `up` finds it.
    """

    def __init__(
        self,
        folder: str | Path,
        memory_mib: int = 1024,
        disk_mib: int = 2048,
        keep: bool = False,
        say: Say = print,
    ) -> None:
        self.folder = Path(folder).resolve()
        self.size = {"memory_mib": memory_mib, "disk_mib": disk_mib}
        self.keep = keep
        self.say = say
        self.name = f"elevatorlab-{hashlib.sha256(str(self.folder).encode()).hexdigest()[:8]}"
        self._lock: BaseFileLock | None = None

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        if self.keep:
            self._unlock()
        else:
            self.destroy()

    # ---- its life ----------------------------------------------------------------------

    def up(self) -> None:
        """Start the machine, unless it is up already."""
        self._take_lock()
        try:
            if self._found_up():
                self.say(f"virtual machine {self.name} is up already")
                return
            self._clear()
            self._make()
        except BaseException:
            self._unlock()
            raise

    def destroy(self) -> None:
        """Remove the machine, with everything that was made for it."""
        self._take_lock()
        try:
            self._clear()
        finally:
            self._unlock()

    #: Leftovers of a killed run are removed in the same way.
    clean = destroy

    def _make(self) -> None:
        provider = readiness.provider()
        readiness.require(provider)
        driver = ""
        if provider == "libvirt":
            driver = "qemu" if kvm.why_not() else "kvm"
        choice: dict[str, Any] = {
            "provider": provider,
            "driver": driver,
            "size": self.size,
            "network": "",
        }
        if provider == "libvirt":
            choice["network"] = str(libvirt.free_network(self.name))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write(choice)
        self.say(f"starting a virtual machine ({ACCELERATORS[provider, driver]})")
        try:
            if provider == "libvirt":
                libvirt.make_pool(self.name)
                libvirt.make_network(self.name, choice["network"], self.folder / "network.xml")
            self._vagrant_up(choice)
            address = self._ask_address(choice)
            hostkey.pin(address["host"], address["port"], self._known_hosts)
            self._write({**choice, "address": address})
        except BaseException:
            self._clear()
            raise

    def _vagrant_up(self, choice: dict[str, Any]) -> None:
        command = ["vagrant", "up", "--provider", choice["provider"]]
        environment = self._environment(choice)
        try:
            commands.follow(
                command, UP_S, self.folder / "up.log", self._hear, cwd=PROJECT, env=environment
            )
        except ElevatorLabError as problem:
            if not readiness.boxes():
                raise NotReady(
                    f"the box {readiness.PUBLIC_BOX} is not here and cannot be pulled",
                    "`make box` builds its equivalent",
                ) from problem
            raise NotReady(f"the virtual machine did not come up: {problem}") from None

    def _hear(self, line: str) -> None:
        """Pass on Vagrant's lines about its steps, without details."""
        _, arrow, text = line.strip().partition(f"==> {self.name}: ")
        _, provisioning, said = line.strip().partition("provision: ")
        if provisioning or (arrow and text.endswith("...")):
            self.say("  " + (f"provisioning: {said}" if said else text))

    def _clear(self) -> None:
        """Remove everything with the machine's name; the folder with the journal goes last."""
        journal = self._read()
        if journal is None:
            return  # without a journal, nothing in that folder is ours
        _end_processes(f"ELEVATORLAB_VM_NAME={self.name}")
        if journal["provider"] == "libvirt":
            libvirt.remove(self.name)
        # With libvirt, only Vagrant's own list of machines is left to update. Vagrant alone would
        # need 20 s to end a machine that still boots.
        if any(self._dotfile.glob("machines/*/*/id")):
            with contextlib.suppress(NotReady):
                commands.run(
                    ["vagrant", "destroy", "--force"],
                    DESTROY_S,
                    cwd=PROJECT,
                    env=self._environment(journal),
                )
        shutil.rmtree(self._dotfile, ignore_errors=True)
        self._known_hosts.unlink(missing_ok=True)
        shutil.rmtree(self.folder)

    # ---- what it is --------------------------------------------------------------------

    @property
    def accelerator(self) -> str:
        """What executes the processor's instructions: KVM, TCG or VirtualBox."""
        journal = self._made()
        return ACCELERATORS[journal["provider"], journal["driver"]]

    def ssh_config(self) -> dict[str, Any]:
        """Return how to reach the machine over SSH.

        Returns: ``host``, ``port``, ``user``, ``key_filename``, and ``known_hosts``: a file with
        the only host key that the machine may show.
        """
        return {**self._made()["address"], "known_hosts": str(self._known_hosts)}

    def storage(self) -> Path:
        """Return the folder, outside the virtual machine, with the files of its disks."""
        if self._made()["provider"] == "libvirt":
            return libvirt.IMAGES / self.name
        return self.folder

    def _made(self) -> dict[str, Any]:
        journal = self._read()
        if not journal or "address" not in journal:
            raise NotReady(f"virtual machine {self.name} is not up; expected `up` to be first")
        return journal

    def _found_up(self) -> bool:
        """Tell whether the machine in the journal is as wanted, runs, and shows its host key."""
        journal = self._read()
        if not journal or "address" not in journal or journal["size"] != self.size:
            return False
        if journal["provider"] == "libvirt" and not libvirt.running(self.name):
            return False
        address = journal["address"]
        return hostkey.shown_is_pinned(address["host"], address["port"], self._known_hosts)

    def _ask_address(self, choice: dict[str, Any]) -> dict[str, Any]:
        shown = commands.run(
            ["vagrant", "ssh-config"], 60, cwd=PROJECT, env=self._environment(choice)
        )
        if shown.returncode:
            raise NotReady(f"vagrant ssh-config: {' '.join(shown.stderr.split())}")
        way = paramiko.SSHConfig.from_text(shown.stdout).lookup(self.name)
        return {
            "host": way["hostname"],
            "port": int(way["port"]),
            "user": way["user"],
            "key_filename": way["identityfile"][0].strip('"'),
        }

    def _environment(self, choice: dict[str, Any]) -> dict[str, str]:
        """Return the environment variables for Vagrant and the Vagrantfile.

        The machine's name among them marks Vagrant's processes (`_end_processes`).
        """
        size = choice["size"]
        return {
            **os.environ,
            "VAGRANT_DOTFILE_PATH": str(self._dotfile),
            "VAGRANT_DEFAULT_PROVIDER": choice["provider"],
            "VAGRANT_CHECKPOINT_DISABLE": "1",
            "VAGRANT_NO_COLOR": "1",
            "ELEVATORLAB_VM_NAME": self.name,
            "ELEVATORLAB_VM_DRIVER": choice["driver"],
            "ELEVATORLAB_VM_NETWORK": choice["network"],
            "ELEVATORLAB_VM_MEMORY_MIB": str(size["memory_mib"]),
            "ELEVATORLAB_VM_CPUS": "1",
            "ELEVATORLAB_DISK_MIB": str(size["disk_mib"]),
        }

    # ---- its journal -------------------------------------------------------------------

    @property
    def _dotfile(self) -> Path:
        return self.folder / "vagrant"

    @property
    def _known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def _read(self) -> dict[str, Any] | None:
        try:
            journal: dict[str, Any] = json.loads((self.folder / "machine.json").read_text())
        except FileNotFoundError:
            return None
        return journal

    def _write(self, journal: dict[str, Any]) -> None:
        fresh = self.folder / "machine.json.new"
        with open(fresh, "w") as file:
            json.dump({"name": self.name, **journal}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(self.folder / "machine.json")

    def _take_lock(self) -> None:
        """Let one process at a time use this machine; a process that is killed loses the lock."""
        if self._lock is not None:
            return
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder.with_name(self.folder.name + ".lock"), thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise NotReady(
                f"another process uses the virtual machine in {self.folder}; wait until it has "
                "ended"
            ) from None
        self._lock = lock

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _end_processes(mark: str) -> None:
    """Kill the processes that have `mark` in their environment: those that a killed run started."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
