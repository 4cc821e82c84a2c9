"""What every testbed offers, so that they can be exchanged for one another."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import NotReady
from ..results.outcome import Outcome
from ..trial import Trial
from ..trial.capabilities import Capability, remedy_of, scheduler, sentence_of

#: What a testbed is said to have of something that it does not even look for.
NOT_HERE = "not to be had here"

#: Receives a line for the person at the keyboard.
Say = Callable[[str], object]


@dataclass(frozen=True)
class Readiness:
    """One thing that a testbed needs or can do, as `elevatorlab doctor` shows it.

    Attributes
    ----------
    what : str
        Its name; what a trial requires is looked up by it (`requirements`).
    needed : bool
        Whether nothing runs without it; otherwise only the trials that require it do not.
    remedy : str
        What to do about it, where it is not ready.
    """

    testbed: str
    what: str
    found: str
    ready: bool
    remedy: str = ""
    needed: bool = False

    @property
    def sentence(self) -> str:
        """What the finding is for; "" if the testbed itself needs it."""
        return sentence_of(self.what)


class Testbed(Protocol):
    """Where trials run.

    Attributes
    ----------
    name : str
        What the tables call it.
    slots : int
        Trials that may run at the same time.
    anywhere : bool
        Whether a trial gives the same bits on every machine, idle or busy. Then any worker of a
        cluster may run it. Otherwise it measures a real device, which nothing else may use.
    identity_is : str
        What makes its identity, as the end of a sentence.
    defaults : dict
        What a study's parameters are here, unless the user says otherwise.
    """

    name: str
    slots: int
    anywhere: bool
    identity_is: str
    defaults: dict[str, Any]

    def findings(self) -> Iterable[Readiness]:
        """Say which needs of the testbed are met, and what it can do. Changes nothing."""

    def takes(self, trial: Trial) -> bool:
        """Tell whether the trial's arm is one of this testbed's, whatever else it requires."""

    def prepare(self, trials: list[Trial]) -> None:
        """Make ready for `trials`, or raise `NotReady` before anything starts."""

    def machine(self) -> str:
        """Return an id that only this physical machine has; arms with the same id are compared."""

    def folder_name(self) -> str:
        """Return the name of the folder that this testbed's results go to."""

    def identity(self) -> str:
        """Return what, besides the trial, decides the results (the image digest, say).

        Empty as long as the identity is not known: a virtual machine must be running to tell.
        """

    def run(self, trial: Trial, note: Say) -> Outcome:
        """Run `trial` and return what it came to; nothing of it is written here.

        Raises
        ------
        TrialFailed
            With a sentence that says why there is no result.
        """

    def stop(self) -> None:
        """End what runs now, without results."""

    def clean(self) -> str:
        """Finish what killed runs left; return a sentence that says what was done."""

    def close(self) -> None:
        """Give back what `prepare` took."""


def requirements(trial: Trial) -> set[str]:
    """Return what a testbed must have for `trial`: the names of findings.

    Parameters
    ----------
    trial : Trial

    Returns
    -------
    set of str
    """
    required = {scheduler(trial.scheduler.name), *trial.device.requires}
    if trial.regulator:
        required.add(Capability.LIMITS)
    if trial.io_cost:
        required.add(Capability.IO_COST)
    if trial.trace:
        required.add(Capability.TRACEPOINTS)
    if trial.backing_scheduler:
        required.add(Capability.BACKING_SCHEDULER)
    for group in trial.groups:
        limits = group.limits.model_dump()
        if limits.pop("weight"):
            required.add(Capability.WEIGHTS)
        if any(limits.values()):
            required.add(Capability.LIMITS)
        if group.virtual_machine:
            required.add(Capability.VIRTUAL_MACHINES)
            if group.virtual_machine.scheduler:
                required.add(scheduler(group.virtual_machine.scheduler.name))
    for workload in trial.workloads:
        required.update(workload.requires)
    return set(map(str, required))


def alike(findings: Iterable[Readiness]) -> Iterator[tuple[str, str, str]]:
    """Group what is missing by cause and remedy.

    Yield the names of each group, what was found, and the remedy.
    """
    names: dict[tuple[str, str], list[str]] = {}
    for one in findings:
        if not one.ready:
            names.setdefault((one.found, one.remedy), []).append(one.what)
    for (found, remedy), several in names.items():
        yield ", ".join(dict.fromkeys(several)), found, remedy


def refuse_what_is_missing(name: str, findings: Iterable[Readiness], trials: list[Trial]) -> None:
    """Refuse, before anything starts, trials that require what the testbed `name` lacks.

    Raises
    ------
    NotReady
        One sentence for each thing that is missing, and one for what to do about it.
    """
    _refuse(name, _missing(name, findings, trials))


def refuse_what_is_never_there(
    name: str, findings: Iterable[Readiness], trials: list[Trial]
) -> None:
    """Refuse trials that require what `name` lacks even when all that it needs is built.

    Raises
    ------
    NotReady
        As `refuse_what_is_missing`.
    """
    missing = _missing(name, findings, trials)
    # What a testbed finds of itself may be more once it is built.
    is_built = not any(one.needed for one in missing)
    never = [one for one in missing if is_built or one.found != NOT_HERE]
    _refuse(name, [one for one in never if not one.needed])


def _missing(name: str, findings: Iterable[Readiness], trials: list[Trial]) -> list[Readiness]:
    """Return what the trials lack: what the testbed itself needs, and what they require of it."""
    by_name = {finding.what: finding for finding in findings}
    required = sorted({what for trial in trials for what in requirements(trial)})
    absent = [
        Readiness(name, what, NOT_HERE, False, remedy_of(what))
        for what in required
        if what not in by_name
    ]
    needed = [finding for finding in by_name.values() if finding.needed]
    asked = [by_name[what] for what in required if what in by_name]
    return [one for one in (*needed, *asked, *absent) if not one.ready]


def _refuse(name: str, missing: Iterable[Readiness]) -> None:
    """Refuse where anything is missing."""
    sentences = [
        f"{what}: {found.rstrip('.')}. {remedy[:1].upper()}{remedy[1:]}".rstrip(". ")
        for what, found, remedy in alike(missing)
    ]
    if sentences:
        raise NotReady(f"testbed {name} cannot run this; " + ". ".join(sentences))
