"""The jobs of an operator's archive: ``python3 agent.pyz JOB ARGUMENT...``.

``regulate OPTION...``  the isolation regulator (see docs/regulator.md)
``apply OPTION...``     make a scheduler permanent by a udev rule, or undo it

Beside these, all jobs of the agent.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(job: str, arguments: list[str]) -> Any:
    """Do one job; return the exit status."""
    if job == "regulate":
        from agent.operations.cli import main as regulate

        return regulate(arguments)
    if job == "apply":
        from agent.operations.udev_rule import main as apply

        return apply(arguments)
    from agent.__main__ import main as agent

    return agent(job, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
