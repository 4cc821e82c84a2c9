"""The isolation regulator in a trial, and what its policies are given."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ..plugins.kinds import POLICIES
from ..records import Name, NotNegative, Positive, Record, checked
from .registered import name_in


class PolicyModel(Record):
    """Base of all policies; its fields are the `options` that a trial's regulator gives it.

    Attributes
    ----------
    agent : str
        ``"module:class"`` of its law beside the disk, which takes these options (see
        `agent.regulator.policies`); empty for those that the agent itself has.
    number : str or None
        The field of `Regulator` that belongs to it alone.
    """

    agent: ClassVar[str] = ""
    number: ClassVar[str | None] = None


class Slae(PolicyModel):
    """Service-Level Agreement Ensure, as this project has it: nobody waits longer than its SLA."""

    number: ClassVar[str | None] = "sla_wait_ms"


class Ute(PolicyModel):
    """Utilisation Threshold Ensure, as this project has it: a disk is never busier than that."""

    number: ClassVar[str | None] = "threshold"


class SlaePaper(PolicyModel):
    """SLAE as the paper gives it; the options are what the paper leaves open.

    Attributes
    ----------
    step : str
        How much is taken from a container at once: a tenth, or half, of what it does.
    overload : str
        What the overloaded container has most of.
    """

    number: ClassVar[str | None] = "sla_wait_ms"

    step: Literal["mild", "sharp"] = "sharp"
    overload: Literal["both", "utilization", "speed"] = "both"


class UtePaper(PolicyModel):
    """UTE as the paper gives it; the options are what the paper leaves open.

    Attributes
    ----------
    system : str
        The utilisation of the system: the mean of the containers' devices, or the shared disk's.
    step : str
        As in `SlaePaper`.
    """

    number: ClassVar[str | None] = "threshold"

    system: Literal["mean", "shared"] = "mean"
    step: Literal["mild", "sharp"] = "sharp"


class Aimd(PolicyModel):
    """Additive increase, multiplicative decrease of what an overload may do.

    Attributes
    ----------
    increase_ratio, decrease_ratio : float
        What is added in a period that meets the SLA, as a share of the overload's load before its
        limit; and the factor that applies after a period that misses the SLA.
    """

    number: ClassVar[str | None] = "sla_wait_ms"

    increase_ratio: Annotated[float, Field(gt=0, le=1)] = 0.05
    decrease_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.5


class Pi(PolicyModel):
    """Proportional and integral control of what an overload may do.

    Attributes
    ----------
    target : float
        The wait to be held, as a share of the SLA.
    gain : float
        How many SLAs the wait rises when the overload goes from nothing to what it did before.
    """

    number: ClassVar[str | None] = "sla_wait_ms"

    target: Annotated[float, Field(gt=0, le=1)] = 0.85
    gain: Positive = 5


class Guard(PolicyModel):
    """A cap on newcomers from the beginning, steered several times a second.

    Attributes
    ----------
    target : float
        The wait to be held, as a share of the SLA.
    newcomers_ratio : float
        What newcomers may do together at first, as a share of what one of those at work does.
    """

    number: ClassVar[str | None] = "sla_wait_ms"

    target: Annotated[float, Field(gt=0, le=1)] = 0.92
    newcomers_ratio: Positive = 0.6


class Regulator(Record):
    """The isolation regulator (docs/regulator.md), over all groups of the trial.

    Attributes
    ----------
    policy : str
        One that ensures `sla_wait_ms`, one that ensures `threshold`, or a plug-in's.
    options : dict
        What else the policy is given.
    classes : dict
        Another SLA, in ms, for the group of that name; None: none.
    start_s : float
        When it is started, after the foreground.
    """

    policy: Annotated[str, AfterValidator(name_in(POLICIES))]
    sla_wait_ms: Positive | None = None
    threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    options: dict[Name, JsonValue] = {}
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
        # As the policy spells them, with its defaults: they belong to the hash.
        object.__setattr__(self, "options", whole.model_dump(mode="json"))
        return self

    @model_serializer(mode="wrap")
    def _without_empty_options(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what ours have none of: their hashes are older than options."""
        content: dict[str, Any] = handler(self)
        if not self.options:
            del content["options"]
        return content
