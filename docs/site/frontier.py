"""Draw docs/figures/frontier.svg from data/frontier: `python docs/site/frontier.py`."""

from __future__ import annotations

from gallery import drawn

from elevatorlab.paths import PROJECT
from elevatorlab.plugins import studies
from elevatorlab.showing.style import vectors

if __name__ == "__main__":
    figure = drawn(studies.get("container_isolation"))["frontier"].figure
    (PROJECT / "docs" / "figures" / "frontier.svg").write_bytes(vectors(figure))
