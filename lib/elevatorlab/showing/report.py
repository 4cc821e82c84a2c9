"""The whole report on a folder of results: judge the claims, draw the figures, write the pages."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..errors import ElevatorLabError
from ..judging import families, kept, sensitivity
from ..judging.claims import to_frame
from ..paths import BUILD, PROJECT
from ..plugins import studies
from ..plugins.studies import Study
from ..results import attested, references, store
from ..running import provenance
from . import beside, figure_files, pages, style

#: The report that `elevatorlab reproduce` writes.
REPORT = BUILD / "report"
#: The reports on results that `store.load` finds by a name.
NAMED_REPORTS = {
    name: BUILD / f"{name.replace('/', '-')}-report"
    for name in (
        "reference",
        *(f"reference/{preset}" for preset in references.PRESETS),
        "published",
    )
}
DOCS_FIGURES = PROJECT / "docs" / "figures"


def default_place(results: str | Path | None) -> Path:
    """Return the folder of the report of `results`, so that no two reports share one.

    Examples
    --------
    >>> default_place("out/matched")
    PosixPath('out/matched/report')
    """
    if results is None or str(results) in NAMED_REPORTS:
        return NAMED_REPORTS[str(results or "reference")]
    if Path(results).is_file():  # a bundle
        return Path(results).with_name(f"{Path(results).stem}-report")
    return Path(results) / "report"


def write_report(
    results: str | Path | None,
    out: str | Path | None = None,
    against: str | Path | None = None,
    called: str | None = None,
) -> dict[str, Path]:
    """Judge `results`, draw them, and write the report.

    Parameters
    ----------
    results : path, "reference", "reference/PRESET", "published" or None
        See `store.load`.
    out : path, optional
        Folder of the report; by default `default_place`.
    against : path or "reference", optional
        Other results, which a page of the report shows side by side with these. By default, a
        report on the reference of another preset shows the reference of the preset quick.
    called : str, optional
        What that page calls the other results; by default, the text of `against`.

    Returns
    -------
    dict of str to pathlib.Path
        Where the parts are: ``report`` (a page), ``figures``, ``tables`` (folders).

    Raises
    ------
    ElevatorLabError
        When there are no results, or `out` cannot be a folder.
    """
    out = Path(out or default_place(results))
    measured = {name: store.load(name, results) for name, _ in studies.STUDIES.items()}
    origins = provenance.of(results)
    against = against or _taste(results)
    other = None
    if against is not None:
        other = beside.Other(called or str(against), kept.every_claim(against))
    try:
        (out / "tables").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ElevatorLabError(
            f"report: expected {out} to be a folder, or a place for a new one; found otherwise "
            f"({problem.strerror}). Name another with --out"
        ) from None
    claims, figures, tables = [], [], []
    for name, study in studies.STUDIES.items():
        judged = kept.judge(name, results).claims
        measured[name].to_csv(out / "tables" / f"{name}.csv", index=False)
        to_frame(judged).to_csv(out / "tables" / f"{name}-claims.csv", index=False)
        figures += figure_files.save(study, measured[name], out / "figures")
        tables += [pages.ReportTable(name, *one) for one in study.tables(measured[name])]
        claims += judged
    titles = {name: study.TITLE for name, study in studies.STUDIES.items()}
    about = {name: families.about(name) for name in titles}
    flips = sensitivity.stored_flips()
    page = pages.build(
        *(out, claims, figures, origins, tables, titles, attested.read(), about, other, flips)
    )
    return {"report": page, "figures": out / "figures", "tables": out / "tables"}


def _taste(results: str | Path | None) -> str | None:
    """Return the name of quick's reference if `results` means another preset's, else None."""
    presets = {references.preset_of(study.NAME, results) for study in studies.ours()}
    return "reference/quick" if presets - {None, "quick"} else None


def draw_overview(study: Study) -> None:
    """Draw a study's figure "overview" from the reference for the README, if it has this figure."""
    overview = study.figures(study.published(), store.load(study.NAME)).get("overview")
    if overview is None:
        return
    files = style.save(overview.figure, BUILD / "reference-figures", f"{study.NAME}-overview")
    DOCS_FIGURES.mkdir(parents=True, exist_ok=True)
    shutil.copy(files["png"], DOCS_FIGURES)
