"""Registries of workloads, devices and policies: ours, and those of other packages or a notebook.

An entry is the model of a part of a trial. Its attribute ``agent`` is the ``"module:name"`` of the
code that implements the entry beside the disk, in the package that brings the entry
(`plugins.shipped_files`). If the agent itself has that code, ``agent`` is empty.
"""

from __future__ import annotations

from typing import Any

from .registry import OURS, Package, Registry


def _without_a_far_side(name: str, model: Any, package: Package | None) -> str:
    """Say that a model names no code beside the disk; "" if it does, or is one of ours."""
    if package is not None and package.name == OURS:
        return ""
    if getattr(model, "agent", None):
        return ""
    return (
        "expected an attribute `agent` of its model, 'module:class' of what does it beside the "
        f"disk; found none in {model!r}. Add it (docs/extending.md)"
    )


def _of_another_kind(name: str, model: Any, package: Package | None) -> str:
    """Say that a model's `kind` is not its registered name, or that it names no code; "" if not."""
    field = getattr(model, "model_fields", {}).get("kind")
    if field is None or field.default != name:
        return (
            f"expected a model whose field `kind` is {name!r}; found "
            f"{field.default if field else 'no such field'!r} in {model!r}. Give it the name of "
            "the entry point, or of the call of `register`"
        )
    return _without_a_far_side(name, model, package)


def _with_a_number(name: str, model: Any, package: Package | None) -> str:
    """Say that a policy of a plug-in asks for a number of `Regulator`; "" if all is well.

    The agent gives `sla_wait_ms` and `threshold` to its own policies alone.
    """
    if why := _without_a_far_side(name, model, package):
        return why
    number = getattr(model, "number", None)
    if number is None or (package is not None and package.name == OURS):
        return ""
    return (
        "expected a model whose `number` is None, since the agent gives an SLA or a threshold only "
        f"to its own policies; found {number!r}. Make that number one of the policy's options "
        "(docs/extending.md)"
    )


#: Workloads, which run in a trial: subclasses of `elevatorlab.trial.WorkloadModel`.
WORKLOADS: Registry[Any] = Registry("workload", "elevatorlab.workloads", check=_of_another_kind)

#: Kinds of the device under test: subclasses of `elevatorlab.trial.DeviceModel`.
DEVICES: Registry[Any] = Registry("device", "elevatorlab.devices", check=_of_another_kind)

#: Policies of the regulator: subclasses of `elevatorlab.trial.PolicyModel`.
POLICIES: Registry[Any] = Registry("policy", "elevatorlab.policies", check=_with_a_number)
