"""Write all of a report: judge the claims, draw the figures, write the tables and the pages."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import ElevatorLabError
from ..judging import families, sensitivity, verdict_cache
from ..judging.claims import to_frame
from ..paths import BUILD, PROJECT
from ..plugins import studies
from ..plugins.studies import Study
from ..results import attested, store
from ..results.references import ResultSource
from ..running import provenance
from . import figure_files, report_pages, style, verdict_pairs

DOCS_FIGURES = PROJECT / "docs" / "figures"

#: Folder, within that of a report, in which the report is made.
WRITING = ".writing"


def write(
    results: str | Path | None,
    out: Path,
    against: str | Path | None,
    called: str | None,
    running: Sequence[str],
) -> None:
    """Judge `results`, draw them, and write the report to `out`; see `report.write_report`."""
    sources = {name: ResultSource.of(name, results) for name, _ in studies.STUDIES.items()}
    measured = {name: store.table(source) for name, source in sources.items()}
    origins = provenance.of(sources.values())
    against = against or _quick_reference(sources.values())
    other = None
    if against is not None:
        judged = verdict_cache.every_claim(against)
        other = verdict_pairs.OtherResults(called or str(against), judged)
    with _whole(out) as part:
        claims, figures, tables = [], [], []
        for name, study in studies.STUDIES.items():
            judged = verdict_cache.judge(name, results).claims
            measured[name].to_csv(part / "tables" / f"{name}.csv", index=False)
            to_frame(judged).to_csv(part / "tables" / f"{name}-claims.csv", index=False)
            figures += figure_files.save(study, measured[name], part / "figures")
            tables += [report_pages.ReportTable(name, *one) for one in study.tables(measured[name])]
            claims += judged
        titles = {name: study.TITLE for name, study in studies.STUDIES.items()}
        about = {name: families.about(name) for name in titles}
        flips = sensitivity.stored_flips()
        report_pages.build(
            *(part, claims, figures, origins, tables, titles, attested.read(), about, other, flips),
            running=[titles[name] for name in running],
        )


@contextlib.contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """Yield a folder whose files get to `out` when the context ends, or not at all."""
    part = out / WRITING
    try:
        shutil.rmtree(part, ignore_errors=True)  # of a report that was interrupted
        (part / "tables").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ElevatorLabError(
            f"report: expected {out} to be a folder, or a place for a new one; found otherwise "
            f"({problem.strerror}). Name another with --out"
        ) from None
    try:
        yield part
        for file in [one for one in part.rglob("*") if one.is_file()]:
            place = out / file.relative_to(part)
            place.parent.mkdir(parents=True, exist_ok=True)
            file.replace(place)
    except OSError as problem:
        raise ElevatorLabError(
            f"report: {out} could not be written ({problem.strerror or problem}); expected room "
            "for a report of some 30 MB. Free some, or name another place with --out"
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
        with contextlib.suppress(OSError):  # it is not empty
            out.rmdir()


def _quick_reference(sources: Iterable[ResultSource]) -> str | None:
    """Return the name of quick's reference if another preset's is shown, else None."""
    shown = {source.preset for source in sources}
    return "reference/quick" if shown - {"quick", None} else None


README_STUDY = "stream_batching"
"""The study whose figure "overview" is README's picture."""


def draw_overview(study: Study) -> None:
    """Draw a study's figure "overview" from the reference for docs/, if it has this figure.

    README's picture also has a version for dark pages, which the site makes by itself.
    """
    overview = study.figures(study.published(), store.load(study.NAME)).get("overview")
    if overview is None:
        return
    name = f"{study.NAME}-overview"
    files = style.save(overview.figure, BUILD / "reference-figures", name)
    DOCS_FIGURES.mkdir(parents=True, exist_ok=True)
    shutil.copy(files["svg"], DOCS_FIGURES)
    if study.NAME == README_STUDY:
        dark = style.for_dark_pages(overview.figure)
        Path(DOCS_FIGURES, f"{name}-dark.svg").write_bytes(dark)
