"""What README, ARTIFACT.md and the site's start say of the reference, and the appendix."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import yaml

from ..errors import ElevatorLabError
from ..judging import sensitivity, verdict_cache
from ..judging.claim import Claim, Kind, Role
from ..judging.claims import ROLES, verdict_counts
from ..judging.conclusions import clearest, example, outcomes, subject_of, totals
from ..judging.families import headline, statements
from ..judging.value_texts import both_texts, measured_text, published_text
from ..judging.verdicts import DECIDED, Verdict
from ..paths import PROJECT
from ..plugins import studies
from ..plugins.studies import Study
from ..results import attested, costs, references
from ..running.provenance import preset_trials
from . import badge

PAGE = PROJECT / "ARTIFACT.md"
README = PROJECT / "README.md"
SITE = PROJECT / "docs/index.md"

#: Number of general claims in ARTIFACT.md, which come before those of the studies.
GENERAL = 3

#: In characters: wider columns of the appendix share the page alike.
WIDEST_COLUMN = 40

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
    return ", ".join(f"{words} {counts[role]}" for role, words in ROLES.items() if counts[role])


def _general(page: str) -> list[Row]:
    """Return the rows that stand in the page itself, before those of the studies."""
    lines = re.findall(r"^\| (C\d+) \| (.*?) \| `(.*?)` \| (.*?) \| (.*?) \|$", page, re.M)
    return [Row(*line) for line in lines[:GENERAL]]


def found() -> str:
    """Return the table of what was found: of each study, the claim that stands for its document.

    That claim was chosen from the document alone (`headline` in `data/claims`). Where it is not
    testable here, the prediction that was decided most clearly comes behind it; then, the clearest
    of those that are contradicted.
    """
    lines = [
        "| study | of what | published | measured | verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    turned = sensitivity.stored_flips()
    for number, study in enumerate(studies.ours(), 1):
        claims = verdict_cache.judge(study.NAME).claims
        (head,) = (one for one in claims if one.id == headline(study.NAME))
        beside = clearest(claims, turned) if head.verdict == Verdict.NOT_TESTABLE else None
        against = clearest(claims, turned, Verdict.CONTRADICTED)
        shown = dict.fromkeys(filter(None, (head, beside, against)))
        lines += [_finding(f"{number} {study.NAME}", one) for one in shown]
    return "\n".join(lines)


def _finding(study: str, claim: Claim) -> str:
    """Return a row of `found`; of a decided claim, with the comparison that the report shows."""
    shown = example(claim) if claim.verdict in DECIDED else None
    published, measured = published_text(claim), measured_text(claim) or "–"
    if shown:
        published, measured = both_texts(claim, shown.one)
        if claim.quoted:
            published = f"{claim.published} ({published})"
    if claim.kind == Kind.RANK:  # `none` is a scheduler
        published, measured = f"`{published}`", f"`{measured}`"
    role = "" if claim.role == Role.PREDICTION else f" ({claim.role})"
    cells = (study, subject_of(claim, shown), published, measured, f"{claim.verdict}{role}")
    return f"| {' | '.join(cells)} |"


def all_totals() -> str:
    """Return the sentence that counts what the reference made of the predictions of all studies."""
    return totals(verdict_cache.every_claim(), sensitivity.stored_flips())


def totals_by_study() -> str:
    """Return the sentence of all totals, and a table of them by study."""
    decided = (*DECIDED, Verdict.UNDECIDED)
    lines = [
        f"| study | predictions | tested | {' | '.join(decided)} |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    names = [study.NAME for study in studies.ours()]
    for one in outcomes(verdict_cache.every_claim(), sensitivity.stored_flips()):
        data = [one.data.get(verdict, 0) for verdict in decided]
        name = f"{names.index(one.study) + 1} {one.study}"
        cells = (name, one.predictions, one.tested, *data)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([all_totals(), "", *lines])


def tried() -> str:
    """Return the sentence that says on what the reference's bits were verified."""
    lines = attested.of_newest_image(attested.read())
    names = " and ".join(sorted({one.distribution for one in lines}))
    return (
        f"So far, the same bits were verified on {badge.tried(lines)} of the emulator, under "
        f"{names}: [each verification](data/attested.csv), with the trials that were compared."
    )


#: The parts of pages that are computed: the page, the name of the part, and what it says.
PARTS = (
    (README, "tried", tried),
    (README, "totals", totals_by_study),
    (README, "found", found),
    (SITE, "tried", lambda: tried().replace("](data/", "](../data/")),
    (SITE, "totals", totals_by_study),
    (SITE, "found", found),
    (PAGE, "totals", all_totals),
    (PAGE, "studies", table),
)


def up_to_date(path: Path) -> str:
    """Return a page with its computed parts made anew.

    Raises: ElevatorLabError if the page lacks the two lines around a part.
    """
    page = path.read_text()
    for where, name, content in PARTS:
        if where != path:
            continue
        begins, ends = (
            f"<!-- {name}: written by `elevatorlab artifact` -->",
            f"<!-- end of {name} -->",
        )
        before, start, rest = page.partition(begins)
        _, end, after = rest.partition(ends)
        if not (start and end):
            raise ElevatorLabError(f"{path.name}: expected the lines {begins!r} and {ends!r} in it")
        page = f"{before}{start}\n\n{content()}\n\n{end}{after}"
    return page


def write() -> list[Path]:
    """Bring the computed parts of all pages up to date."""
    pages = list(dict.fromkeys(path for path, _, _ in PARTS))
    for path in pages:
        path.write_text(up_to_date(path))
    return pages


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
        totals=all_totals(),
        studies=[study.TITLE for study in studies.ours()],
        contents=CONTENTS,
        digest=origin["image_digest"],
        sections=sections(page),
    )


def in_latex(page: str) -> str:
    """Return a page of Markdown as a LaTeX document; links into the repository become text."""
    from docutils import nodes
    from docutils.core import publish_doctree, publish_from_doctree
    from myst_parser.parsers.docutils_ import Parser

    linked = re.sub(r"\[([^\]]+)\]\((?!https?://)[^)]+\)", r"\1", page)
    tree = publish_doctree(linked, parser=Parser())
    for table in tree.findall(nodes.table):  # as wide as the text, not as their longest lines
        table["classes"].remove("colwidths-auto")
        rows = [[cell.astext() for cell in row] for row in table.findall(nodes.row)]
        for column, cells in zip(
            table.findall(nodes.colspec), zip(*rows, strict=True), strict=True
        ):
            column["colwidth"] = min(WIDEST_COLUMN, max(map(len, cells)))
    settings: dict[str, bool | str] = {"use_latex_citations": True, "legacy_column_widths": False}
    settings |= {"output_encoding": "unicode"}
    return str(publish_from_doctree(tree, writer="latex", settings_overrides=settings))


def _expected(study: Study) -> str:
    """Count the verdicts on predictions in the reference of the preset quick."""
    judged = [
        one
        for one in verdict_cache.judge(study.NAME, "reference/quick").claims
        if one.role == Role.PREDICTION
    ]
    return ", ".join(f"{n} {verdict}" for verdict, n in verdict_counts(judged).items() if n)
