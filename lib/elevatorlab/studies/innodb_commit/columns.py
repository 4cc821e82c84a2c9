"""The tidy table of the study: one row per run of sysbench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...results.tidy_columns import Table, may_lack, number, shared, text, whole
from ..kit import turns
from .trials import MAPPING

TABLE = Table(
    "run of sysbench",
    *shared("trial study testbed machine accelerator preset"),
    text("arm", "what the server ran in"),
    *shared("device backing_scheduler scheduler"),
    text("published_scheduler", "the article's scheduler that this one stands for"),
    text("experiment", "the article's experiment"),
    text("idling", "how the scheduler idles: as shipped, or what was set"),
    may_lack(number("slice_idle_ms", "ms", "what `slice_idle` was set to; empty: left as it is")),
    whole("flush_log_at_trx_commit", "", "InnoDB's setting: 0, 1 or 2"),
    whole("threads", "", "connections that inserted at the same time"),
    whole("commits", "", "transactions of all connections together"),
    number("duration_s", "s", "how long the run took"),
    number("tps", "1/s", "transactions per second"),
    number("latency_mean_ms", "ms", "mean time of a transaction"),
    number("latency_p50_ms", "ms", "median time of a transaction"),
    number("latency_p95_ms", "ms", "95th percentile of the time of a transaction"),
    number("latency_p99_ms", "ms", "99th percentile of the time of a transaction"),
    number("utilization_ratio", "1", "part of the time with any request in flight or waiting"),
    may_lack(number("cpu_busy_ratio", "1", "the processors' busy time; empty: too short to count")),
    whole("reads", "", "reads that the device served"),
    number("writes_per_commit", "1", "writes that the device served, for each transaction"),
    number("fsyncs_per_commit", "1", "times InnoDB asked for its files to be on the device"),
    may_lack(
        number("flushes_per_commit", "1", "flushes of the device; empty: the kernel counts none")
    ),
    may_lack(
        number(
            "idle_while_waiting_ratio",
            "1",
            "part of the time in which the device stood idle although requests waited for it; "
            "empty without tracepoints",
        )
    ),
    *turns.COLUMNS,
    *shared("seed repetition image_digest"),
)

COLUMNS = TABLE.names

ORDER = ["experiment", "arm", "backing_scheduler", "scheduler", "idling", "slice_idle_ms"]
ORDER += ["flush_log_at_trx_commit", "threads", "repetition", "trial"]

#: Values of a phase that are copied to the table.
KEPT = (
    "threads flush_log_at_trx_commit commits duration_s tps reads latency_mean_ms latency_p50_ms "
    "latency_p95_ms latency_p99_ms utilization_ratio cpu_busy_ratio"
).split()


def rows(trial: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the study's own columns, one row for each run of sysbench."""
    labels, tunables = trial["labels"], trial["scheduler"]["tunables"]
    for workload in result["workloads"].values():
        for phase in workload["phases"]:
            idle_s = phase["idle_while_waiting_s"]
            yield {
                "arm": labels["arm"],
                "experiment": labels["experiment"],
                "idling": labels["idling"],
                "slice_idle_ms": tunables.get("slice_idle"),
                "published_scheduler": MAPPING.get(
                    name := trial["scheduler"]["name"], f"{name} (not in it)"
                ),
                **{name: phase[name] for name in KEPT},
                **turns.turns_of(trial),
                "writes_per_commit": phase["writes"] / phase["commits"],
                "fsyncs_per_commit": phase["fsyncs"] / phase["commits"],
                "flushes_per_commit": phase.get("flushes", float("nan")) / phase["commits"],
                "idle_while_waiting_ratio": None
                if idle_s is None
                else idle_s / phase["duration_s"],
            }
