"""Study 3 as trials, experiment by experiment."""

from __future__ import annotations

from collections.abc import Callable

from ....trial import Trial
from . import comparison, frontier, interference, regulation
from .parameters import PRESETS, Experiment, Parameters

__all__ = ["EXPERIMENTS", "PRESETS", "Parameters", "trials"]

EXPERIMENTS: dict[Experiment, Callable[[Parameters], list[Trial]]] = {
    "equal": interference.equal,
    "overload": interference.overload,
    "sweep": interference.sweep,
    "open": interference.open_load,
    "regulation": regulation.trials,
    "comparison": comparison.trials,
    "frontier": frontier.trials,
}
"""What makes the trials of each experiment, in the order in which the experiments are run."""


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of `parameters`, each once, experiment by experiment."""
    wanted = [trial for name in parameters.experiments for trial in EXPERIMENTS[name](parameters)]
    return list({trial.hash: trial for trial in wanted}.values())
