"""Small tables of what was measured."""

from __future__ import annotations

import pandas as pd

from ...kit.contrast import turned, with_arm
from ...kit.tables import Captioned
from ..claims import judge
from ..measures.interference import STUDY_DISK
from . import frontier, regulation
from .interference import fits_table, laws_table, overloads_table, overview_table, queues_table

__all__ = ["overview_table", "tables"]


def tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the study's tables, each with its caption."""
    of_interference = (overview_table, fits_table, laws_table, queues_table, overloads_table)
    found = [table(measured) for table in of_interference]
    found += [*regulation.tables(measured), *frontier.tables(measured)]
    calibrated = measured[measured["disk"] == STUDY_DISK]
    drives = measured[with_arm(measured)].assign(disk=STUDY_DISK)
    return [*found, *turned(judge, calibrated, drives)]
