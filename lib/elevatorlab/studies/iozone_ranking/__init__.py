"""Study 2: how to choose the right kernel I/O scheduler, by a ranking of IOzone's figures."""

from .claims import COLUMNS, judge
from .figures import figures
from .log import write_log
from .published import sample_log as published
from .tables import overview_table, tables
from .trials import NAME, PRESETS, Parameters, trials

TITLE = "How to choose the right kernel I/O scheduler: the IOzone ranking"

ORDER = ["arm", "variant", "backing_scheduler", "scheduler", "threads", "repetition"]
ORDER += ["test", "trial"]

__all__ = ["COLUMNS", "NAME", "ORDER", "PRESETS", "TITLE", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]
__all__ += ["write_log"]


def rows(trial, result):
    """Yield the study's own columns, one row for each test and number of threads of a trial."""
    labels = trial["labels"]
    found = result["workloads"]["iozone"]
    (workload,) = trial["workloads"]
    for run in found["runs"]:
        for test in run["tests"]:
            yield {
                "arm": labels["arm"],
                "variant": labels["variant"],
                "tool": found["tool"],
                "size_mib": workload["size_mib"],
                "record_kib": workload["record_kib"],
                "threads": run["threads"],
                "test": test["test"],
                "throughput_kib_s": test["throughput_kib_s"],
                "slowest_kib_s": test["slowest_kib_s"],
                "least_kib": test["least_kib"],
                "run_read_bytes": run["device_read_bytes"],
                "run_written_bytes": run["device_written_bytes"],
            }
