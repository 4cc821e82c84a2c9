"""Trials of the study of InnoDB, their phases, and synthetic measured tables for its tests."""

import itertools

import pandas as pd
import pytest

from deterministic_runs import run  # noqa: F401  (fixture)
from elevatorlab.studies.innodb_commit.columns import COLUMNS
from elevatorlab.studies.innodb_commit.published import table
from elevatorlab.studies.innodb_commit.trials import MAPPING
from elevatorlab.trial import profile
from helpers import result_of


def inserts(*phases, **more):
    """Return the workload: (threads, flush setting, seconds) for each phase."""
    names = ("threads", "flush_log_at_trx_commit", "duration_s")
    return {
        "kind": "sysbench_insert",
        "name": "inserts",
        "group": "main",
        "phases": [dict(zip(names, phase, strict=True)) for phase in phases],
        **more,
    }


def commit_trial(make_trial, *phases, **changes):
    """Return a trial on the simulated RAID: real server, small table."""
    plain = {
        "memory_mib": 1024,
        "device": profile("raid_write_behind", 160, 4),
        "filesystem": "ext4",
        "workloads": (inserts(*phases),),
        "deadline_s": 120,
    }
    return make_trial(**{**plain, **changes})


def as_printed(factor=None, repetitions=2, **columns):
    """Return a table in which a rerun gives the article's own figures.

    `factor(row)` multiplies the commits a second; `columns` are the same in all rows.
    """
    rows = []
    cells = table().to_dict("records")
    # Its successor does what cfq did.
    cells += [{**cell, "scheduler": "bfq"} for cell in cells if cell["scheduler"] == "cfq"]
    for repetition, cell in itertools.product(range(repetitions), cells):
        row = {
            **dict.fromkeys(COLUMNS),
            **{"trial": f"{cell['scheduler']}-{cell['flush_log_at_trx_commit']}-{repetition}"},
            **{"study": "innodb_commit", "testbed": "host", "machine": "0123456789abcdef"},
            **{"accelerator": "none (bare metal)", "preset": "full", "arm": "host"},
            **{"device": "disk, ata-1", "experiment": "table", "idling": "as shipped"},
            **{"published_scheduler": MAPPING[cell["scheduler"]], "commits": 1000, "reads": 0},
            **{"duration_s": 1000 / cell["tps"], "cpu_busy_ratio": 0.5, "seed": repetition + 1},
            **{"writes_per_commit": 1.0, "fsyncs_per_commit": 1.0, "flushes_per_commit": 0.0},
            **{"idle_while_waiting_ratio": 0.0, "repetition": repetition + 1},
            **{name: 1.0 for name in COLUMNS if name.startswith("latency")},
            "utilization_ratio": cell["ioutil_percent"] / 100 / (2 if cell["tps"] > 15250 else 1),
        }
        row |= {name: cell[name] for name in ("scheduler", "threads", "flush_log_at_trx_commit")}
        row["tps"] = cell["tps"] * (factor(row) if factor else 1)
        rows.append({**row, **columns})
    return pd.DataFrame(rows, columns=COLUMNS)


FILE = {"kind": "file_backed", "size_mib": 160}


def phases_of(folder):
    return result_of(folder)["workloads"]["inserts"]["phases"]


@pytest.fixture(scope="module")
def plain(make_trial):
    return commit_trial(make_trial, (1, 1, 0.06), (8, 1, 0.06))


@pytest.fixture(scope="module")
def three_runs(run, plain):
    return [run(plain) for _ in range(3)]
