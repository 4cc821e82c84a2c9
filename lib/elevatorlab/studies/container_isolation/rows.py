"""From a trial's result to rows of the tidy table."""

from collections.abc import Iterator


def containers(trial: dict, result: dict) -> Iterator[dict]:
    """Yield one row for each container of a trial.

    Parameters
    ----------
    trial, result : dict
        As they are stored.
    """
    labels = trial["labels"]
    disk = result["device"]
    of_trial = {
        "arm": "container",
        "part": labels["part"],
        "disk": labels["disk"],
        "mechanism": labels.get("mechanism"),
        "load": labels.get("load"),
        "containers": int(labels["containers"]),
        "overloaded": int(labels["overloaded"]),
        "offered_ratio": float(labels["offered"]) if "offered" in labels else None,
        "disk_iops": disk["write_iops"],
        "disk_kib_s": disk["write_kib_s"],
        "disk_wait_ms": disk["write_await_ms"],
        "disk_queue_length": disk["queue_length"],
        "disk_utilization_ratio": disk["utilization_ratio"],
        "disk_busy_ratio": result["server"]["busy_ratio"],
        "service_ms": result["server"]["service_ms"],
        "cpu_busy_ratio": result["cpu_busy_ratio"],
    }
    for workload in trial["workloads"]:
        subject = workload["group"]
        part = result["parts"][subject]
        seen = result["workloads"][workload["name"]]
        yield {
            **of_trial,
            "subject": subject,
            "role": subject.split("-")[0],
            "duration_s": part["duration_s"],
            "requests": seen["requests"],
            "iops": part["write_iops"],
            "write_kib_s": part["write_kib_s"],
            "wait_ms": part["write_await_ms"],
            "queue_length": part["queue_length"],
            "utilization_ratio": part["utilization_ratio"],
            "latency_mean_ms": seen["latency_mean_us"] / 1e3,
            "latency_p99_ms": seen["latency_percentile_us"]["99"] / 1e3,
        }
