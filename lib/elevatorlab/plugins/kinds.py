"""The kinds of things that a trial is made of: ours, and those of other packages or a notebook.

An entry is a model of what may stand in a trial. Its attribute ``agent`` says
what does it beside the disk: ``"module:name"``, a module of the package that brings it
(`plugins.far_side`). Those of ours that are in the agent leave it empty.
"""

from __future__ import annotations

from typing import Any

from .registry import OURS, Package, Registry


def _without_a_far_side(name: str, model: Any, package: Package | None) -> str:
    """Say what a model lacks if no code beside the disk implements it; the agent has ours."""
    if package is not None and package.name == OURS:
        return ""
    if getattr(model, "agent", None):
        return ""
    return (
        "expected an attribute `agent` of its model, 'module:class' of what does it beside the "
        f"disk; found none in {model!r}. Add it (docs/extending.md)"
    )


def _of_another_kind(name: str, model: Any, package: Package | None) -> str:
    """Say so of a model that has another name than the registry gives it."""
    field = getattr(model, "model_fields", {}).get("kind")
    if field is None or field.default != name:
        return (
            f"expected a model whose field `kind` is {name!r}; found "
            f"{field.default if field else 'no such field'!r} in {model!r}. Give it the name of "
            "the entry point, or of the call of `register`"
        )
    return _without_a_far_side(name, model, package)


#: What runs in a trial: subclasses of `elevatorlab.trial.WorkloadModel`.
WORKLOADS: Registry[Any] = Registry("workload", "elevatorlab.workloads", check=_of_another_kind)

#: What the device under test is: subclasses of `elevatorlab.trial.DeviceModel`.
DEVICES: Registry[Any] = Registry("device", "elevatorlab.devices", check=_of_another_kind)

#: What the regulator does: subclasses of `elevatorlab.trial.PolicyModel`.
POLICIES: Registry[Any] = Registry("policy", "elevatorlab.policies", check=_without_a_far_side)
