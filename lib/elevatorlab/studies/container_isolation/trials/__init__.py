"""Study 3 as trials, part by part."""

from __future__ import annotations

from collections.abc import Callable

from ....trial import Trial
from . import comparison, interference, regulation
from .parameters import PRESETS, Parameters, Part

__all__ = ["PARTS", "PRESETS", "Parameters", "trials"]

PARTS: dict[Part, Callable[[Parameters], list[Trial]]] = {
    "equal": interference.equal,
    "overload": interference.overload,
    "open": interference.open_load,
    "regulation": regulation.trials,
    "comparison": comparison.trials,
}
"""By name, in the order in which they are run."""


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of `parameters`, each once, part by part."""
    wanted = [trial for name in parameters.parts for trial in PARTS[name](parameters)]
    return list({trial.hash: trial for trial in wanted}.values())
