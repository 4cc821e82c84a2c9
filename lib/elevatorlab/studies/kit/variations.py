"""Variations of the machine that a study assumes."""

from __future__ import annotations

from typing import Any

from ...trial import Record


def slowdowns(parameters: type[Record], name: str) -> dict[str, dict[str, Any]]:
    """Return two variations: half the slowdown that a study assumes, and twice that slowdown.

    `name`: The parameter that is the factor on the times of disks and links.
    """
    usual = parameters.model_fields[name].default
    return {f"slowdown x {factor:g}": {name: usual * factor} for factor in (0.5, 2)}
