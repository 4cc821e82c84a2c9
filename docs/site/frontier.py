"""Draw docs/figures/frontier.png from data/frontier: `python docs/site/frontier.py`."""

from __future__ import annotations

from gallery import drawn

from elevatorlab.paths import PROJECT
from elevatorlab.plugins import studies
from elevatorlab.showing.style import style

if __name__ == "__main__":
    figure = drawn(studies.get("container_isolation"))["frontier"].figure
    with style():
        figure.savefig(PROJECT / "docs" / "figures" / "frontier.png", dpi=120)
