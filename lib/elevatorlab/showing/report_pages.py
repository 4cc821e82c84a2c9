"""The report: a site of linked pages that needs neither a server nor the network."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..analysis.number_texts import plain
from ..judging.claim import UNMEASURED, Claim, Role, is_measured
from ..judging.claims import by_place, how_many, role_counts
from ..judging.comparison import Comparison
from ..judging.conclusions import findings, outcomes, totals
from ..judging.constants import SHARED
from ..judging.families import About
from ..judging.independence import independent
from ..judging.matching import DETERMINISTIC
from ..judging.value_texts import published_text
from ..judging.verdicts import DECIDED, Verdict
from ..paths import write_whole
from ..results.attested import Attestation
from ..running.provenance import Origin
from . import forest, reader_words, verdict_pairs


class ReportFigure(NamedTuple):
    """A saved figure and the words that belong to it."""

    #: On whose page it goes.
    study: str
    #: What files and links call it, for example "table-5".
    name: str
    #: What a reader calls it.
    title: str
    #: By format, as `figures.save` returns them; "png" is shown, the others are linked.
    files: Mapping[str, Path]
    #: What it shows. It is also the text for readers who cannot see the figure.
    caption: str
    #: The hashes of the trials that it shows.
    trials: Iterable[str] = ()
    #: Whether it stands behind the figures that a paper would keep.
    appendix: bool = False
    #: How it was made, behind a fold.
    details: str = ""


class ReportTable(NamedTuple):
    """A table of results, shown with its column names as headings."""

    #: study, caption: On whose page it goes, and what it shows.
    study: str
    caption: str
    #: Shown without its index.
    rows: pd.DataFrame


ARITHMETIC = "The document's own arithmetic"
NOT_JUDGED = "Not judged, because nothing was measured"


def build(
    out: Path,
    claims: Sequence[Claim],
    figures: Iterable[ReportFigure] = (),
    origins: Iterable[Origin] = (),
    tables: Iterable[ReportTable] = (),
    titles: Mapping[str, str] | None = None,
    attested: Sequence[Attestation] = (),
    about: Mapping[str, About] | None = None,
    other: verdict_pairs.OtherResults | None = None,
    flips: Mapping[str, str] | None = None,
    running: Sequence[str] = (),
) -> Path:
    """Write the report.

    `out`: Folder of the report; made if missing. Figures elsewhere are copied to `out`/figures, so
    that the folder can be moved or zipped as a whole. `figures`: In the order in which they are
    shown; the first of a study comes first. `tables`: Further tables, under the figures of their
    study. `titles`: What the pages call each study; its name by default. `attested`: On which
    machines the reference's bits were verified. `about`: Who published the document of each study,
    and where. `other`: Results that one more page, beside.html, shows side by side with these.
    `flips`: By claim: on which other machines than the deterministic one its verdict is another.
    `running`: What the pages call the studies whose trials are not finished yet. Returns:
    `out`/index.html; beside it claims.html and one page per study, named like the study.
    The same arguments give the same bytes.
    """
    out.mkdir(parents=True, exist_ok=True)
    figures, origins, tables, titles = list(figures), list(origins), list(tables), titles or {}
    claims = [reader_words.readable(claim) for claim in claims]
    of_all = (
        *(claim.study for claim in claims),
        *(figure.study for figure in figures),
        *(table.study for table in tables),
    )
    names = list(dict.fromkeys(of_all))
    studies: list[dict[str, Any]] = [
        {
            "name": name,
            "title": titles.get(name, name),
            "page": f"{name}.html",
            "about": (about or {}).get(name, About()),
            "documents": list(dict.fromkeys(one.source.document for one in some)),
            "count": how_many(some),
            "findings": findings(some, flips or ()),
            "tested": sum(one.tested for one in outcomes(some, flips or ())),
            "rows": _rows(name, some),
            "forests": _forests(some),
            "figures": [
                _shown(one, out, origins)
                for one in sorted(figures, key=lambda figure: figure.appendix)
                if one.study == name
            ],
            "tables": [one for one in tables if one.study == name and len(one.rows)],
        }
        for name in names
        for some in [[claim for claim in claims if claim.study == name]]
    ]
    pages = {"index.html": "Overview", "claims.html": "Claims"}
    pages |= {"beside.html": "Side by side"} if other else {}
    pages |= {study["page"]: study["name"].replace("_", " ") for study in studies}
    environment = template_environment(pages)
    shared = {
        "studies": studies,
        "origins": origins,
        "total": how_many(claims),
        "totals": totals(claims, flips or ()),
        "flips": {
            one.id: flips[one.id]
            for one in claims
            if flips and one.testbed == DETERMINISTIC and one.id in flips
        },
    }
    verified = {"attested": attested[::-1], "constants": SHARED, "running": running}
    _write(environment, out / "index.html", "index.html", shared | verified)
    sought: dict[str, Any] = {"places": list(dict.fromkeys(claim.where for claim in claims))}
    sought |= {
        "verdicts": list(Verdict),
        "roles": list(Role),
        "claims": _decided_first(claims, names),
    }
    _write(environment, out / "claims.html", "claims.html", shared | sought)
    if other:
        others = [reader_words.readable(claim) for claim in other.claims]
        both = {"name": other.name, "pairs": verdict_pairs.pairs(claims, others)}
        _write(environment, out / "beside.html", "beside.html", both)
    for study in studies:
        of_it = {
            "study": study,
            "origins": [origin for origin in origins if origin.study == study["name"]],
        }
        _write(environment, out / study["page"], "study.html", of_it)
    return out / "index.html"


def template_environment(pages: Mapping[str, str]) -> Environment:
    """Return what renders the package's pages, which all link to `pages` (address to text)."""
    environment = Environment(
        loader=PackageLoader("elevatorlab.showing"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["measured"] = _measured
    environment.filters["published"] = published_text
    environment.filters["picture"] = forest.of_claim
    environment.filters["said"] = _said
    environment.filters["marked"] = _marked
    environment.filters["unmarked"] = lambda text: _MARKUP.sub(r"\1\2", text)
    environment.filters["cell"] = _cell
    environment.filters["coded"] = reader_words.coded
    environment.filters["place"] = reader_words.place
    environment.filters["slug"] = lambda text: text.replace(" ", "-")
    environment.globals["pages"] = pages
    return environment


_MARKUP = re.compile(r"`([^`\n]+)`|\*([^*\s](?:[^*\n]*[^*\s])?)\*")
"""Code and emphasis, as captions have them for notebooks."""


def _marked(text: str) -> Markup:
    """Write code and emphasis of a caption as HTML."""

    def tag(found: re.Match[str]) -> str:
        return f"<code>{found[1]}</code>" if found[1] else f"<em>{found[2]}</em>"

    return Markup(_MARKUP.sub(tag, str(escape(text))))


def _write(environment: Environment, path: Path, template: str, content: Mapping[str, Any]) -> None:
    page = environment.get_template(template).render(here=path.name, **content)
    write_whole(path, page)


def _rows(study: str, claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Count the verdicts of each run and role, which are never added up."""
    return [
        {
            "label": f"{_label(some[0])}{_OF_ROLE[role]}",
            "verdicts": _verdicts(study, some[0].where, role, counts),
            "independent": sum(independent(one for one in some if one.role == role).values()),
        }
        for some in by_place(claims)
        for role, counts in role_counts(some).items()
    ]


def _forests(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Draw each place of the document, as each run measured it, on one axis; a row a claim."""
    found = []
    for run in by_place(claims):
        places: dict[str, list[tuple[Claim, list[Comparison]]]] = {}
        for claim in run:
            if drawn := [one for one in claim.compared if forest.is_relative(one)]:
                places.setdefault(claim.source.place, []).append((claim, drawn))
        for place, drawings in places.items():
            picture = forest.relative([one for _, several in drawings for one in several])
            left = iter(picture.rows)
            rows = [
                {
                    "claim": claim,
                    "pictures": list(itertools.islice(left, len(several))),
                    "label": _said(claim),
                    "names": [one.what for one in several if one.what],
                }
                for claim, several in drawings
            ]
            part = {"place": place, "where": run[0].where, "rows": rows}
            found.append({**part, "marks": picture.marks})
    return found


def _said(claim: Claim) -> str:
    """Say what the picture of a claim shows, for those who do not see it."""
    return f"published {published_text(claim)}; measured {_measured(claim)}: {claim.verdict}"


def _measured(claim: Claim) -> str:
    return reader_words.measured_value(claim) or _number(None)


_OF_ROLE = {
    Role.PREDICTION: "",
    Role.CALIBRATION: ", calibrations",
    Role.IDENTITY: ", identities",
    Role.ARITHMETIC: "",
    Role.BEYOND: ", beyond the document",
}


def _label(claim: Claim) -> str:
    if is_measured(claim):
        return f"Measured: {claim.where}"
    return NOT_JUDGED if claim.testbed == UNMEASURED else ARITHMETIC


def _verdicts(
    study: str, where: str, role: Role, counts: Mapping[Verdict, int]
) -> list[dict[str, Any]]:
    sought = {"study": study, "where": where, "role": role}
    return [
        {
            "verdict": verdict,
            "count": count,
            "link": f"claims.html#{urlencode({**sought, 'verdict': verdict})}",
        }
        for verdict, count in counts.items()
    ]


def _decided_first(claims: Sequence[Claim], names: Sequence[str]) -> list[Claim]:
    """Sort by study; within it predictions that were decided, then the other measured ones."""

    def place(claim: Claim) -> tuple[int, int]:
        first = claim.role == Role.PREDICTION and claim.verdict in DECIDED
        later = 2 if claim.verdict == Verdict.NOT_TESTABLE else 1
        return names.index(claim.study), (0 if first else later) if is_measured(claim) else 3

    return sorted(claims, key=place)


def _shown(figure: ReportFigure, out: Path, origins: Sequence[Origin]) -> dict[str, Any]:
    if "png" not in figure.files:
        raise ValueError(
            f"figure {figure.name}: expected a PNG file to show; found "
            f"{sorted(figure.files) or 'none'}; save it with elevatorlab.showing.style.save"
        )
    links = {}
    for kind, path in figure.files.items():
        if not path.resolve().is_relative_to(out.resolve()):
            copy = out / "figures" / figure.study / path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            path = Path(shutil.copyfile(path, copy))
        links[kind] = path.resolve().relative_to(out.resolve()).as_posix()
    width, height = _pixels(figure.files["png"])
    uses = _uses(figure, origins)
    return {
        "title": figure.title,
        "id": re.sub(r"[^A-Za-z0-9-]+", "-", figure.name),
        "caption": figure.caption,
        "details": figure.details,
        "appendix": figure.appendix,
        "links": links,
        "width": width // 2,  # sharp on dense screens, too
        "height": height // 2,
        "uses": uses,
        "hover": "; ".join(_hover(use) for use in uses) or "from the published numbers alone",
    }


def _uses(figure: ReportFigure, origins: Sequence[Origin]) -> list[dict[str, Any]]:
    """Say which trials of which origin a figure shows; `some` lists them where it is not all."""
    wanted = set(figure.trials)
    found = []
    for origin in origins:
        some = (
            [name for name in origin.trials if name in wanted]
            if origin.study == figure.study
            else []
        )
        if some:
            every = len(some) == len(origin.trials)
            words = (
                f"All {len(some)} trials"
                if every
                else f"{len(some)} of {len(origin.trials)} trials"
            )
            found.append({"origin": origin, "words": words, "some": [] if every else some})
    return found


def _hover(use: Mapping[str, Any]) -> str:
    origin = use["origin"]
    return f"{use['words']} of {origin.testbed}, {origin.preset}; image {origin.image_digest[:12]}"


def _pixels(png: Path) -> tuple[int, int]:
    """Read width and height from the file's first chunk (PNG specification, section 11.2.2)."""
    header = png.read_bytes()[:24]
    return int.from_bytes(header[16:20], "big"), int.from_bytes(header[20:24], "big")


def _cell(value: object, study: str) -> str:
    """Write a cell of a study's table."""
    if isinstance(value, str):
        return reader_words.coded(reader_words.place(value, study))
    return _number(value)


def _number(value: object) -> str:
    if value is None:
        return "–"
    return plain(value, 6) if isinstance(value, float) else str(value)
