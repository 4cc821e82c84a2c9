"""Small tables of what was measured."""

from __future__ import annotations

import pandas as pd

from ...analysis.intervals import geometric_interval
from ...judging.matching import without_needless_machine
from ..kit.cells import mean_of
from ..kit.contrast import turned, with_arm
from ..kit.tables import PLACE, Captioned, cells, value_and_interval
from .claims import judge
from .measures import NO_CACHE, SWEEP, TABLE

MAPPED = (
    "Schedulers have today's names. The article's deadline is called mq-deadline here, and its "
    "noop is called “none”. kyber and bfq came later; bfq is the successor of cfq. cfq and "
    "anticipatory have left the kernel. We reimplemented cfq from the documentation of kernel "
    "4.9, and anticipatory from a paper of 2001."
)

OVERVIEW = (
    "Measured: commits per second (geometric mean over repetitions, and its 95 % confidence "
    "interval), latency, and writes and calls of fsync for each commit. ioutil is the share of the "
    "time in which the device had anything to do. “idle while waiting” is the share of time in "
    f"which the device stood idle although a request waited in the scheduler. {MAPPED}"
)
SWEPT = (
    "bfq with different values of slice_idle, the time that bfq may wait for the next request of "
    "the same process. The column “idling” names bfq's configuration: as shipped; with low_latency "
    "off (no preference for interactive programs; preset “full” only); or with strict_guarantees "
    "(low_latency off as well). With strict_guarantees, bfq always idles, and lets only one "
    "request at a time into the device. Where there is idle time even with slice_idle = 0, "
    "slice_idle is not its cause."
)

WHERE = {name: name for name in (*PLACE, "arm")}
MEANS = {
    "latency_p50_ms": "median latency (ms)",
    "latency_p99_ms": "99th percentile of latency (ms)",
    "utilization_ratio": "ioutil",
    "writes_per_commit": "writes per commit",
    "fsyncs_per_commit": "fsyncs per commit",
    "flushes_per_commit": "flushes per commit",
    "idle_while_waiting_ratio": "idle while waiting",
}


def tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the study's tables, each with its caption."""
    sweep = {"idling": "idling", "slice_idle_ms": "slice_idle (ms)", "threads": "threads"}
    return [
        overview_table(measured),
        (SWEPT, _table(measured[measured["experiment"] == SWEEP], sweep)),
        *turned(judge, measured[~with_arm(measured)], measured),
    ]


def overview_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each device, scheduler, setting and number of threads."""
    cell = {
        "device": "device",
        "flush_log_at_trx_commit": "flush",
        "scheduler": "scheduler",
        "published_scheduler": "in the article",
        "threads": "threads",
    }
    wanted = measured["experiment"].isin([TABLE, NO_CACHE])
    return OVERVIEW, _table(measured[wanted], cell)


def _table(rows: pd.DataFrame, cell: dict[str, str]) -> pd.DataFrame:
    names = {**WHERE, **cell}
    lines = []
    for line, some in cells(rows, names):
        rate, interval = value_and_interval(geometric_interval(some["tps"]))
        means = {
            name: value_and_interval(mean_of(some[column].astype(float)))[0]
            for column, name in MEANS.items()
        }
        lines.append(
            {
                **line,
                "repetitions": len(some),
                "commits/s": rate,
                "95 % interval (commits/s)": interval,
                **means,
            }
        )
    figures = ["repetitions", "commits/s", "95 % interval (commits/s)", *MEANS.values()]
    table = pd.DataFrame(lines, columns=[*names.values(), *figures])
    return without_needless_machine(table)
