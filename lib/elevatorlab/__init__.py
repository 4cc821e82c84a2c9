"""Elevator Lab: a reproducible laboratory for Linux I/O schedulers and container isolation.

The names in `__all__` are the public interface. Each is imported when it is first asked for.
"""

from importlib import import_module
from typing import Any

#: Names by the module that has them.
_PUBLIC = {
    "trial.trial": "Trial parse",
    "trial.devices": "DeviceModel Scheduler",
    "trial.workloads.base": "WorkloadModel",
    "trial.policies": "PolicyModel",
    "plugins.registry": "Registry",
    "plugins.studies": "Study",
    "plugins.schedulers": "SchedulerRecord",
    "testbeds.base": "Readiness Testbed",
    "testbeds.deterministic.testbed": "DeterministicTestbed",
    "running.jobs": "run_study",
    "results.outcome": "Outcome",
    "results.store": "load",
    "results.importing.table": "import_results",
    "judging.claim": "Claim",
    "judging.engine": "judge",
    "judging.verdicts": "Judgement Verdict compare",
    "analysis.fits": "Fit fit",
    "analysis.intervals": "Interval mean_interval ratio_interval",
    "analysis.ranking": "Ranking rank",
    "errors": "ElevatorLabError NotReady TrialFailed",
}

_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    # Looking it up takes longer than all that a command needs to say what it does.
    if name == "__version__":
        from importlib.metadata import version

        return version("elevatorlab")
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
