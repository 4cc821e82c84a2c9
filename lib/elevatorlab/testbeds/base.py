"""The interface that every testbed has, so that one can replace another."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import NotReady
from ..results.outcome import Outcome
from ..trial import Trial
from ..trial.capabilities import Capability, processors, remedy_of, scheduler, sentence_of

#: Receives a line for the person at the keyboard.
Say = Callable[[str], object]


@dataclass(frozen=True)
class Readiness:
    """One thing that a testbed needs or can do, as `elevatorlab doctor` shows it.

    Attributes
    ----------
    testbed : str
        Name of the testbed.
    what : str
        Name of the need or the capability, as `requirements` spells it.
    found : str
        What the testbed found, in words.
    ready : bool
    remedy : str
        What to do if it is not ready.
    needed : bool
        True if no trial runs without it; False if only trials that require it need it.
    amount : int or None
        How much of it is there, where a trial requires a number of it.
    known : bool
        False if the testbed has no finding on it.

    Examples
    --------
    >>> missing = Readiness("host", "fio", "not installed", False, "apt-get install fio")
    >>> missing.ready, missing.remedy
    (False, 'apt-get install fio')
    """

    testbed: str
    what: str
    found: str
    ready: bool
    remedy: str = ""
    needed: bool = False
    amount: int | None = None
    known: bool = True

    @property
    def sentence(self) -> str:
        """What the capability is for; "" for a need of the testbed itself."""
        return sentence_of(self.what)


class Testbed(Protocol):
    """Where trials run.

    Attributes
    ----------
    name : str
        Name of the testbed in tables.
    slots : int
        Number of trials that may run at the same time.
    anywhere : bool
        Whether a trial gives the same bits on every machine, idle or busy. If so, any worker of a
        cluster may run the trial. If not, the trial measures a real device, which no other trial
        may use meanwhile.
    identity_is : str
        What `identity` is made of, in the words that an error message puts after the identity.
    defaults : dict
        Values of a study's parameters on this testbed, unless the user sets others. If a value is
        a list, the testbed offers all of it, and a preset chooses from it.

    Examples
    --------
    >>> from elevatorlab import testbeds
    >>> "docker" in testbeds.names()
    True
    """

    name: str
    slots: int
    anywhere: bool
    identity_is: str
    defaults: dict[str, Any]

    def findings(self) -> Iterable[Readiness]:
        """Yield a finding for each need and each capability; change nothing."""

    def takes(self, trial: Trial) -> bool:
        """Tell whether this testbed runs the trial's arm; check no other requirement."""

    def prepare(self, trials: list[Trial]) -> None:
        """Make ready for `trials`, or raise `NotReady` before anything starts."""

    def machine(self) -> str:
        """Return an id that only this physical machine has; arms with the same id are compared."""

    def folder_name(self) -> str:
        """Return the name of the folder that this testbed's results go to."""

    def identity(self) -> str:
        """Return an id of all that, besides the trial, decides the results.

        For example, the image digest. Empty while it is unknown: the identity of a virtual machine
        is known only after the machine has started.
        """

    def run(self, trial: Trial, note: Say) -> Outcome:
        """Run `trial` and return its outcome, without storing it.

        Raises
        ------
        TrialFailed
            When there is no result; the message says why.
        """

    def stop(self) -> None:
        """End the trials that run now, without results."""

    def clean(self) -> str:
        """Clean up after killed runs; return a sentence that says what was done."""

    def close(self) -> None:
        """Release what `prepare` acquired."""


def requirements(trial: Trial) -> set[str]:
    """Return the capabilities that a testbed must have to run `trial`.

    Returns: Names of capabilities, as `Readiness.what` has them.
    """
    required = {scheduler(trial.scheduler.name), *trial.device.requires}
    if trial.needed_processors > 1:
        required.add(processors(trial.needed_processors))
    if trial.rounds:
        required.add(Capability.ROUNDS)
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
    """Group the findings that are not ready by cause and remedy.

    Yield for each group its names, separated by commas, what was found, and the remedy.
    """
    names: dict[tuple[str, str], list[str]] = {}
    for one in findings:
        if not one.ready:
            names.setdefault((one.found, one.remedy), []).append(one.what)
    for (found, remedy), several in names.items():
        yield ", ".join(dict.fromkeys(several)), found, remedy


def refuse_what_is_missing(name: str, findings: Iterable[Readiness], trials: list[Trial]) -> None:
    """Refuse, before anything starts, trials that require what the testbed `name` lacks."""
    _refuse(name, _missing(name, findings, trials))


def refuse_what_is_never_there(
    name: str, findings: Iterable[Readiness], trials: list[Trial]
) -> None:
    """Refuse trials that the testbed `name` cannot run even after all that it needs is built."""
    missing = _missing(name, findings, trials)
    # A testbed that is not built yet may have more capabilities afterwards.
    is_built = not any(one.needed for one in missing)
    never = [one for one in missing if is_built or one.known]
    _refuse(name, [one for one in never if not one.needed])


def _missing(name: str, findings: Iterable[Readiness], trials: list[Trial]) -> list[Readiness]:
    """Return what is missing: needs of the testbed itself, and requirements of the trials."""
    by_name = {finding.what: finding for finding in findings}
    required = sorted({what for trial in trials for what in requirements(trial)})
    needed = [finding for finding in by_name.values() if finding.needed]
    asked = [_finding_on(what, by_name, name) for what in required]
    asked.sort(key=lambda one: not one.known)
    return [one for one in (*needed, *asked) if not one.ready]


def _finding_on(what: str, by_name: Mapping[str, Readiness], name: str) -> Readiness:
    """Return the finding on a requirement of a trial, which may ask for a number of something."""
    if what in by_name:
        return by_name[what]
    kind, _, number = what.rpartition(" ")
    there = by_name.get(kind)
    if there is None or there.amount is None:
        return Readiness(name, what, "not to be had here", False, remedy_of(what), known=False)
    return Readiness(name, what, there.found, there.amount >= int(number), remedy_of(what))


def _refuse(name: str, missing: Iterable[Readiness]) -> None:
    """Raise `NotReady` if anything is missing."""
    sentences = [
        f"{what}: {found.rstrip('.')}. {remedy[:1].upper()}{remedy[1:]}".rstrip(". ")
        for what, found, remedy in alike(missing)
    ]
    if sentences:
        raise NotReady(f"testbed {name} cannot run this; " + ". ".join(sentences))
