"""The regulator's policies by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .controllers import Aimd, Pi
from .guard import Guard
from .paper import SlaePaper, UtePaper
from .policies import Slae, Ute

if TYPE_CHECKING:
    from collections.abc import Callable

    from .control import Policy

#: Those that are held against an SLA, and those that are held against a threshold.
ENSURE_SLA: dict[str, Callable[..., Policy]] = {
    "slae": Slae,
    "slae-paper": SlaePaper,
    "aimd": Aimd,
    "pi": Pi,
    "guard": Guard,
}
ENSURE_THRESHOLD: dict[str, Callable[..., Policy]] = {"ute": Ute, "ute-paper": UtePaper}

#: All of them; a trial's plug-ins add theirs.
POLICIES: dict[str, Callable[..., Policy]] = {**ENSURE_SLA, **ENSURE_THRESHOLD}
