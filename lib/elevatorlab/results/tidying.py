"""The tidy table of a study, made of the results in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..plugins.studies import Study
from . import reading, scheduler_sources
from .reading import Stored
from .tidy_columns import Table


def tidy(results: str | Path, study: Study) -> pd.DataFrame:
    """Return the table of a study: one row for each measurement and repetition.

    If a scheduler was changed, the table has only the version that was run last.
    """
    rows = []
    scheduler_sources.register(results)
    digests = scheduler_sources.current(results)
    for stored in reading.results_in(results, study.NAME):
        trial = stored.trial
        if not scheduler_sources.is_current(trial, digests):
            continue
        common = {**of_trial(stored), **_of_window(stored)}
        rows += [{**common, **row} for row in study.rows(trial, stored.result.as_given())]
    table = pd.DataFrame(rows, columns=study.COLUMNS)
    if len(table) == 0:
        return table
    table = checked(study, table, f"table of {study.NAME} from {results}")
    return table.sort_values(study.ORDER, ignore_index=True)


def of_trial(stored: Stored) -> dict[str, Any]:
    """Return the columns that every table has: which trial it is, and where it ran."""
    trial, provenance = stored.trial, stored.provenance
    return {
        "trial": stored.folder.name,
        "study": trial["study"],
        "testbed": provenance.testbed,
        "machine": provenance.machine,
        "accelerator": provenance.accelerator,
        "image_digest": provenance.image_digest,
        "preset": trial["preset"],
        "device": _named(trial["device"]),
        "backing_scheduler": trial["backing_scheduler"],
        "scheduler": trial["scheduler"]["name"],
        "seed": trial["seed"],
        "repetition": trial["repetition"],
    }


def _of_window(stored: Stored) -> dict[str, float | None]:
    """Return what was counted of a whole trial while its workloads ran."""
    rates, busy_ratio = stored.result.device, stored.result.cpu_busy_ratio
    exits = reading.read_exits(stored.folder)
    return {
        "window_s": rates.duration_s,
        "busy_s": None if busy_ratio is None else busy_ratio * rates.duration_s,
        "requests": round((rates.read_iops + rates.write_iops) * rates.duration_s),
        "exits": sum(one["exits"] for one in exits.values()) if exits else None,
    }


def checked(study: Study, table: pd.DataFrame, what: str) -> pd.DataFrame:
    """Hold a table against what its study says of its columns, where it does."""
    declared: Table | None = getattr(study, "TABLE", None)
    return table if declared is None else declared.checked(table, what)


def _named(device: Mapping[str, Any]) -> str:
    """Name a trial's device: devices of different names are never compared."""
    known = device.get("profile") or device.get("id")
    parts = [device["kind"], known, device.get("size_mib") and f"{device['size_mib']} MiB"]
    return ", ".join(part for part in parts if part)
