"""The article's log: tab-separated, so that spreadsheets made for it go on working."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .measures import TESTS

HEADER = ("Test", "Throughput (KB/s)", "I/O Scheduler", "Threads", "n")

LOG_TESTS = ("initial_write", "rewrite", "random_read", "mixed_workload", "random_write")


def write_log(measured: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the article's log of every device, variant and tool that was measured.

    The Rewrite line has the rewrite figure; the article's script put the random-write figure
    there. Its ``n`` is the run. KB are 1024 bytes, as iozone's.

    Parameters
    ----------
    measured : pandas.DataFrame
        The study's tidy table.
    folder : Path
        Made if missing.

    Returns
    -------
    list of Path
        ``iozone-DEVICE-VARIANT-all-results.log``, and ``fio-...`` where fio stood in for iozone;
        with more of the name where several machines or presets are in the table.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    place = ["testbed", "machine", "preset", "backing_scheduler"]
    place = [name for name in place if measured[name].nunique(dropna=False) > 1]
    written = []
    for key, rows in measured.groupby(["tool", "arm", "variant", *place], dropna=False):
        name = "-".join(str(part)[:16] for part in key if not pd.isna(part))
        path = folder / f"{name}-all-results.log"
        path.write_text(as_log(rows))
        written.append(path)
    return written


def as_log(rows: pd.DataFrame) -> str:
    """Return rows of one device and variant as the article's log, in the order of its script."""
    rows = rows.assign(place=rows["test"].map(LOG_TESTS.index))
    lines = ["\t".join(HEADER)]
    for row in rows.sort_values(["scheduler", "threads", "repetition", "place"]).itertuples():
        values = [TESTS[row.test], f"{row.throughput_kib_s:.2f}", row.scheduler, row.threads]
        lines.append("\t".join(map(str, [*values, row.repetition])))
    return "\n".join(lines) + "\n"
