"""What the article prints: nine lines of its log, its points, its percentages."""

from __future__ import annotations

import pandas as pd

from ...judging.families import read_published
from ...paths import DATA

NAME = "iozone_ranking"

SCRIPT_OUTPUT = DATA / "published" / NAME / "script-command-3-threads.txt"
"""What iozone 3.489 prints for the script's command line with 3 threads; recorded, see README."""

RUNS = 3
"""How often the article measured each computer."""

COMPARISONS = 5 * RUNS
"""How many comparisons give points in the article: five tests in each run."""

FILE_MIB = 1024
"""Size of each thread's file, by the script's command line."""

MOST_POINTS = 2 * COMPARISONS


def sample_log() -> pd.DataFrame:
    """Return the printed lines of the laptop's log.

    Returns: document, table, row, test, throughput_kib_s, scheduler, threads, run.
    """
    return read_published(NAME, "sample_log")


def points() -> pd.DataFrame:
    """Return the printed points.

    Returns: document, table, row, computer, disk, scheduler, descendant, points.
    """
    return read_published(NAME, "points")
