"""The deterministic testbed with virtual machines inside: `deterministic?processor=MODEL`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ...errors import ElevatorLabError
from ...trial import Trial
from ...trial.capabilities import Capability
from ..base import Readiness, Say
from . import image, qemu
from .inner import Nested
from .testbed import DeterministicTestbed

#: QEMU's processor models that have SVM, and no instructions for random numbers.
MODELS = ("Opteron_G3",)

FORM = "deterministic?processor=MODEL"


def parse(address: str) -> Nested:
    """Return the emulator that an address describes.

    Examples
    --------
    >>> parse("deterministic?processor=Opteron_G3")
    Nested(cpus=1, slot=1000, transfer=0, processor='Opteron_G3', inner_mib=0)
    """
    given = parse_qsl(address.partition("?")[2], keep_blank_values=True)
    if [name for name, _ in given] != ["processor"]:
        raise ElevatorLabError(f"testbed deterministic: expected {FORM}; found {address!r}")
    model = given[0][1]
    if model not in MODELS:
        raise ElevatorLabError(
            f"testbed deterministic: processor: expected a model with SVM that gives no random "
            f"numbers ({', '.join(MODELS)}); found {model!r}"
        )
    return Nested(processor=model)


class NestedTestbed(DeterministicTestbed):
    """The same kernel, packages and agent on a processor that has SVM, with the same bits anywhere.

    A trial with a group of isolation ``virtual_machine`` gets a machine inside, by KVM. Trials
    without such a group run on the same outer machine, so that times can be compared.
    """

    name = "nested"
    boots_in = "about a minute with a virtual machine inside"
    defaults = {**DeterministicTestbed.defaults, "guest": True}

    def __init__(self, address: str, say: Say = print, limit_s: float | None = None) -> None:
        super().__init__(say, limit_s)
        self.emulator: Nested = parse(address)

    def _emulator_of(self, trial: Trial) -> qemu.Emulator:
        machines = [group.virtual_machine for group in trial.groups if group.virtual_machine]
        return replace(self.emulator, inner_mib=machines[0].memory_mib if machines else 0)

    def _virtual_machines(self) -> Readiness:
        found = f"in the guest, with KVM on {self.emulator.cpu}"
        return Readiness(self.name, str(Capability.VIRTUAL_MACHINES), found, True)

    def _provenance(self, kept: Path, wall_s: float) -> dict[str, Any]:
        found = super()._provenance(kept, wall_s)
        return {
            **found,
            "machine": self.machine(),
            "accelerator": f"TCG, {self.emulator.cpu} (1 instruction = 1 ns)",
            "packages": {**found["packages"], **image.current()["nested_packages"]},
        }
