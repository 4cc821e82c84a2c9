"""Run trials in a virtual machine that Vagrant makes and takes away."""

import contextlib
import functools
import json

from ...errors import NotReady
from ...paths import BUILD
from .. import far
from ..shell import LocalShell, SshShell
from ..ssh import ShellTestbed
from .machine import DISK_SERIAL, Machine, findings

FOLDER = BUILD / "vagrant"


class VagrantTestbed(ShellTestbed):
    """A virtual machine on this one, with a second disk for the device under test.

    Its processor is real only where KVM (or VirtualBox) works; otherwise QEMU emulates it, and
    every result says so.

    Parameters
    ----------
    machine : Machine, optional
        One that somebody else makes and takes away; by default one for the campaign.
    """

    name = "vagrant"
    defaults = {**ShellTestbed.defaults, "arms": ("vm",)}

    def __init__(self, say=print, machine=None):
        super().__init__(None, say)
        self.given = machine
        self.below = far.FarAgent(LocalShell())
        self.vm = None

    # ---- what it can do ---------------------------------------------------------------

    def findings(self):
        """Say what this machine has for virtual machines; what is inside is known once it is up."""
        yield from findings()
        if self.vm is not None:
            yield from super().findings()

    @functools.cached_property
    def facts(self):
        """What the virtual machine is and has, and the physical machine's identity."""
        if self.vm is None:
            raise NotReady("the virtual machine is not up; expected `prepare` to have started it")
        inside, below = self.far.facts(), self.below.facts(root=False)
        return {
            **inside,
            "machine_id": below["machine_id"],
            "cpu": below["cpu"],
            "scratch": {**inside["scratch"], "disks": below["scratch"]["disks"]},
            "test_disk": f"second virtual disk ({DISK_SERIAL})",
            "accelerator": self.accelerator(),
        }

    def machine(self):
        """Return what tells the physical machine below from others."""
        return self.below.facts(root=False)["machine_id"]

    def identity(self):
        """Return what decides the results, as soon as the virtual machine is up."""
        return super().identity() if self.vm else ""

    def accelerator(self):
        """Return what executes the processor's instructions."""
        return self.vm.accelerator

    def takes(self, trial):
        """Plain processes in a virtual machine."""
        processes = all(group.isolation == "process" for group in trial.groups)
        return trial.machine == "virtual_machine" and processes and trial.device.kind != "disk"

    # ---- what it does -----------------------------------------------------------------

    def prepare(self, trials):
        """Start the virtual machine with the memory and the disk that `trials` ask for."""
        missing = [finding for finding in findings() if finding.needed and not finding.ready]
        if missing:
            raise NotReady("; ".join(f"{one.what}: {one.found}. {one.remedy}" for one in missing))
        self.vm = self.given or Machine(
            FOLDER,
            memory_mib=max(trial.memory_mib for trial in trials),
            disk_mib=max(trial.device.size_mib for trial in trials),
            say=self.say,
        )
        self.vm.up()
        way = self.vm.ssh_config()
        self.shell = SshShell(
            way["host"], way["user"], way["port"], way["key_filename"], way["known_hosts"]
        )
        self.far = far.FarAgent(self.shell)
        super().prepare(trials)

    def site(self):
        """Tell the agent which disk was made for it."""
        return {**super().site(), "disk": DISK_SERIAL}

    def _run(self, trial, folder, note):
        with self._backing_scheduler(trial.backing_scheduler) as proofs:
            super()._run(trial, folder, note)
        (folder / "below.json").write_text(json.dumps(proofs, indent=1) + "\n")

    @contextlib.contextmanager
    def _backing_scheduler(self, scheduler):
        """Keep the scheduler of the physical disk below the virtual one; yield the proofs."""
        if scheduler is None:
            yield []
            return
        what = f"the physical disk below the virtual machine did not get scheduler {scheduler}"
        disk = str(self.vm.storage())
        with self.below.held(what, "hold", scheduler, disk, say=self.say) as proofs:
            yield proofs

    def clean(self):
        """Remove what killed runs left; return a sentence that says what was done."""
        sentence = self.below.clean()
        Machine(FOLDER, say=self.say).clean()
        return f"{sentence}; no virtual machine of ours is left"

    def close(self):
        """Take the virtual machine away, unless it is somebody else's."""
        if self.shell is not None:
            super().close()
        if self.vm is not None and self.vm is not self.given:
            self.vm.destroy()
        self.vm = self.shell = None
        self.__dict__.pop("facts", None)
