"""The deterministic testbed with processors that work side by side: ``deterministic?cpus=4``."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ...errors import ElevatorLabError
from ...trial.capabilities import Capability
from ..base import Readiness, Say
from .qemu import Emulator
from .testbed import DeterministicTestbed

#: With more processors than this, a guest second takes minutes.
MOST_CPUS = 32

FORM = "deterministic?cpus=N[&slot=INSTRUCTIONS][&transfer=INSTRUCTIONS]"

#: Least and largest value of each parameter. In slots above a millisecond (1,000,000 instructions),
#: the times of locks and timers mean nothing.
RANGES = {"cpus": (1, MOST_CPUS), "slot": (20, 1_000_000), "transfer": (0, 10_000)}

#: Wall seconds per guest second and processor, if all are busy, in slots of 1000 instructions.
WALL_SECONDS_PER_PROCESSOR = 5


def parse(address: str) -> Emulator:
    """Return the emulator that an address describes.

    `address`: In the form `FORM`. A parameter that the address leaves out has the default value of
    `Emulator`.

    Examples
    --------
    >>> parse("deterministic?cpus=4&transfer=100")
    Emulator(cpus=4, slot=1000, transfer=100, processor='Nehalem-v1')
    """
    pairs = parse_qsl(address.partition("?")[2], keep_blank_values=True)
    given = dict(pairs)
    unknown = [name for name in given if name not in RANGES]
    if unknown or len(given) < len(pairs) or "cpus" not in given:
        raise ElevatorLabError(f"testbed deterministic: expected {FORM}; found {address!r}")
    usual = Emulator()
    numbers = {name: _number(name, text) for name, text in given.items()}
    slot, transfer = numbers.get("slot", usual.slot), numbers.get("transfer", usual.transfer)
    return Emulator(numbers["cpus"], slot, transfer)


def _number(name: str, text: str) -> int:
    least, most = RANGES[name]
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise ElevatorLabError(
            f"testbed deterministic: {name}: expected a number from {least} to {most}; "
            f"found {text!r}"
        )
    return int(text)


class MulticoreTestbed(DeterministicTestbed):
    """The same kernel, packages and agent on several processors, with the same bits anywhere.

    `address`: In the form `FORM`. Every parameter belongs to the digest, so results with different
    parameters are never pooled.
    """

    name = "multicore"
    boots_in = "about 30 s"

    def __init__(self, address: str, say: Say = print, limit_s: float | None = None) -> None:
        super().__init__(say, limit_s)
        self.emulator: Emulator = parse(address)

    def _processors(self) -> Readiness:
        """Return the finding on processors: how many there are, and what they cost."""
        cost_s = WALL_SECONDS_PER_PROCESSOR * self.emulator.cpus
        found = f"there are {self.emulator.cpus}, with slots of {self.emulator.slot} instructions"
        found = f"{found}; about {cost_s} wall seconds a guest second"
        what = str(Capability.PROCESSORS)
        return Readiness(self.name, what, found, True, amount=self.emulator.cpus)

    def folder_name(self) -> str:
        """Return the name of the results' folder, which contains the processors' parameters."""
        return "-".join([self.name, *map(str, self._arrangement().values())])

    def _arrangement(self) -> dict[str, int]:
        return {name: getattr(self.emulator, name) for name in RANGES}

    def _provenance(self, kept: Path, wall_s: float) -> dict[str, Any]:
        processors = ", ".join(f"{name} {number}" for name, number in self._arrangement().items())
        return {
            **super()._provenance(kept, wall_s),
            "machine": self.machine(),
            "accelerator": f"TCG, parallel rounds: {processors} (1 instruction = 1 ns)",
        }
