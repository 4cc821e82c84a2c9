"""Run trials in a virtual machine that Vagrant makes and removes."""

import contextlib
import functools
import json
from collections.abc import Iterator
from typing import Any

from ...errors import NotReady
from ...paths import BUILD
from ...trial import Trial
from ..base import Readiness, Say
from ..remote import far_agent
from ..remote.shell import LocalShell
from ..remote.shell_testbed import ShellTestbed
from ..remote.ssh_shell import SshShell
from .machine import DISK_SERIAL, Machine, findings

FOLDER = BUILD / "vagrant"

#: Size of the second disk if no trial uses it: Vagrant always makes one.
UNUSED_MIB = 16


def disk_mib(trials: list[Trial]) -> int:
    """Return the size of the second disk, in MiB: that of the largest device of `trials`.

    Devices over NVMe/TCP, and disks that a user names, are not on it.
    """
    return max(getattr(trial.device, "size_mib", 0) for trial in trials) or UNUSED_MIB


class VagrantTestbed(ShellTestbed):
    """A virtual machine on this one, with a second disk for the device under test.

    Its processor is real only where KVM (or VirtualBox) works; otherwise QEMU emulates it, and
    every result says so.

    `machine`: A virtual machine that the caller makes and removes. By default, `prepare` makes one,
    and `close` removes it.
    """

    name = "vagrant"
    defaults = {**ShellTestbed.defaults, "arms": ("vm",)}

    def __init__(self, say: Say = print, machine: Machine | None = None) -> None:
        super().__init__(LocalShell(), say)  # until the virtual machine is up
        self.given = machine
        self.below = far_agent.FarAgent(LocalShell())
        self.vm: Machine | None = None

    # ---- what it can do ---------------------------------------------------------------

    def findings(self) -> Iterator[Readiness]:
        """Yield what this machine has for virtual machines and, once it is up, what is inside."""
        yield from findings()
        if self.vm is not None:
            yield from super().findings()

    @functools.cached_property
    def facts(self) -> dict[str, Any]:
        """Facts about the virtual machine; id, processor and disks are the physical machine's."""
        vm = self._up()
        inside, below = self.far.facts(), self.below.facts(root=False)
        return {
            **inside,
            "machine_id": below["machine_id"],
            "cpu": below["cpu"],
            "scratch": {**inside["scratch"], "disks": below["scratch"]["disks"]},
            "test_disk": f"second virtual disk ({DISK_SERIAL})",
            "accelerator": vm.accelerator,
        }

    def machine(self) -> str:
        """Return an id that only this physical machine has."""
        return str(self.below.facts(root=False)["machine_id"])

    def identity(self) -> str:
        """Return an id of what decides the results; "" until the virtual machine is up."""
        return super().identity() if self.vm else ""

    def accelerator(self) -> str:
        """Return what executes the processor's instructions: KVM, TCG or VirtualBox."""
        return self._up().accelerator

    def _up(self) -> Machine:
        if self.vm is None:
            raise NotReady("the virtual machine is not up; expected `prepare` to have started it")
        return self.vm

    def takes(self, trial: Trial) -> bool:
        """Tell whether a trial has only plain processes, in a virtual machine, on no real disk."""
        processes = all(group.isolation == "process" for group in trial.groups)
        return trial.machine == "virtual_machine" and processes and trial.device.kind != "disk"

    # ---- what it does -----------------------------------------------------------------

    def prepare(self, trials: list[Trial]) -> None:
        """Start the virtual machine with the memory and the disk that `trials` ask for."""
        missing = [finding for finding in findings() if finding.needed and not finding.ready]
        if missing:
            raise NotReady("; ".join(f"{one.what}: {one.found}. {one.remedy}" for one in missing))
        self.vm = self.given or Machine(
            FOLDER,
            memory_mib=max(trial.memory_mib for trial in trials),
            disk_mib=disk_mib(trials),
            say=self.say,
        )
        self.vm.up()
        way = self.vm.ssh_config()
        self.shell = SshShell(
            way["host"], way["user"], way["port"], way["key_filename"], way["known_hosts"]
        )
        self.far = far_agent.FarAgent(self.shell)
        super().prepare(trials)

    def site(self) -> dict[str, Any]:
        """Return what the agent must know, with the disk that was made for it."""
        return {**super().site(), "disk": DISK_SERIAL}

    def _run(self, trial: Trial, note: Say) -> dict[str, bytes]:
        with self._backing_scheduler(trial.backing_scheduler) as proofs:
            files = super()._run(trial, note)
        return {**files, "below.json": f"{json.dumps(proofs, indent=1)}\n".encode()}

    @contextlib.contextmanager
    def _backing_scheduler(self, scheduler: str | None) -> Iterator[list[Any]]:
        """Set the scheduler of the physical disk below the virtual one; yield the proofs.

        Leaving the context restores the old scheduler. With None, nothing changes.
        """
        if scheduler is None:
            yield []
            return
        what = f"the physical disk below the virtual machine did not get scheduler {scheduler}"
        disk = str(self._up().storage())
        held = self.below.held(what, "backing-scheduler", scheduler, disk, say=self.say, alone=True)
        with held as proofs:
            yield proofs

    def clean(self) -> str:
        """Clean up after killed runs; return a sentence that says what was done."""
        sentence = self.below.clean()
        Machine(FOLDER, say=self.say).clean()
        return f"{sentence}; no virtual machine of ours is left"

    def close(self) -> None:
        """Remove the virtual machine, unless the caller made it."""
        super().close()
        if self.vm is not None and self.vm is not self.given:
            self.vm.destroy()
        self.vm, self.shell = None, LocalShell()
        self.__dict__.pop("facts", None)
