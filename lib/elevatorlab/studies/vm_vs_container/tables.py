"""A small table of what was measured."""

import pandas as pd

from ...analysis.intervals import mean_interval

CAPTION = (
    "Measured: time for all reads of a repetition, its mean and 95 % confidence interval over "
    "repetitions, and how many bytes the reader fetched from storage for each byte that it read."
)


def overview_table(measured):
    """Return a caption and one row for each test, variant, arm and scheduler.

    Parameters
    ----------
    measured : pandas.DataFrame
        The study's tidy table; may be empty.
    """
    keys = ["testbed", "preset", "test", "variant", "arm", "scheduler"]
    rows = []
    for cell, reads in measured.groupby(keys, sort=True):
        runs = reads.groupby("repetition")[["time_s", "bytes_read", "storage_read_bytes"]].sum()
        time = mean_interval(runs["time_s"])
        rows.append(
            {
                **dict(zip(keys, cell, strict=True)),
                "repetitions": len(runs),
                "time_ms": f"{time.value * 1000:.2f}",
                "95 % interval_ms": _interval(time),
                "fetched a byte": f"{runs.storage_read_bytes.sum() / runs.bytes_read.sum():.2f}",
            }
        )
    columns = [*keys, "repetitions", "time_ms", "95 % interval_ms", "fetched a byte"]
    return CAPTION, pd.DataFrame(rows, columns=columns)


def _interval(time):
    if not time.bounded:
        return "one repetition"
    return f"{time.low * 1000:.2f} to {time.high * 1000:.2f}"
