"""ARTIFACT.md: the table of what each study's claims cost to check, from the studies themselves."""

from __future__ import annotations

from pathlib import Path

from ..errors import ElevatorLabError
from ..judging.families import statements
from ..paths import PROJECT
from ..plugins import studies
from ..results import costs
from ..running.provenance import preset_trials

PAGE = PROJECT / "ARTIFACT.md"
START, END = "<!-- studies: written by `elevatorlab artifact` -->", "<!-- end of studies -->"

#: Claims in ARTIFACT.md before those of the studies.
GENERAL = 3

NOT_MEASURED = "not measured yet"


def table() -> str:
    """Return the table of the studies: number, claim, command, minutes, disk space.

    Minutes are those of two cores: half of the time that the trials took one by one.
    """
    lines = [
        "| no. | claim | command | trials | minutes | disk |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    known = costs.read()
    for number, study in enumerate(studies.ours(), GENERAL + 1):
        trials = len({trial.hash for trial in preset_trials(study, "quick")})
        cost = known.get(study.NAME)
        minutes = f"{float(cost['wall_s']) / 60 / 2:.0f}" if cost else NOT_MEASURED
        disk = f"{int(cost['size_bytes']) / 2**20:.0f} MiB" if cost else NOT_MEASURED
        claim = f"*{study.TITLE}* Each of its {len(statements(study.NAME))} claims gets its verdict"
        command = f"`.venv/bin/elevatorlab run {study.NAME}`"
        lines.append(f"| C{number} | {claim} | {command} | {trials} | {minutes} | {disk} |")
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    """Return the page with its table made anew."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ElevatorLabError(f"{PAGE.name}: expected the lines {START!r} and {END!r} in it")
    return f"{before}{START}\n\n{table()}\n\n{END}{after}"


def write() -> Path:
    """Bring ARTIFACT.md in line with the studies."""
    PAGE.write_text(page_with_table(PAGE.read_text()))
    return PAGE
