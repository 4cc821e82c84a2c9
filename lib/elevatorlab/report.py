"""The HTML report: claims, figures and provenance on one page that needs no server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import filterfalse
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from .claims import Claim, Verdict, is_measured, summary, verdict_counts


class ReportFigure(NamedTuple):
    """A saved figure and the words that belong to it.

    Attributes
    ----------
    study : str
        Where on the page it goes.
    name : str
        Title, for example "table-5".
    files : dict of str to Path
        By format, as `figures.save` returns them; "png" is shown, the others are linked.
    caption : str
        What it shows; also the text for readers who do not see it.
    """

    study: str
    name: str
    files: Mapping[str, Path]
    caption: str


class ReportTable(NamedTuple):
    """A table of results, shown with its column names as headings.

    Attributes
    ----------
    study, caption : str, str
        Where on the page it goes, and what it shows.
    rows : pandas.DataFrame
        Shown without its index.
    """

    study: str
    caption: str
    rows: pd.DataFrame


def build(
    out: Path,
    claims: Sequence[Claim],
    figures: Iterable[ReportFigure] = (),
    provenance: Iterable[Mapping[str, object]] = (),
    tables: Iterable[ReportTable] = (),
    titles: Mapping[str, str] | None = None,
) -> Path:
    """Write the report.

    Parameters
    ----------
    out : Path
        Folder of the report; made if missing. Figures elsewhere are copied to
        `out`/figures, so that the folder can be moved or zipped as a whole.
    claims : sequence of Claim
        Of any number of studies.
    figures : iterable of ReportFigure
        In the order in which they are shown; the first of a study comes first.
    provenance : iterable of mapping
        One a run (testbed and preset). Keys are shown as they are with "_" as a space: for
        example testbed, preset, trials, image_digest, kernel, qemu, package_version,
        wall_time_s, host.
    tables : iterable of ReportTable
        Further tables, under the figures of their study.
    titles : mapping of str to str
        What the page calls each study; its name by default.

    Returns
    -------
    Path
        `out`/index.html. The same arguments give the same bytes.
    """
    out.mkdir(parents=True, exist_ok=True)
    figures, tables = list(figures), list(tables)
    titles = titles or {}
    names = list(dict.fromkeys(part.study for part in [*claims, *figures, *tables]))
    environment = Environment(
        loader=PackageLoader("elevatorlab"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    page = environment.get_template("report.html").render(
        summary=summary(claims).partition(".")[0],
        counts=_counts(claims),
        parts=_parts(claims),
        verdicts=list(Verdict),
        studies=[
            {
                "name": name,
                "title": titles.get(name, name),
                "documents": list(
                    dict.fromkeys(one.source.document for one in claims if one.study == name)
                ),
                "summary": summary([one for one in claims if one.study == name]),
                "figures": [_shown(one, out) for one in figures if one.study == name],
                "tables": [one for one in tables if one.study == name],
            }
            for name in names
        ],
        testbeds=list(dict.fromkeys(claim.where for claim in claims)),
        provenance=[
            {key.replace("_", " "): _number(value) for key, value in run.items()}
            for run in provenance
        ],
    )
    path = out / "index.html"
    whole = path.with_suffix(".html.part")
    whole.write_text(page, encoding="utf-8")
    os.replace(whole, path)
    return path


def _shown(figure: ReportFigure, out: Path) -> dict:
    if "png" not in figure.files:
        raise ValueError(
            f"figure {figure.name}: expected a PNG file to show; found "
            f"{sorted(figure.files) or 'none'}; save it with elevatorlab.figures.save"
        )
    links = {}
    for kind, path in figure.files.items():
        if not path.resolve().is_relative_to(out.resolve()):
            copy = out / "figures" / figure.study / path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            path = Path(shutil.copyfile(path, copy))
        links[kind] = path.resolve().relative_to(out.resolve()).as_posix()
    return {
        "name": figure.name.partition("--")[0],
        "caption": figure.caption,
        "links": links,
        "width": _pixels_across(figure.files["png"]) // 2,  # sharp on dense screens, too
    }


def _pixels_across(png: Path) -> int:
    """Read the width from the file's first chunk (PNG specification, section 11.2.2)."""
    return int.from_bytes(png.read_bytes()[16:20], "big")


ARITHMETIC = "The documents' own arithmetic"


def _counts(claims: Sequence[Claim]) -> dict[str, dict[Verdict, int]]:
    """Count the verdicts of each run, which are never added up, and of the documents."""
    measured = list(filter(is_measured, claims))
    counts = {
        f"Measured: {where}": verdict_counts(claim for claim in measured if claim.where == where)
        for where in dict.fromkeys(claim.where for claim in measured)
    }
    return {**counts, ARITHMETIC: verdict_counts(filterfalse(is_measured, claims))}


def _parts(claims: Sequence[Claim]) -> list[dict]:
    """Divide the claims: what was decided is open, the rest can be opened."""
    measured = list(filter(is_measured, claims))
    untested = [claim for claim in measured if claim.verdict == Verdict.NOT_TESTABLE]
    decided = [claim for claim in measured if claim.verdict != Verdict.NOT_TESTABLE]
    document = list(filterfalse(is_measured, claims))
    parts = {
        "Decided by a measurement": decided,
        "Not testable here": untested,
        ARITHMETIC: document,
    }
    return [
        {"title": title, "claims": some, "open": some is decided}
        for title, some in parts.items()
        if some
    ]


def _number(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
