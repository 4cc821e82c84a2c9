"""The tidy table of the study: one row per point of a trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...results.tidy_columns import Table, may_lack, number, shared, text, whole
from ..kit import turns

WORK = {
    "host": ("submit", "dispatch", "driver", "receive", "complete"),
    "target": ("driver", "receive", "complete"),
}
"""The kinds of work that a request needs on host and target (`agent.observe.processor_time`)."""


def busy_column(endpoint: str, work: str | None = None) -> str:
    """Return the name of the column with the processor time per request on host or target."""
    return "_".join([endpoint, *([work] if work else []), "busy_ns_per_request"])


def _meaning(endpoint: str, work: str | None) -> str:
    what = f"its work {work}" if work else "all its work"
    return f"the processor's time for a request on the {endpoint}, for {what}; empty: not traced"


CAUSES = {"nr": "their number", "bytes": "their bytes", "timeout": "time"}
"""Why a batch of SBQ was released."""

TABLE = Table(
    "point of a trial",
    *shared("trial study testbed machine accelerator preset"),
    text("arm", "what fio ran in: a host, or a virtual machine"),
    *shared("device backing_scheduler scheduler"),
    text("target", "the disk, or what the target serves"),
    text("driver", "NVMe/TCP driver of the host, or local"),
    number("time_scale", "1", "factor by which disk and network were slowed down"),
    may_lack(number("link_gbit_s", "Gb/s", "rate of the emulated link; empty where there is none")),
    may_lack(number("link_delay_us", "us", "its delay each way")),
    may_lack(
        whole("cores", "", "the host's processors, and the target's own; empty: they share all")
    ),
    *turns.COLUMNS,
    may_lack(number("batch_nr", "", "SBQ: requests that release a batch; empty of others")),
    may_lack(number("batch_timeout_us", "us", "SBQ: time that releases a batch")),
    whole("depth", "", "requests that fio keeps in flight"),
    whole("read_percent", "%", "part of the requests that read"),
    whole("request_kib", "KiB", "size of a request"),
    *shared("seed repetition"),
    whole("requests", "", "requests that ended in fio's window"),
    number("throughput_iops", "1/s", "requests per second"),
    number("latency_mean_us", "us", "mean time of a request, from its submission on"),
    number("latency_p99_us", "us", "99th percentile; of reads and writes the worse one"),
    number("in_flight_ratio", "1", "throughput x mean latency, of the depth of all cores"),
    number("busy_ratio", "1", "busy time of all processors, of the time that passed"),
    number("busy_ns_per_request", "ns", "busy time of all processors for a request"),
    number("switches_per_request", "1", "context switches for a request"),
    may_lack(number("host_sends_per_request", "1", "the host's TCP segments with data")),
    may_lack(number("target_sends_per_request", "1", "the target's; empty where there is none")),
    may_lack(number("batch_requests", "", "SBQ: requests that were held, for each batch")),
    *(
        may_lack(number(f"released_by_{cause}_ratio", "1", f"SBQ: batches released by {word}"))
        for cause, word in CAUSES.items()
    ),
    *shared("image_digest"),
    *(
        may_lack(number(busy_column(endpoint, work), "ns", _meaning(endpoint, work)))
        for endpoint, works in WORK.items()
        for work in (None, *works)
    ),
)

COLUMNS = TABLE.names

ORDER = ["target", "driver", "cores", "time_scale", "scheduler", "batch_nr", "batch_timeout_us"]
ORDER += ["read_percent", "request_kib", "depth", "repetition", "trial"]

WHERE = {"depth": 64, "read_percent": 100, "request_kib": 4}
"""The values that the document keeps while it varies something else."""


def rows(trial: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the study's own columns, one row for each point of a trial."""
    labels = trial["labels"]
    link = trial["device"].get("link") or {}
    cores = _number(labels.get("cores"))
    for workload in result["workloads"].values():
        for point in workload.get("points", ()):
            speed = _speed([point[way] for way in ("read", "write") if way in point])
            in_flight = speed["throughput_iops"] * speed["latency_mean_us"] / 1e6
            depth = point["point"]["iodepth"]
            yield {
                "arm": trial["machine"],
                "target": labels["target"],
                "driver": labels["driver"],
                "time_scale": float(labels["time_scale"]),
                "link_gbit_s": link.get("rate_gbit_s"),
                "link_delay_us": link.get("delay_us"),
                "cores": cores,
                **turns.turns_of(trial),
                "batch_nr": _number(labels.get("batch_nr")),
                "batch_timeout_us": _number(labels.get("batch_timeout_us")),
                "depth": depth,
                "read_percent": point["point"]["rwmixread"],
                "request_kib": int(point["point"]["bs"].removesuffix("k")),
                **speed,
                "in_flight_ratio": in_flight / (depth * (cores or 1)),
                **(cost := _cost(point["counters"])),
                **_busy(point.get("processor_time"), cost["busy_ns_per_request"]),
            }


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _speed(ways: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Combine reads and writes: add rates, weight means, and take the worse percentile."""
    requests = sum(way["requests"] for way in ways)
    mean_ns = sum(way["requests"] * way["latency_mean_ns"] for way in ways) / requests
    return {
        "requests": requests,
        "throughput_iops": sum(way["iops"] for way in ways),
        "latency_mean_us": mean_ns / 1000,
        "latency_p99_us": max(way["latency_p99_ns"] for way in ways) / 1000,
    }


def _cost(counters: Mapping[str, Any]) -> dict[str, float]:
    """Return what a request cost, and how SBQ released its batches."""
    requests = counters["requests"]
    found = {
        "busy_ratio": counters["busy_ns"] / counters["duration_ns"],
        "busy_ns_per_request": counters["busy_ns"] / requests,
        "switches_per_request": counters["context_switches"] / requests,
    }
    for endpoint in WORK:
        if f"{endpoint}_sends" in counters:
            found[f"{endpoint}_sends_per_request"] = counters[f"{endpoint}_sends"] / requests
    scheduler = counters.get("scheduler", {})
    batches = sum(scheduler.get(f"released_by_{cause}", 0) for cause in CAUSES)
    if batches:
        found["batch_requests"] = scheduler["held"] / batches
        for cause in CAUSES:
            found[f"released_by_{cause}_ratio"] = scheduler[f"released_by_{cause}"] / batches
    return found


def _busy(traced: Mapping[str, Any] | None, busy_ns_per_request: float) -> dict[str, float]:
    """Return the processor time per request on host and target, without the cost of tracing.

    Each recorded event is taken to cost the same time. The cost of all events of a request is its
    time while traced, minus its time without tracing (`busy_ns_per_request`). On a machine whose
    speed varies, this estimate may be far off. So the cost of an event is at least 0, and at most
    the least time per event of any kind of work.
    """
    if not traced or not traced["requests"]:
        return {}
    requests, time_ns, events = traced["requests"], traced["time_ns"], traced["events"]
    busy = [owner for owner in time_ns if owner != "idle"]
    traced_ns = sum(time_ns[owner] for owner in busy) / requests
    so_many = sum(events[owner] for owner in busy) / requests
    most_ns = min(time_ns[owner] / events[owner] for owner in busy if events[owner])
    event_ns = min(max(0, (traced_ns - busy_ns_per_request) / so_many), most_ns)
    found = {}
    for endpoint, works in WORK.items():
        for work in works:
            owner = f"{endpoint} {work}"
            spent_ns = time_ns.get(owner, 0) - event_ns * events.get(owner, 0)
            found[busy_column(endpoint, work)] = spent_ns / requests
        found[busy_column(endpoint)] = sum(found[busy_column(endpoint, work)] for work in works)
    return found
