"""Study 4: what a scheduler does to a database that waits for its log."""

from .claims import COLUMNS, judge
from .figures import figures
from .published import table as published
from .tables import overview_table, tables
from .trials import MAPPING, NAME, PRESETS, Parameters, trials

TITLE = "I/O schedulers seriously revisited: rows a second into InnoDB"

ORDER = ["experiment", "arm", "backing_scheduler", "scheduler", "idling", "slice_idle_ms"]
ORDER += ["flush_log_at_trx_commit", "threads", "repetition", "trial"]

__all__ = ["COLUMNS", "NAME", "ORDER", "PRESETS", "TITLE", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]

#: Figures of a phase that go into the table as they are.
KEPT = ("threads", "flush_log_at_trx_commit", "commits", "duration_s", "tps", "reads")
KEPT += ("latency_mean_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms")
KEPT += ("utilization_ratio", "cpu_busy_ratio")


def rows(trial, result):
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
                "published_scheduler": MAPPING[trial["scheduler"]["name"]],
                **{name: phase[name] for name in KEPT},
                "writes_per_commit": phase["writes"] / phase["commits"],
                "fsyncs_per_commit": phase["fsyncs"] / phase["commits"],
                "flushes_per_commit": phase.get("flushes", float("nan")) / phase["commits"],
                "idle_while_waiting_ratio": None
                if idle_s is None
                else idle_s / phase["duration_s"],
            }
