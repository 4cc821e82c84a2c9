"""The isolation regulator in a trial, and the options of its policies."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from ..plugins.trial_parts import POLICIES
from ..records import Name, NotNegative, Positive, Record, absent, checked
from .registry_fields import name_in


class PolicyModel(Record):
    """Base of all policies; its fields are the `options` that a trial's regulator gives it.

    Attributes
    ----------
    agent : str
        ``"module:class"`` of the class that implements the policy on the machine under test, and
        takes these options (see `agent.regulator.policies`). Empty if the agent itself has it.
    number : str or None
        The field of `Regulator` that the policy ensures: ``sla_wait_ms``, ``threshold``, or None.
        It is None for a plug-in's policy, to which the agent gives its options alone.

    Examples
    --------
    >>> class Halve(PolicyModel):
    ...     agent = "mine.halve:Halve"
    ...     above_ms: float = 8
    >>> Halve(above_ms=4).above_ms
    4.0
    """

    agent: ClassVar[str] = ""
    number: ClassVar[str | None] = None


class Slae(PolicyModel):
    """Service-Level Agreement Ensure, in our variant: no group waits longer than its SLA."""

    number: ClassVar[str | None] = "sla_wait_ms"


class Ute(PolicyModel):
    """Utilisation Threshold Ensure, in our variant: no disk is busier than `threshold`."""

    number: ClassVar[str | None] = "threshold"


class SlaePaper(PolicyModel):
    """SLAE as in section 4.2.1 of the isolation paper; the options are what the paper leaves open.

    Attributes
    ----------
    step : str
        How much of a container's rate one step takes away: a tenth (``mild``), or half
        (``sharp``).
    overload : str
        How to find the container that overloads the disk: by the highest ``utilization``, the
        highest ``speed``, or ``both`` at once.
    """

    number: ClassVar[str | None] = "sla_wait_ms"

    step: Literal["mild", "sharp"] = "sharp"
    overload: Literal["both", "utilization", "speed"] = "both"


class UtePaper(PolicyModel):
    """UTE as in section 4.2.2 of the isolation paper; the options are what the paper leaves open.

    Attributes
    ----------
    system : str
        What counts as the utilisation of the system: the ``mean`` over the containers' devices, or
        that of the ``shared`` disk.
    step : str
        As in `SlaePaper`.
    """

    number: ClassVar[str | None] = "threshold"

    system: Literal["mean", "shared"] = "mean"
    step: Literal["mild", "sharp"] = "sharp"


class Aimd(PolicyModel):
    """Additive increase, multiplicative decrease of the rate of those who overload the disk.

    Attributes
    ----------
    increase_ratio, decrease_ratio : float
        A period that meets the SLA adds `increase_ratio`, as a share of the rate before the limit.
        A period that misses the SLA multiplies the rate by `decrease_ratio`.
    """

    number: ClassVar[str | None] = "sla_wait_ms"

    increase_ratio: Annotated[float, Field(gt=0, le=1)] = 0.05
    decrease_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.5


class Pi(PolicyModel):
    """Proportional and integral control of the rate of those who overload the disk.

    Attributes
    ----------
    target : float
        Target of the wait, as a share of the SLA.
    gain : float
        Rise of the wait, in SLAs, when the overload goes from nothing to its rate before the limit.
    """

    number: ClassVar[str | None] = "sla_wait_ms"

    target: Annotated[float, Field(gt=0, le=1)] = 0.85
    gain: Positive = 5


class Guard(PolicyModel):
    """A cap on newcomers from the beginning, steered several times a second.

    Attributes
    ----------
    target : float
        Target of the wait, as a share of the SLA.
    newcomers_ratio : float
        Rate that all newcomers together get at first, as a share of the median rate of the groups
        already at work.
    """

    number: ClassVar[str | None] = "sla_wait_ms"

    target: Annotated[float, Field(gt=0, le=1)] = 0.92
    newcomers_ratio: Positive = 0.6


class Share(Guard):
    """A cap on the disk time of newcomers, by a cost model that is learnt from the disk's counters.

    Attributes
    ----------
    target : float
        As in `Guard`.
    newcomers_ratio : float
        As in `Guard`, but of disk time instead of a rate.
    """

    target: Annotated[float, Field(gt=0, le=1)] = 0.93


class Regulator(Record):
    """The isolation regulator (docs/regulator.md), over all groups of the trial.

    Attributes
    ----------
    policy : str
        Name of the policy. Ours ensures `sla_wait_ms` or `threshold`; a plug-in's has neither.
    options : dict
        Further parameters of the policy.
    classes : dict
        SLAs of single groups, in ms, by the group's name; None: this group has no SLA.
    start_s : float
        Time from the start of the foreground workloads to the start of the regulator.
    """

    policy: Annotated[str, AfterValidator(name_in(POLICIES))]
    sla_wait_ms: Positive | None = None
    threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    options: dict[Name, JsonValue] = absent({})
    classes: dict[Name, Positive | None] = {}
    period_s: Annotated[float, Field(ge=0.05, le=60)] = 1
    floor_kib_s: Positive = 128
    start_s: NotNegative = 0

    @model_validator(mode="after")
    def _has_its_own_number(self) -> Regulator:
        model = POLICIES.get(self.policy)
        wanted = {model.number} - {None}
        given = {name for name in ("sla_wait_ms", "threshold") if getattr(self, name) is not None}
        if given != wanted:
            raise ValueError(
                f"regulator: expected {' '.join(wanted) or 'no number of another'} with the "
                f"policy {self.policy}; found {' and '.join(sorted(given)) or 'neither number'}"
            )
        whole = checked(model, self.options, f"regulator.options of the policy {self.policy}")
        # All options, with the policy's defaults: they belong to the hash.
        object.__setattr__(self, "options", whole.model_dump(mode="json"))
        return self
