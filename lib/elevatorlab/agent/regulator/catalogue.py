"""The regulator's policies by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .controllers import Aimd, Pi
from .guard import Guard
from .paper import SlaePaper, UtePaper
from .policies import Slae, Ute
from .share import Share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .control import Policy

#: Those that are held against an SLA, and those that are held against a threshold.
ENSURE_SLA: dict[str, Callable[..., Policy]] = {
    "slae": Slae,
    "slae-paper": SlaePaper,
    "aimd": Aimd,
    "pi": Pi,
    "guard": Guard,
    "share": Share,
}
ENSURE_THRESHOLD: dict[str, Callable[..., Policy]] = {"ute": Ute, "ute-paper": UtePaper}

#: All of them; a trial's plug-ins add theirs.
POLICIES: dict[str, Callable[..., Policy]] = {**ENSURE_SLA, **ENSURE_THRESHOLD}


def made(
    name: str,
    slas: Mapping[str, float | None],
    metric: str,
    threshold: float | None,
    options: Mapping[str, Any],
) -> Policy:
    """Return a policy; one of a plug-in gets its `options` alone.

    Parameters
    ----------
    slas : Mapping
        The SLA of each class, None for a class without one; that of all others has the name "".
    metric : str
        What the SLAs are about: a field of `Usage`.
    threshold : float
        The highest utilisation of a disk.
    """
    given: list[Any] = []
    if name in ENSURE_SLA:
        given = [dict(slas), metric]
    elif name in ENSURE_THRESHOLD:
        given = [threshold]
    return POLICIES[name](*given, **options)
