"""The table of what other people's runs measured."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ElevatorLabError
from ...plugins.schedulers import SCHEDULERS
from . import fio, iozone, sysbench
from .rows import Row, Unreadable, line_of

if TYPE_CHECKING:
    import pandas as pd

#: What each row has, whatever the tool.
FIRST = ("provenance", "tool", "tool_version", "file")


def import_results(
    files: Iterable[str | Path],
    *,
    labels: Mapping[str, Any] | None = None,
    pattern: str | None = None,
    per_job: bool = False,
) -> pd.DataFrame:
    """Read reports of fio, iozone and sysbench that somebody already has, as a tidy table.

    Parameters
    ----------
    files : iterable of str or Path
        fio's JSON or JSON+, maybe with notes before and after, or with a run's intermediate
        reports; iozone's text; sysbench's text (version 1). A file may have several runs.
    labels : mapping, optional
        Factors of all rows that the files do not have: ``{"disk": "nvme"}``.
    pattern : str, optional
        How the files are named, with factors in braces: ``"{scheduler}-{repetition}.json"``. It is
        compared with the end of the path, so it may have folders.
    per_job : bool
        Whether each process of fio has a row. Otherwise all processes of a job, which run at the
        same time, share one row.

    Returns
    -------
    pandas.DataFrame
        One row for each run, job (or test) and direction. The first columns are `provenance`
        ("imported"), `tool`, `tool_version` and `file`; then come the factors, then `repetition`,
        then what was measured, with units in the names. Unless the pattern has `repetition`, it
        counts the rows with the same factors from 1.
        Options of fio that are not the same in all rows are factors, too. What a tool did not
        measure is NaN.

    Raises
    ------
    ElevatorLabError
        For a file that cannot be read, with the line and the reason; for a name that does not fit
        the pattern; for two rows with the same factors and repetition.

    Examples
    --------
    >>> table = import_results(["tests/fixtures/fio-3.33-randrw.json"])
    >>> table[["direction", "requests", "throughput_iops"]].to_dict("records")[0]
    {'direction': 'read', 'requests': 126, 'throughput_iops': 6300.0}
    """
    import pandas as pd

    found = [
        ({**_from_name(Path(file), pattern), **(labels or {})}, file, row)
        for file in files
        for row in _rows(Path(file), per_job)
    ]
    if not found:
        raise ElevatorLabError("no file to import; expected reports of fio, iozone or sysbench")
    differing = _differing([row.options for *_, row in found])
    factors, rest = [], []
    for given, file, row in found:
        own = {**row.factors, **{name: row.options.get(name) for name in differing}}
        if taken := sorted(given.keys() & {*FIRST, *row.measured}):
            raise ElevatorLabError(
                f"{file}: expected labels with names of their own; {taken[0]} is a column already"
            )
        head = ("imported", row.tool, row.version, str(file))
        factors.append({**dict(zip(FIRST, head, strict=True)), **own, **given})
        rest.append(row.measured)
    left, right = pd.DataFrame(factors).infer_objects(), pd.DataFrame(rest)
    keys = [name for name in left.columns if name not in FIRST and name != "repetition"]
    again = left.groupby(["tool", *keys], dropna=False, sort=False).cumcount() + 1
    if "repetition" not in left:
        left["repetition"] = again
    elif (twice := left.duplicated(["tool", *keys, "repetition"])).any():
        raise ElevatorLabError(
            f"{left.loc[twice, 'file'].iloc[0]}: expected one row for each repetition of the same "
            "factors; found two. Give what they differ in by the pattern or by a label"
        )
    return pd.concat([left, right], axis=1)


def _rows(file: Path, per_job: bool) -> list[Row]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise ElevatorLabError(f"{file}: expected a tool's report; {problem}") from None
    try:
        rows = _of_text(text, per_job)
        if not rows:
            raise Unreadable(1, "expected at least one request that was served; found none")
    except Unreadable as problem:
        raise ElevatorLabError(f"{file}:{problem.line}: {problem}") from None
    for note in dict.fromkeys(row.note for row in rows if row.note):
        warnings.warn(f"{file}: {note}", stacklevel=3)
    return rows


#: What fio prints for people begins so.
_FIOS_TEXT = re.compile(r"^.*\(groupid=\d+, jobs=\d+\)", re.MULTILINE)


def _of_text(text: str, per_job: bool) -> list[Row]:
    """Return the rows of all reports in a text, which may be of several tools."""
    there = [one for one in (iozone, sysbench) if one.BEGINNING.search(text)]
    rows = [row for one in there for row in one.rows(text)]
    if fio.BEGINNING.search(text) and (not there or '"fio version"' in text):
        return rows + list(fio.rows(text, per_job))
    if found := _FIOS_TEXT.search(text):
        line = line_of(text, found.start())
        said = "its text for people, which rounds. Run fio with --output-format=json+"
        if not rows:
            raise Unreadable(line, f"expected fio's JSON; found {said}")
        rows[0].note = f"fio's report in line {line} is left out: expected JSON; found {said}"
    if there:
        return rows
    raise Unreadable(
        1,
        "expected what fio (as JSON), iozone or sysbench prints; found text that begins with "
        f"{text.strip()[:40]!r}",
    )


def _value_without(ends: Iterable[str]) -> str:
    """Return an expression for a value that has no character with which it, or one before, ends.

    So no name can be read in two ways. But some names of schedulers have a dash.
    """
    known = "|".join(re.escape(name) for name in SCHEDULERS.names() if not name.isidentifier())
    return f"(?:{known}|[^/{re.escape(''.join(end[:1] for end in ends))}])+"


def _from_name(file: Path, pattern: str | None) -> dict[str, Any]:
    """Return the factors in a file's name."""
    if pattern is None:
        return {}
    parts = re.split(r"\{(\w+)\}", pattern)
    names = parts[1::2]
    if not names or len(set(names)) < len(names):
        raise ElevatorLabError(
            f"the pattern {pattern!r} has no factor, or one twice; expected names in braces, as in "
            "'{scheduler}-{repetition}.json'"
        )
    expression = "".join(
        f"(?P<{part}>{_value_without(parts[2 : place + 2 : 2])})" if place % 2 else re.escape(part)
        for place, part in enumerate(parts)
    )
    found = re.search(f"(?:^|/){expression}$", file.as_posix())
    if not found:
        raise ElevatorLabError(
            f"{file}: expected a name as {pattern}; give another pattern, or leave the file out"
        )
    return {name: _number(value) for name, value in found.groupdict().items()}


def write(table: pd.DataFrame, file: Path) -> None:
    """Write a table as CSV."""
    try:
        table.to_csv(file, index=False)
    except OSError as problem:
        raise ElevatorLabError(f"{file}: expected a file to write; {problem}") from None


def labels(given: Iterable[str]) -> dict[str, Any]:
    """Return labels of the command line, which are NAME=VALUE each."""
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise ElevatorLabError(f"--label: expected NAME=VALUE; found {one!r}")
        found[name] = _number(value)
    return found


def _number(text: str) -> int | float | str:
    """Return a number where a text is how one is printed: "6.10" is a version."""
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        if str(found) == text and text not in ("nan", "inf", "-inf"):
            return found
    return text


def _differing(options: list[Mapping[str, Any]]) -> list[str]:
    """Return the names of settings that are not the same in all rows, in their order."""
    names = dict.fromkeys(name for one in options for name in one)
    return [name for name in names if len({str(one.get(name)) for one in options}) > 1]
