"""The study's tidy table: one row a point of a trial."""

SIDES = {
    "host": ("submit", "dispatch", "driver", "receive", "complete"),
    "target": ("driver", "receive", "complete"),
}
"""Whose work the processor does for a request, and which (see `elevatorlab.agent.sides`)."""


def of_side(side, part=None):
    """Return the name of the column with a side's processor time for a request, or a part of it."""
    return f"{side}_{part}_ns_per_request" if part else f"{side}_ns_per_request"


COLUMNS = (
    "trial study testbed machine accelerator preset arm device backing_scheduler scheduler "
    "target driver time_scale batch_nr batch_timeout_us depth read_percent request_kib "
    "seed repetition requests throughput_iops latency_mean_us latency_p99_us busy_ratio "
    "busy_ns_per_request switches_per_request host_sends_per_request "
    "target_sends_per_request batch_requests released_by_nr_ratio released_by_bytes_ratio "
    "released_by_timeout_ratio image_digest"
).split()
COLUMNS += [of_side(side, part) for side, parts in SIDES.items() for part in (None, *parts)]

ORDER = ["target", "driver", "time_scale", "scheduler", "batch_nr", "batch_timeout_us"]
ORDER += ["read_percent", "request_kib", "depth", "repetition", "trial"]

CAUSES = ("nr", "bytes", "timeout")
"""Why a batch of SBQ was released."""

WHERE = {"depth": 64, "read_percent": 100, "request_kib": 4}
"""The point at which the document varies everything else."""


def rows(trial, result):
    """Yield the study's own columns, one row for each point of a trial."""
    labels = trial["labels"]
    for workload in result["workloads"].values():
        for point in workload.get("points", ()):
            yield {
                "arm": trial["machine"],
                "target": labels["target"],
                "driver": labels["driver"],
                "time_scale": float(labels["time_scale"]),
                "batch_nr": _number(labels.get("batch_nr")),
                "batch_timeout_us": _number(labels.get("batch_timeout_us")),
                "depth": point["point"]["iodepth"],
                "read_percent": point["point"]["rwmixread"],
                "request_kib": int(point["point"]["bs"].removesuffix("k")),
                **_speed([point[way] for way in ("read", "write") if way in point]),
                **(cost := _cost(point["counters"])),
                **_apart(point.get("sides"), cost["busy_ns_per_request"]),
            }


def _number(text):
    return None if text is None else int(text)


def _speed(ways):
    """Join reads and writes: rates add up, means are weighted, of percentiles the worse counts."""
    requests = sum(way["requests"] for way in ways)
    mean_ns = sum(way["requests"] * way["latency_mean_ns"] for way in ways) / requests
    return {
        "requests": requests,
        "throughput_iops": sum(way["iops"] for way in ways),
        "latency_mean_us": mean_ns / 1000,
        "latency_p99_us": max(way["latency_p99_ns"] for way in ways) / 1000,
    }


def _cost(counters):
    """Return what a request cost, and how SBQ released its batches."""
    requests = counters["requests"]
    found = {
        "busy_ratio": counters["busy_ns"] / counters["duration_ns"],
        "busy_ns_per_request": counters["busy_ns"] / requests,
        "switches_per_request": counters["context_switches"] / requests,
    }
    for side in ("host", "target"):
        if f"{side}_sends" in counters:
            found[f"{side}_sends_per_request"] = counters[f"{side}_sends"] / requests
    scheduler = counters.get("scheduler", {})
    batches = sum(scheduler.get(f"released_by_{cause}", 0) for cause in CAUSES)
    if batches:
        found["batch_requests"] = scheduler["held"] / batches
        for cause in CAUSES:
            found[f"released_by_{cause}_ratio"] = scheduler[f"released_by_{cause}"] / batches
    return found


def _apart(sides, busy_ns_per_request):
    """Return the processor's time for a request by side and part, without what tracing it cost.

    Each recorded event costs the same, and all of them what a request takes longer while it is
    traced, `busy_ns_per_request` being what it takes otherwise. On a machine where that differs
    from one moment to the next, an event costs no less than nothing, and no more than all of the
    time in which it was recorded.
    """
    if not sides or not sides["requests"]:
        return {}
    requests, time_ns, events = sides["requests"], sides["time_ns"], sides["events"]
    busy = [owner for owner in time_ns if owner != "idle"]
    traced_ns = sum(time_ns[owner] for owner in busy) / requests
    so_many = sum(events[owner] for owner in busy) / requests
    most_ns = min(time_ns[owner] / events[owner] for owner in busy if events[owner])
    event_ns = min(max(0, (traced_ns - busy_ns_per_request) / so_many), most_ns)
    found = {}
    for side, parts in SIDES.items():
        for part in parts:
            owner = f"{side} {part}"
            spent_ns = time_ns.get(owner, 0) - event_ns * events.get(owner, 0)
            found[of_side(side, part)] = spent_ns / requests
        found[of_side(side)] = sum(found[of_side(side, part)] for part in parts)
    return found
