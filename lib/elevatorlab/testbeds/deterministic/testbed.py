"""Run trials in the deterministic machine."""

import json
import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

from ...errors import NotReady, TrialFailed
from .. import pyz
from ..base import Finding, refuse_what_is_missing
from . import exchange, image, qemu, scratch, template

#: One guest second costs 3 to 6 s of wall time when the guest is busy. A machine far slower
#: than that is stopped: its guest hangs.
WALL_SECONDS_PER_GUEST_SECOND = 60

HOST_RESERVE_MIB = 512

#: What the guest's kernel and programs can do (see `elevatorlab.testbeds.base.requirements`).
CAPABILITIES = (
    *("scheduler none", "scheduler mq-deadline", "scheduler bfq", "scheduler kyber"),
    *("scheduler sbq", "device nvme_tcp", "driver stock", "driver one_send"),
    *("device null_blk", "device paced_disk", "limits", "weights", "io.cost"),
    *("page-cache drop", "tracepoints"),
    *("program fio", "program iostat", "program mariadbd", "program sysbench"),
)


class DeterministicTestbed:
    """A real Debian kernel under QEMU's instruction counting: the same bits anywhere.

    It needs neither root nor KVM. One nanosecond of its time is one instruction, so it
    measures what schedulers decide and what their code costs, not what a machine would do.
    """

    name = "deterministic"
    anywhere = True
    identity_is = " (the image's digest)"
    defaults = {"arms": ("host", "container"), "device": "null_blk"}

    def __init__(self, say=print):
        self.say = say
        self.slots = len(os.sched_getaffinity(0))
        self._running = set()
        self._stopped = False

    def findings(self):
        """Say what this machine has of what the testbed needs."""
        yield self._finding("QEMU", qemu.version, "make setup")
        yield self._finding("image", lambda: "digest " + image.digest()[:12], "make setup")
        free_mib = available_memory_mib()
        yield Finding(
            self.name,
            "memory",
            f"{free_mib} MiB free",
            free_mib >= 1536,
            "close programs: a trial takes up to 1.5 GiB, of some full presets 5.5 GiB",
        )
        for what in CAPABILITIES:
            yield Finding(self.name, what, "in the guest", True)
        if image.manifest():
            yield self._iozone()

    def _iozone(self):
        """Say whether the image has iozone: Debian's component non-free is not everywhere."""
        there = "iozone3" in image.manifest().get("packages", ())
        found = "in the guest" if there else "not in the image"
        remedy = (
            "build it where Debian's component non-free can be had (elevatorlab image build "
            "--force), or take fio for the same patterns: -p tool=fio"
        )
        return Finding(self.name, "program iozone", found, there, "" if there else remedy)

    def _finding(self, what, look, remedy):
        try:
            return Finding(self.name, what, look(), True, needed=True)
        except NotReady as problem:
            return Finding(self.name, what, str(problem), False, remedy, needed=True)

    def identity(self):
        """Return the image digest."""
        return image.digest()

    def machine(self):
        """Return the image digest: the same machine wherever it is emulated."""
        return image.digest()

    def folder_name(self):
        """Return the name of the folder that this testbed's results go to."""
        return self.name

    def takes(self, trial):
        """Everything but a virtual machine: there is none inside this one."""
        return trial.machine == "host"

    def clean(self):
        """Remove the folders of killed clients; nothing else outlives one."""
        scratch.sweep()
        return "nothing of ours is left"

    def close(self):
        """Nothing was taken that lasts."""

    def prepare(self, trials):
        """Check the machine, and boot a template for each size of memory that `trials` need.

        A trial that this testbed cannot run is refused here.

        Raises
        ------
        NotReady
            When QEMU, the image, memory or disk space is missing; nothing has run then.
        """
        refuse_what_is_missing(self, self.findings(), trials)
        self._stopped = False
        scratch.sweep()
        image.current()
        largest_mib = max((trial.memory_mib for trial in trials), default=0)
        needed_mib = largest_mib + HOST_RESERVE_MIB
        found_mib = available_memory_mib()
        if found_mib < needed_mib:
            raise NotReady(
                f"these trials need {needed_mib} MiB of free memory; found {found_mib} MiB. "
                "Close programs, or choose a smaller preset"
            )
        self.slots = max(1, min(self.slots, found_mib // needed_mib))
        for memory_mib in sorted({trial.memory_mib for trial in trials}):
            if template.ready(memory_mib) is None:
                self.say(f"booting the deterministic machine once, {memory_mib} MiB (about 15 s)")
                template.make(memory_mib)

    def run(self, trial, folder, note=None):
        """Run `trial`, write its result into the empty `folder`, return the provenance.

        Raises
        ------
        TrialFailed
            With the agent's own sentence, or with what became of the machine.
        """
        start_s = time.monotonic()
        kept = template.ready(trial.memory_mib) or template.make(trial.memory_mib)
        with scratch.folder() as place:
            memory = Path(place, "exchange")
            exchange.write(memory, "trial.json", trial.canonical_json().encode())
            limit_s = 60 + WALL_SECONDS_PER_GUEST_SECOND * trial.deadline_s
            status = self._continue(kept, trial.memory_mib, memory, place, limit_s)
            if status != qemu.FINISHED:
                raise TrialFailed(
                    f"the guest stopped without a result (QEMU status {status}, expected "
                    f"{qemu.FINISHED}): its kernel panicked, or QEMU was killed. Run it again; "
                    "if it stays, try a smaller workload"
                )
            files = exchange.read_result(memory)
        log = files.get("agent.log", b"").decode(errors="replace")
        if files.get("status") != b"0":
            said = files.get("result/failure.txt", b"").decode().strip()
            raise TrialFailed(said or f"the agent broke off; its log ends: {log.strip()[-600:]}")
        for name, content in sorted(files.items()):
            if name in ("dmesg.txt", "interrupts.txt") or name.startswith("result/"):
                target = folder / name.removeprefix("result/")
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(content)
        (folder / "log.txt").write_text(log)
        return self._provenance(kept, time.monotonic() - start_s)

    def _continue(self, kept, memory_mib, memory, place, limit_s):
        """Continue a copy of the template until it ends itself; return QEMU's status."""
        machine = template.start(
            image.FOLDER,
            memory_mib,
            kept / "ram",
            "share=off",
            memory,
            place,
            *("-incoming", "defer", "-S"),
        )
        self._running.add(machine)
        if self._stopped:
            machine.kill()
        try:
            monitor = qemu.Monitor(Path(place, "monitor"), machine, limit_s)
            monitor.do("migrate-incoming", uri=f"exec:cat '{kept / 'state'}'")
            while monitor.do("query-status")["status"] == "inmigrate":
                time.sleep(0.005)
            monitor.do("cont")
            monitor.close()
            return machine.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise TrialFailed(
                f"the guest did not end within {limit_s:.0f} s of wall time; it was stopped. "
                "The machine is overloaded, or the guest hangs"
            ) from None
        finally:
            if machine.poll() is None:
                machine.kill()
                machine.wait()
            machine.stderr.close()
            self._running.discard(machine)

    def stop(self):
        """End the machines that run now; their trials fail and leave nothing."""
        self._stopped = True
        for machine in list(self._running):
            machine.kill()

    def _provenance(self, kept, wall_s):
        found = image.current()
        return {
            "testbed": self.name,
            "machine": self.name,
            "image_digest": image.digest(),
            "agent_digest": pyz.agent_digest(),
            "boot_ram_sha256": json.loads((kept / "about.json").read_text())["ram_sha256"],
            "kernel": found["packages"]["linux-image-amd64"],
            "packages": found["packages"],
            "accelerator": "TCG, instruction counting (1 instruction = 1 ns)",
            "qemu": qemu.version(),
            "host": {
                "cpu": _cpu_model(),
                "kernel": platform.release(),
                "machine": platform.machine(),
                "cores": os.cpu_count(),
            },
            "wall_s": round(wall_s, 3),
        }


def available_memory_mib():
    """Return the memory that programs can still get on this machine, in MiB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    return shutil.disk_usage("/dev/shm").free >> 20


def _cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()
