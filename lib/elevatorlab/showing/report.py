"""The report on a folder of results, which is written only if something has changed.

Whether something has changed is decided by content: of the results, of this package, of its data,
and of the report itself. To find out takes less time than to import the libraries that draw, so
this module imports `report_writer` only if the report is to be written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from .. import cache
from ..errors import NoFolder
from ..paths import BUILD
from ..results.references import NAMES
from . import cache_keys

#: The report that `elevatorlab reproduce` writes.
REPORT = BUILD / "report"
#: The reports on results that have a name.
NAMED_REPORTS = {name: BUILD / f"{name.replace('/', '-')}-report" for name in NAMES}

_FILE = "files.json"


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
    running: Sequence[str] = (),
) -> dict[str, Path]:
    """Judge `results`, draw them, and write the report, unless it is there as it would be written.

    `out`: Folder of the report; by default `default_place`. `against`: Other results, which a page
    of the report shows side by side with these. By default, a report on the reference of another
    preset shows the reference of the preset quick. `called`: What that page calls the other
    results; by default, the text of `against`. `running`: Studies whose trials are not finished
    yet, which the first page says. Returns: Where the parts are: ``report`` (a page), ``figures``,
    ``tables`` (folders).
    """
    place = Path(out or default_place(results))

    def write(record: Path | None = None) -> None:
        from . import report_writer

        report_writer.write(results, place, against, called, running)
        if record:
            (record / _FILE).write_text(json.dumps(_content(place)), encoding="utf-8")

    try:
        if cache_keys.are_known():
            words = " ".join([called or str(against), *running])
            digest = cache_keys.digest(words, _read(results, place), _read(against, place))
            record = cache.obtain("reports", digest, write)
            if json.loads((record / _FILE).read_text(encoding="utf-8")) != _content(place):
                cache.obtain("reports", digest, write, anew=True)
        else:
            write()
    except (NoFolder, OSError):  # the cache cannot be used
        write()
    parts = {"report": "index.html", "figures": "figures", "tables": "tables"}
    return {part: place / name for part, name in parts.items()}


def _read(results: str | Path | None, place: Path) -> str:
    """Return what decides what is read of `results`, but nothing of the report that lies there."""
    if results is None or str(results) in NAMES:
        return str(results)
    folder, report = Path(results).resolve(), place.resolve()
    return cache_keys.of_files(folder, report if folder in report.parents else None)


def _content(place: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a report, by name."""
    files = (one for part in ("*.html", "figures/*", "tables/*") for one in place.glob(part))
    return {one.relative_to(place).as_posix(): cache.sha256(one) for one in files if one.is_file()}
