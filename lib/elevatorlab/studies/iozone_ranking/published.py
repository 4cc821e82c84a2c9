"""What the article prints: nine lines of its log, its points, its percentages."""

from __future__ import annotations

import pandas as pd

from elevatorlab.families import read_published
from elevatorlab.paths import DATA

STUDY = "iozone_ranking"

SCRIPT_OUTPUT = DATA / "published" / STUDY / "script-command-3-threads.txt"
"""What iozone 3.489 prints for the script's command line with 3 threads; recorded, see README."""


def sample_log() -> pd.DataFrame:
    """Return the printed lines of the laptop's log.

    Returns
    -------
    pandas.DataFrame
        document, table, row, test, throughput_kib_s, scheduler, threads, run.
    """
    return read_published(STUDY, "sample_log")


def points() -> pd.DataFrame:
    """Return the printed points.

    Returns
    -------
    pandas.DataFrame
        document, table, row, computer, disk, scheduler, descendant, points.
    """
    return read_published(STUDY, "points")
