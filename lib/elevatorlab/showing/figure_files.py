"""Draw and save a study's figures; figures of published data alone come from the user's cache.

Most folders of results hold one study. The report on such a folder also shows the published figures
of all other studies. These figures never change, and saving them used to take most of
the time of a report.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd

from .. import cache
from ..errors import NoFolder
from ..judging import kept
from ..paths import DATA
from ..plugins import studies
from ..plugins.schedulers import SCHEDULERS
from ..plugins.studies import Study
from . import style
from .figures import title_of
from .pages import ReportFigure

#: Libraries that draw; another version of one of them may draw differently.
LIBRARIES = ("fonttools", "matplotlib", "numpy", "pandas", "pillow", "scipy", "seaborn")

_FILE = "figures.json"


def save(study: Study, measured: pd.DataFrame, folder: Path) -> list[ReportFigure]:
    """Draw a study's figures, write their files, and return them as a report shows them.

    Parameters
    ----------
    study : Study
    measured : pandas.DataFrame
        Its tidy table; empty for published data alone.
    folder : pathlib.Path
        Made if missing.
    """
    package = studies.STUDIES.package(study.NAME)
    if not measured.empty or package is None or package.name != "elevatorlab":
        return list(_draw(study, measured, folder))

    def make(part: Path) -> None:
        figures = [figure._asdict() for figure in _draw(study, measured, part)]
        for figure in figures:
            figure["files"] = {kind: path.name for kind, path in figure["files"].items()}
        (part / _FILE).write_text(json.dumps(figures, default=sorted), encoding="utf-8")

    try:
        entry = cache.obtain("figures", _digest(study), make)
        content = json.loads((entry / _FILE).read_text(encoding="utf-8"))
        return [_taken(figure, entry, folder) for figure in content]
    except (NoFolder, OSError):  # the cache cannot be used
        return list(_draw(study, measured, folder))


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


def _digest(study: Study) -> str:
    """Return the SHA-256 of everything that decides what figures of published data look like."""
    looks = sorted((name, one.label, one.colour, one.marker) for name, one in SCHEDULERS.items())
    with style.style():
        # The backend has no effect on saved files, and reading this setting would load a backend.
        settings = {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}
    system = platform.python_version(), platform.machine(), zlib.ZLIB_RUNTIME_VERSION
    libraries = [(one, version(one)) for one in LIBRARIES]
    parts = [repr((study.NAME, looks, settings, system, libraries)).encode()]
    for file in (*kept.modules(), *sorted(_published(study))):
        parts += [f"{file.name}\0".encode(), hashlib.sha256(file.read_bytes()).digest()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _published(study: Study) -> Iterator[Path]:
    yield DATA / "claims" / f"{study.NAME}.yaml"
    yield from (path for path in (DATA / "published" / study.NAME).rglob("*") if path.is_file())
