"""What a reviewer reads: the table of studies in ARTIFACT.md, and the artifact appendix."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import yaml

from ..errors import ElevatorLabError
from ..judging import verdict_cache
from ..judging.claim import Role
from ..judging.claims import ROLES, verdict_counts
from ..judging.families import statements
from ..paths import PROJECT
from ..plugins import studies
from ..plugins.studies import Study
from ..results import costs, references
from ..running.provenance import preset_trials

PAGE = PROJECT / "ARTIFACT.md"
START, END = "<!-- studies: written by `elevatorlab artifact` -->", "<!-- end of studies -->"

#: Number of general claims in ARTIFACT.md, which come before those of the studies.
GENERAL = 3

NOT_MEASURED = "not measured yet"

#: Where a reviewer finds each part of the artifact.
CONTENTS = {
    "The software": "lib/elevatorlab/",
    "What was published, and how it is judged": "data/published/, data/claims/",
    "Reference results": "data/reference/",
    "Recipes of all environments": "environments/",
    "Notebooks: experiments, analysis, lectures": "notebooks/",
    "A course in writing schedulers": "courses/",
    "Tests": "tests/",
}


class Row(NamedTuple):
    """A line of a table of claims: what is claimed, and what the check takes."""

    number: str
    title: str
    command: str
    minutes: str
    disk: str

    @property
    def line(self) -> str:
        """Return the row as Markdown."""
        return f"| {self.number} | {self.title} | `{self.command}` | {self.minutes} | {self.disk} |"


def table() -> str:
    """Return the table of the studies: number, claim, command, trials, minutes, disk space.

    Minutes are for two cores: half of the time that the trials took one after the other.
    """
    lines = [
        "| no. | claim | command | trials | minutes | disk |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row, study in zip(_of_studies(), studies.ours(), strict=True):
        trials = len({trial.hash for trial in preset_trials(study, "quick")})
        lines.append(row._replace(minutes=f"{trials} | {row.minutes}").line)
    return "\n".join(lines)


def _of_studies() -> list[Row]:
    known = costs.read()
    rows = []
    for number, study in enumerate(studies.ours(), GENERAL + 1):
        cost = known.get(study.NAME)
        rows.append(
            Row(
                f"C{number}",
                f"*{study.TITLE}* Claims: {_roles(study.NAME)}",
                f".venv/bin/elevatorlab run {study.NAME}",
                f"{float(cost['wall_s']) / 60 / 2:.0f}" if cost else NOT_MEASURED,
                f"{int(cost['size_bytes']) / 2**20:.0f} MiB" if cost else NOT_MEASURED,
            )
        )
    return rows


def _roles(study: str) -> str:
    """Say how many claims a study has of each role."""
    counts = Counter(item.role for item in statements(study))
    return ", ".join(f"{counts[role]} {words}" for role, words in ROLES.items() if counts[role])


def _general(page: str) -> list[Row]:
    """Return the rows that stand in the page itself, before those of the studies."""
    lines = re.findall(r"^\| (C\d+) \| (.*?) \| `(.*?)` \| (.*?) \| (.*?) \|$", page, re.M)
    return [Row(*line) for line in lines[:GENERAL]]


def page_with_table(page: str) -> str:
    """Return the page with a new table of studies."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ElevatorLabError(f"{PAGE.name}: expected the lines {START!r} and {END!r} in it")
    return f"{before}{START}\n\n{table()}\n\n{END}{after}"


def write() -> Path:
    """Write ARTIFACT.md with a new table of studies."""
    PAGE.write_text(page_with_table(PAGE.read_text()))
    return PAGE


def sections(page: str) -> dict[str, str]:
    r"""Return the text below each heading of the second level.

    Examples
    --------
    >>> sections("# A page\n\n## One\n\nWords.\n\n## Two\n\nMore.\n")
    {'One': 'Words.', 'Two': 'More.'}
    """
    _, *parts = re.split(r"^## ", page, flags=re.M)
    return {
        heading: text.strip("\n") for heading, _, text in (one.partition("\n") for one in parts)
    }


def appendix() -> str:
    """Return the artifact appendix of USENIX and ACM, as Markdown, from ARTIFACT.md and the data.

    Its sections are those of USENIX: abstract, scope, contents, hosting, requirements,
    installation, experiments workflow, evaluation and expected results. The expected result of a
    study is the verdicts of the stored reference.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    page = PAGE.read_text()
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    environment = Environment(
        loader=PackageLoader("elevatorlab.showing"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    general = [(row, "status 0") for row in _general(page)]
    of_studies = [
        (row, _expected(study)) for row, study in zip(_of_studies(), studies.ours(), strict=True)
    ]
    origin = json.loads((references.FOLDER / "provenance.json").read_text())
    return environment.get_template("appendix.md").render(
        cited | {"abstract": " ".join(cited["abstract"].split())},
        claims=[row._asdict() | {"expected": expected} for row, expected in general + of_studies],
        statements=sum(len(statements(study.NAME)) for study in studies.ours()),
        studies=[study.TITLE for study in studies.ours()],
        contents=CONTENTS,
        digest=origin["image_digest"],
        sections=sections(page),
    )


def _expected(study: Study) -> str:
    """Count the verdicts on predictions in the reference of the preset quick."""
    judged = [
        one
        for one in verdict_cache.judge(study.NAME, "reference/quick").claims
        if one.role == Role.PREDICTION
    ]
    return ", ".join(f"{n} {verdict}" for verdict, n in verdict_counts(judged).items() if n)
