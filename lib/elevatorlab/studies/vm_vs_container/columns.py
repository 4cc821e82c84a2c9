"""The tidy table of the study: one row per timed read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...results.tidy_columns import Table, may_lack, number, shared, text, whole
from .trials import ALONE

TABLE = Table(
    "timed read",
    *shared("trial study testbed machine accelerator preset"),
    text("arm", "what the reader ran in: host, container or vm"),
    *shared("device backing_scheduler scheduler"),
    text(
        "variant",
        "state of the page cache: as_published, dropped or direct; with _drive, on a disk with "
        "an arm",
    ),
    text("test", "the article's test: writes_starving_reads or high_read_latency"),
    may_lack(
        number("published_size_mb", "MB", "size of the file in the article; empty of the tree")
    ),
    number("size_mib", "MiB", "how much was read"),
    whole("programs", "", "how many programs read it, one after the other: one for each file"),
    *shared("seed repetition"),
    number("time_s", "s", "how long the read took"),
    whole("bytes_read", "bytes", "how much was read"),
    whole("device_read_bytes", "bytes", "what the device served meanwhile"),
    whole("storage_read_bytes", "bytes", "what the reader had to fetch from storage"),
    *shared("image_digest"),
    may_lack(number("window_s", "s", "how long the trial's reads took together; counted below")),
    may_lack(number("busy_s", "s", "time of the window in which the machine's processor worked")),
    may_lack(
        whole("requests", "", "requests that the device under test served in the window, of all")
    ),
    may_lack(
        whole("exits", "", "how often a virtual machine inside was left in the window, by KVM")
    ),
)

COLUMNS = TABLE.names

ORDER = ["test", "variant", "arm", "backing_scheduler", "scheduler", "repetition"]
ORDER += ["published_size_mb", "trial"]


def rows(trial: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the study's own columns, one row for each timed read of a trial."""
    labels, guest = trial["labels"], _guest(trial)
    for workload in result["workloads"].values():
        for read in workload.get("reads", ()):
            size_mib = read["bytes_read"] / 2**20
            is_file = "size_mib" in read
            yield {
                "arm": labels["arm"],
                **guest,
                "variant": labels["variant"],
                "test": labels["test"],
                "published_size_mb": round(size_mib / float(labels["scale"])) if is_file else None,
                "size_mib": size_mib,
                "programs": workload.get("files", 1),
                "time_s": read["time_ns"] / 1e9,
                "bytes_read": read["bytes_read"],
                "device_read_bytes": read["device_read_bytes"],
                "storage_read_bytes": read["storage_read_bytes"],
            }


def _guest(trial: Mapping[str, Any]) -> dict[str, str | None]:
    """Return both schedulers of a trial that runs in a virtual machine; empty for other trials.

    One is the scheduler of the virtual machine's disk. The other is that of the device under test,
    which lies below this disk. If the latter is none, it does not change the order of requests, so
    the value is None, as in arms without a disk below.
    """
    machine = trial["groups"][0].get("virtual_machine")
    if machine is None:
        return {}
    below = trial["scheduler"]["name"]
    return {
        "scheduler": machine["scheduler"]["name"],
        "backing_scheduler": None if below == ALONE else below,
    }
