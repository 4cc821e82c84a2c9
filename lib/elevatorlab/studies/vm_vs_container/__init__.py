"""Study 1: do I/O schedulers perform better in virtual machines or in Docker containers?"""

from .claims import COLUMNS, judge
from .figures import figures
from .published import times as published
from .tables import overview_table, tables
from .trials import NAME, PRESETS, Parameters, trials

TITLE = "Do I/O schedulers perform better in virtual machines or in containers?"

ORDER = ["test", "variant", "arm", "backing_scheduler", "scheduler", "repetition"]
ORDER += ["published_size_mb", "trial"]

__all__ = ["COLUMNS", "NAME", "ORDER", "PRESETS", "TITLE", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]


def rows(trial, result):
    """Yield the study's own columns, one row for each timed read of a trial."""
    labels = trial["labels"]
    for workload in result["workloads"].values():
        for read in workload.get("reads", ()):
            size_mib = read["bytes_read"] / 2**20
            is_file = "size_mib" in read
            yield {
                "arm": labels["arm"],
                "variant": labels["variant"],
                "test": labels["test"],
                "published_size_mb": round(size_mib / float(labels["scale"])) if is_file else None,
                "size_mib": size_mib,
                "time_s": read["time_ns"] / 1e9,
                "bytes_read": read["bytes_read"],
                "device_read_bytes": read["device_read_bytes"],
                "storage_read_bytes": read["storage_read_bytes"],
            }
