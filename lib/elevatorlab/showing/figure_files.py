"""Draw and save a study's figures, which come from the user's cache if nothing about them changed.

Figures of other data have another entry in the cache. So results that hold one study are drawn
without drawing the published figures of all other studies again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from .. import cache
from ..errors import NoFolder
from ..plugins.studies import Study
from . import cache_keys, style
from .figures import title_of
from .report_pages import ReportFigure

_FILE = "figures.json"


def save(study: Study, measured: pd.DataFrame, folder: Path) -> list[ReportFigure]:
    """Draw a study's figures, write their files, and return them as a report shows them.

    `measured`: Its tidy table; empty for published data alone.
    """
    if not cache_keys.are_known():
        return list(_draw(study, measured, folder))

    def make(part: Path) -> None:
        figures = [figure._asdict() for figure in _draw(study, measured, part)]
        for figure in figures:
            figure["files"] = {kind: path.name for kind, path in figure["files"].items()}
        (part / _FILE).write_text(json.dumps(figures, default=sorted), encoding="utf-8")

    try:
        digest = cache_keys.digest(study.NAME, measured.to_csv())
        entry = cache.obtain("figures", digest, make)
        content = json.loads((entry / _FILE).read_text(encoding="utf-8"))
    except (NoFolder, OSError):  # the cache cannot be used
        return list(_draw(study, measured, folder))
    return [_taken(figure, entry, folder) for figure in content]


def _draw(study: Study, measured: pd.DataFrame, folder: Path) -> Iterator[ReportFigure]:
    for name, one in study.figures(study.published(), measured).items():
        yield ReportFigure(
            study=study.NAME,
            name=name,
            title=title_of(one.figure, name),
            files=style.save(one.figure, folder, f"{study.NAME}-{name}"),
            caption=one.caption,
            trials=one.trials,
            appendix=one.appendix,
            details=one.details,
        )


def _taken(figure: dict[str, Any], entry: Path, folder: Path) -> ReportFigure:
    """Copy a figure's files to the report, since the cached files must stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    files = figure["files"].items()
    copies = {kind: Path(shutil.copyfile(entry / file, folder / file)) for kind, file in files}
    return ReportFigure(**{**figure, "files": copies})
