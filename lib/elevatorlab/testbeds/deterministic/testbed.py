"""Run trials in the deterministic machine."""

import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ... import scratch
from ...errors import ElevatorLabError, NeverEnded, NotReady, TrialFailed
from ...plugins.schedulers import IN_THE_IMAGE, SCHEDULERS
from ...plugins.testbeds import DEFAULT
from ...results.outcome import Outcome
from ...trial import Trial
from ...trial.capabilities import Capability, device, driver, program, remedy_of, scheduler
from ...trial.kernel_modules import Module
from .. import agent_answer, agent_archive, plugin_archive
from ..base import Readiness, Say, refuse_what_is_missing
from . import exchange, image, modules, our_qemu, qemu, repeated_trials, template, timeouts
from .monitor import converse

#: Limit of wall time per guest second and processor. A guest second takes 3 to 6 s of wall time for
#: each busy processor, so a guest that reaches the limit hangs.
WALL_SECONDS_PER_GUEST_SECOND = 60

HOST_RESERVE_MIB = 512

FORM = f"{DEFAULT}?cpus=N[&slot=INSTRUCTIONS][&transfer=INSTRUCTIONS]"

#: With more processors than this, a guest second takes minutes.
MOST_CPUS = 48

#: Least and largest value of each parameter in an address, all fields of `qemu.Emulator`. In slots
#: above a millisecond (1,000,000 instructions), the times of locks and timers mean nothing.
RANGES = {"cpus": (1, MOST_CPUS), "slot": (20, 1_000_000), "transfer": (0, 10_000)}

#: Wall seconds per guest second and processor, if all are busy, in slots of 1000 instructions.
WALL_SECONDS_PER_PROCESSOR = 5

NOT_OURS = f"{our_qemu.OTHER} names a QEMU without the changes in environments/emulator"
UNSET = f"unset {our_qemu.OTHER}"

RUN_IT_AGAIN = "Run it again; if it stays, try a smaller workload"

#: Capabilities of the guest besides schedulers (see `elevatorlab.testbeds.base.requirements`).
CAPABILITIES = (
    *map(device, ("drive", "nvme_tcp", "null_blk", "paced_disk")),
    *map(driver, ("stock", "one_send")),
    *(Capability.LIMITS, Capability.WEIGHTS, Capability.IO_COST),
    Capability.LINK,
    *(Capability.PAGE_CACHE_DROP, Capability.TRACEPOINTS),
    *map(program, ("fio", "iostat", "mariadbd", "sysbench")),
)


def arrangement(address: str) -> dict[str, Any]:
    """Return the parameters of an address in the form `FORM`, in the order of `RANGES`.

    Examples
    --------
    >>> arrangement("deterministic?transfer=100&cpus=4")
    {'cpus': 4, 'transfer': 100}
    """
    given = parse_qsl(address.partition("?")[2], keep_blank_values=True)
    names = [name for name, _ in given]
    if not names or len(set(names)) < len(names) or not RANGES.keys() >= set(names):
        raise ElevatorLabError(f"testbed {DEFAULT}: expected {FORM}; found {address!r}")
    return {name: _number(name, dict(given)[name]) for name in RANGES if name in names}


def _number(name: str, text: str) -> int:
    least, most = RANGES[name]
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise ElevatorLabError(
            f"testbed {DEFAULT}: {name}: expected a number from {least} to {most}; found {text!r}"
        )
    return int(text)


class DeterministicTestbed:
    """A real Debian kernel under QEMU's instruction counting: the same bits anywhere.

    It needs neither root nor KVM. One nanosecond of its time is one instruction, so it
    measures what schedulers decide and what their code costs, not what a machine would do.

    Its machine has as many processors as a trial asks for. A group with the isolation
    ``virtual_machine`` runs in a virtual machine inside this one, by KVM.

    Parameters
    ----------
    address : str
        In the form `FORM`, for an arrangement of processors other than the usual one. ``cpus`` is
        then the same for all trials. The arrangement belongs to the digest, so results of different
        ones are never pooled. `DEFAULT` means the usual one.
    say : callable
        Called with a line of text before anything that takes long.
    limit_s : float, optional
        Wall time after which a trial is stopped; by default far more than a trial takes.
    emulator : Emulator
        The program that emulates the machine. It is part of the digest.

    Attributes
    ----------
    anew : bool
        Whether every trial really runs, even where its outcome is in the user's cache.

    Examples
    --------
    >>> testbed = DeterministicTestbed()
    >>> testbed.name, testbed.anywhere
    ('deterministic', True)
    """

    name = DEFAULT
    anywhere = True
    identity_is = " (the image's digest)"
    defaults: dict[str, Any] = {
        "arms": ("host", "container", "vm"),
        "guest": True,
        "device": "null_blk",
    }

    def __init__(
        self,
        address: str = DEFAULT,
        say: Say = print,
        limit_s: float | None = None,
        emulator: qemu.Emulator = qemu.USUAL,
    ) -> None:
        self.say = say
        self.arrangement = arrangement(address) if address != DEFAULT else {}
        self.emulator = replace(emulator, **self.arrangement)
        self.anew = False
        self._limit_s = limit_s
        self.slots = len(os.sched_getaffinity(0))
        # Built modules, by a trial's list of modules. A cluster's worker gets them from the client.
        self._modules: dict[tuple[Module, ...], modules.TrialModules] = {}
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def findings(self) -> Iterator[Readiness]:
        """Yield what the testbed needs of this machine, and what the guest can do."""
        yield self._needed("QEMU", self.emulator.version)
        yield self._needed("image", lambda: "digest " + self.identity()[:12])
        free_mib = available_memory_mib()
        yield Readiness(
            self.name,
            "memory",
            f"{free_mib} MiB free",
            free_mib >= 1536,
            "close programs: a trial takes up to 1.5 GiB, of some full presets 5.5 GiB",
        )
        for name, record in SCHEDULERS.items():
            there = record.folder is not None or record.source in IN_THE_IMAGE
            found = "in the guest" if there else "not in the image"
            if record.folder is not None:
                found = f"built from {record.folder.path}"
            what = scheduler(name)
            yield Readiness(self.name, what, found, there, "" if there else remedy_of(what))
        for what in CAPABILITIES:
            yield Readiness(self.name, str(what), "in the guest", True)
        yield self._virtual_machines()
        yield from self._processors()
        if image.manifest():
            yield self._iozone()

    def _virtual_machines(self) -> Readiness:
        """Return the finding on virtual machines inside this one."""
        ours = not isinstance(self.emulator, qemu.AnotherQemu)
        what = str(Capability.VIRTUAL_MACHINES)
        found = f"in the guest, by KVM on {self.emulator.processor}"
        return Readiness(self.name, what, found if ours else NOT_OURS, ours, UNSET)

    def _processors(self) -> Iterator[Readiness]:
        """Yield the findings on processors: how many there are, what they cost, and their turns."""
        number, turns = str(Capability.PROCESSORS), str(Capability.ROUNDS)
        if isinstance(self.emulator, qemu.AnotherQemu):
            yield Readiness(self.name, number, NOT_OURS, False, UNSET, amount=1)
            yield Readiness(self.name, turns, NOT_OURS, False, UNSET)
            return
        there = self.arrangement.get("cpus", MOST_CPUS)
        found = f"{there}, about {WALL_SECONDS_PER_PROCESSOR} wall seconds a guest second for each"
        yield Readiness(self.name, number, found, True, amount=there)
        yield Readiness(self.name, turns, self.emulator.turns, True)

    def _iozone(self) -> Readiness:
        """Return the finding on iozone, which needs Debian's component non-free."""
        there = "iozone3" in (image.manifest() or {}).get("packages", ())
        found = "in the guest" if there else "not in the image"
        what = program("iozone")
        return Readiness(self.name, what, found, there, "" if there else remedy_of(what))

    def _needed(self, what: str, look: Callable[[], str]) -> Readiness:
        try:
            return Readiness(self.name, what, look(), True, needed=True)
        except NotReady as problem:
            return Readiness(self.name, what, problem.lack, False, problem.remedy, needed=True)

    def identity(self) -> str:
        """Return the image digest; raise `NotReady` if image or emulator is missing."""
        self.emulator.version()
        return image.digest(self.emulator)

    def machine(self) -> str:
        """Return the image digest, since the machine is the same wherever it is emulated."""
        return self.identity()

    def folder_name(self) -> str:
        """Return the name of the results' folder, which contains the arrangement."""
        return "-".join([self.name, *(f"{name}{n}" for name, n in self.arrangement.items())])

    def takes(self, trial: Trial) -> bool:
        """Tell whether a trial runs directly on the host, not in Vagrant's virtual machine."""
        return trial.machine == "host"

    def clean(self) -> str:
        """Remove temporary folders of killed processes; return a sentence that says so."""
        scratch.sweep()
        return "nothing of ours is left"

    def close(self) -> None:
        """Do nothing: `prepare` acquires nothing that must be released."""

    def prepare(self, trials: list[Trial]) -> None:
        """Check the machine, boot a template for each size of memory, and build modules.

        Raises
        ------
        NotReady
            When QEMU, the image, memory or disk space is missing, or a trial requires a capability
            that this testbed lacks. No trial has run then.
        ElevatorLabError
            When a trial's kernel module does not compile.
        """
        refuse_what_is_missing(self.name, self.findings(), trials)
        self._refuse_two_arrangements(trials)
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
        wanted = dict.fromkeys((trial.memory_mib, self._emulator_of(trial)) for trial in trials)
        for memory_mib, emulator in sorted(wanted, key=lambda one: one[0]):
            if template.ready(memory_mib, emulator) is None:
                what = f"{memory_mib} MiB ({emulator.boots_in})"
                self.say(f"booting the {self.name} machine once, {what}")
                template.make(memory_mib, emulator)
        self._modules = {}
        for trial in trials:
            self._build_modules(trial)

    def _refuse_two_arrangements(self, trials: list[Trial]) -> None:
        named = [name for name in ("slot", "transfer") if name in self.arrangement]
        if named and any(trial.rounds for trial in trials):
            raise ElevatorLabError(
                f"testbed {DEFAULT}: expected an address without {' and '.join(named)} for trials "
                f"that say themselves how processors take turns; found {self.folder_name()}"
            )

    def _emulator_of(self, trial: Trial) -> qemu.Emulator:
        """Return the emulator for a trial's machine: with the processors and the machine inside."""
        cpus = self.arrangement.get("cpus", trial.needed_processors)
        inside = [group.virtual_machine for group in trial.groups if group.virtual_machine]
        inner_mib = inside[0].memory_mib if inside else 0
        emulator = replace(self.emulator, cpus=cpus, inner_mib=inner_mib)
        if trial.rounds is None:
            return emulator
        slot, transfer = trial.rounds.slot_instructions, trial.rounds.transfer_instructions
        return replace(emulator, slot=slot, transfer=transfer)

    def _build_modules(self, trial: Trial) -> modules.TrialModules:
        """Return the trial's kernel modules; build them if that was not done yet."""
        if trial.modules not in self._modules:
            self._modules[trial.modules] = modules.build_for(trial)
        return self._modules[trial.modules]

    def run(self, trial: Trial, note: Say | None = None) -> Outcome:
        """Run `trial` and return its outcome.

        Where `repeated_trials.REUSE` allows it, the outcome of an earlier run is returned.

        Raises
        ------
        TrialFailed
            When there is no result. The message is the agent's own, or says what happened to the
            machine.
        """
        if self.anew or not repeated_trials.reused():
            return self._run(trial)
        machine = f"{self.name} {self.identity()}"
        return repeated_trials.outcome(machine, trial, lambda: self._run(trial))

    def _run(self, trial: Trial) -> Outcome:
        """Run `trial` in the machine, whether or not that was done before."""
        start_s = time.monotonic()
        wanted = trial.memory_mib, self._emulator_of(trial)
        kept = template.ready(*wanted) or template.make(*wanted)
        with scratch.folder() as place:
            memory = Path(place, "exchange")
            built = self._build_modules(trial)
            exchange.write(memory, plugin_archive.files_of(trial, built.archive))
            status = self._continue(kept, wanted, memory, place, self.wall_limit_s(trial))
            if status != qemu.FINISHED:
                raise TrialFailed(
                    f"the guest stopped without a result (QEMU status {status}, expected "
                    f"{qemu.FINISHED}): its kernel panicked, or QEMU was killed. "
                    + (modules.FIND_IT if trial.modules else RUN_IT_AGAIN)
                )
            sent = exchange.read_result(memory)
        files = agent_answer.result_files(sent, sent.get("agent.log", b""))
        modules.refuse_kernel_fault(trial, sent["dmesg.txt"])
        provenance = self._provenance(wanted[1], kept, time.monotonic() - start_s)
        if trial.modules:
            provenance["modules"] = built.provenance(trial)
        return Outcome(files, provenance)

    def wall_limit_s(self, trial: Trial) -> float:
        """Return the wall time in seconds after which a trial is stopped.

        The limit is for a guest that hangs. A guest that works ends by the trial's own deadline.
        """
        guest_s = trial.deadline_s * self._emulator_of(trial).cpus
        return self._limit_s or 60 + WALL_SECONDS_PER_GUEST_SECOND * guest_s

    def _continue(
        self,
        kept: Path,
        wanted: tuple[int, qemu.Emulator],
        memory: Path,
        place: str | Path,
        limit_s: float,
    ) -> int:
        """Continue a copy of the template until it ends itself; return QEMU's status."""
        memory_mib, emulator = wanted
        machine = template.start(
            image.FOLDER,
            memory_mib,
            kept / "ram",
            "share=off",
            memory,
            place,
            *("-incoming", "defer", "-S"),
            emulator=emulator,
        )
        self._running.add(machine)
        if self._stopped:
            machine.kill()
        try:
            converse(template.resume(Path(place, "monitor"), machine, kept / "state", limit_s))
            return timeouts.wait(machine, limit_s)
        except subprocess.TimeoutExpired:
            raise NeverEnded(
                f"the guest did not end within {limit_s:.0f} s of wall time; it was stopped. "
                "The machine is overloaded, or the guest hangs"
            ) from None
        finally:
            if machine.poll() is None:
                machine.kill()
                machine.wait()
            assert machine.stderr
            machine.stderr.close()
            self._running.discard(machine)

    def stop(self) -> None:
        """End the machines that run now; their trials fail without results."""
        self._stopped = True
        for machine in list(self._running):
            machine.kill()

    def _provenance(self, emulator: qemu.Emulator, kept: Path, wall_s: float) -> dict[str, Any]:
        found = image.current()
        return {
            "testbed": self.name,
            "machine": self.machine() if self.arrangement else self.name,
            "image_digest": self.identity(),
            "agent_digest": agent_archive.agent_digest(),
            "boot_ram_sha256": json.loads((kept / "about.json").read_text())["ram_sha256"],
            "kernel": found["packages"]["linux-image-amd64"],
            "packages": found["packages"],
            "accelerator": f"TCG, {emulator.counts} (1 instruction = 1 ns)",
            "qemu": self.emulator.version(),
            "host": {
                "cpu": cpu_model(),
                "kernel": platform.release(),
                "machine": platform.machine(),
                "cores": os.cpu_count(),
            },
            "wall_s": round(wall_s, 3),
        }


def available_memory_mib() -> int:
    """Return the memory that programs can still get on this machine, in MiB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    return shutil.disk_usage("/dev/shm").free >> 20


def cpu_model() -> str:
    """Return the model name of this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()
