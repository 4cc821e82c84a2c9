"""The tidy table of the study: one row per container and trial.

Experiments ``regulation``, ``comparison`` and ``frontier`` also have one row per container and
second, in which ``time_s`` is given. A column that does not apply to an experiment is empty.

In the rows of seconds, the waits are those that the containers saw themselves, around the system
call. The regulator decides by the device's own waits, which are a little shorter. So the claims are
judged more strictly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis.indices import jain
from ...results.tidy_columns import Table, may_lack, number, shared, text, whole
from .trials_containers import NORMAL

TABLE = Table(
    "container and trial, or container and second",
    *shared("trial study testbed machine accelerator preset"),
    text("arm", "what the processes ran in: a container"),
    *shared("device backing_scheduler scheduler"),
    text(
        "experiment",
        "of the study: equal, overload, sweep, open, regulation, comparison or frontier",
    ),
    text("disk", "model of the disk"),
    may_lack(text("mechanism", "what keeps containers apart; empty in experiments without")),
    may_lack(text("setting", "of the mechanism, in experiment frontier; empty in others")),
    may_lack(
        text(
            "load",
            "comparison, frontier: how the overloaded containers come and go; sweep: how many "
            "writers the overloaded one has; empty in other experiments",
        )
    ),
    whole("containers", "", "how many normal containers there are"),
    whole("overloaded", "", "how many overloaded containers there are"),
    may_lack(number("offered_ratio", "1", "open load: arrivals times mean service time")),
    text("subject", "the container"),
    text("role", "of the container: normal or overloaded"),
    may_lack(number("time_s", "s", "end of the second; empty in the row of a whole trial")),
    *shared("repetition seed"),
    number("duration_s", "s", "the time that the row is about"),
    whole("requests", "", "writes that ended, as the container saw it"),
    number("iops", "1/s", "writes per second, by the kernel's counters of its own device"),
    number("write_kib_s", "KiB/s", "what was written"),
    may_lack(number("wait_ms", "ms", "mean time of a write, by the same counters")),
    may_lack(number("queue_length", "1", "mean number of requests in flight")),
    may_lack(number("utilization_ratio", "1", "part of the time with a request in flight")),
    may_lack(number("latency_mean_ms", "ms", "mean time of a write around the system call")),
    may_lack(number("latency_p99_ms", "ms", "99th percentile of the same")),
    may_lack(number("disk_iops", "1/s", "writes per second of the whole disk")),
    may_lack(number("disk_kib_s", "KiB/s", "what was written to the whole disk")),
    may_lack(number("disk_wait_ms", "ms", "mean time of a write of the whole disk")),
    may_lack(number("disk_queue_length", "1", "mean number of requests in flight on it")),
    may_lack(number("disk_utilization_ratio", "1", "part of the time with any in flight on it")),
    may_lack(number("disk_busy_ratio", "1", "part of the time in which its server worked")),
    may_lack(number("service_ms", "ms", "mean time of its server for a request")),
    may_lack(number("cpu_busy_ratio", "1", "the processors' busy time")),
    may_lack(number("limit_kib_s", "KiB/s", "the regulator's limit at the end of the second")),
    may_lack(number("sla_wait_ms", "ms", "the wait that normal containers were promised")),
    may_lack(
        number("onset_s", "s", "when the regulator (regulation) or overload (comparison) began")
    ),
    may_lack(number("violation_s", "s", "time since then in which a normal one waited longer")),
    may_lack(number("recovery_s", "s", "time since then until that had ended")),
    may_lack(number("jain_ratio", "1", "Jain's index of the normal containers' requests")),
    *shared("image_digest"),
)

COLUMNS = TABLE.names

ORDER = (
    "experiment disk mechanism setting load containers overloaded offered_ratio scheduler".split()
)
ORDER += "repetition time_s subject trial".split()

PERIOD_S = 1
"""Length of a control period, and of an interval in the containers' own series."""

CALM_PERIODS = 2
"""A violation has ended when this many control periods have passed without one."""

KEPT = "arm experiment disk mechanism setting load containers overloaded subject role".split()
KEPT += ["sla_wait_ms", "onset_s"]
"""Columns that the rows of seconds copy from the row of their container."""


def rows(trial: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row per container and, if an SLA was promised, one per container and second."""
    promised = "sla_ms" in trial["labels"]
    return _under_an_sla(trial, result) if promised else _containers(trial, result)


def _containers(trial: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row for each container of a trial."""
    labels = trial["labels"]
    disk = result["device"]
    # Only a simulated disk of the paper's kind reports on its server.
    server = result.get("server") or {}
    of_trial = {
        "arm": "container",
        "experiment": labels["experiment"],
        "disk": labels["disk"],
        "mechanism": labels.get("mechanism"),
        "setting": labels.get("setting"),
        "load": labels.get("load"),
        "containers": int(labels["containers"]),
        "overloaded": int(labels["overloaded"]),
        "offered_ratio": float(labels["offered"]) if "offered" in labels else None,
        "disk_iops": disk["write_iops"],
        "disk_kib_s": disk["write_kib_s"],
        "disk_wait_ms": disk["write_await_ms"],
        "disk_queue_length": disk["queue_length"],
        "disk_utilization_ratio": disk["utilization_ratio"],
        "disk_busy_ratio": server.get("busy_ratio"),
        "service_ms": server.get("service_ms"),
        "cpu_busy_ratio": result["cpu_busy_ratio"],
    }
    for workload in trial["workloads"]:
        subject = workload["group"]
        partition = result["partitions"][subject]
        seen = result["workloads"][workload["name"]]
        yield {
            **of_trial,
            "subject": subject,
            "role": subject.split("-")[0],
            "duration_s": partition["duration_s"],
            "requests": seen["requests"],
            "iops": partition["write_iops"],
            "write_kib_s": partition["write_kib_s"],
            "wait_ms": partition["write_await_ms"],
            "queue_length": partition["queue_length"],
            "utilization_ratio": partition["utilization_ratio"],
            "latency_mean_ms": seen["latency_mean_us"] / 1e3,
            "latency_p99_ms": seen["latency_percentile_us"]["99"] / 1e3,
        }


def _under_an_sla(trial: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row for each container, and one for each container and second.

    The figures of the whole trial (violation, recovery, Jain's index) are in each container's row.
    """
    sla_ms, onset_s = (float(trial["labels"][name]) for name in ("sla_ms", "onset"))
    given = {"sla_wait_ms": sla_ms, "onset_s": onset_s}
    found = [{**row, **given} for row in _containers(trial, result)]
    violated = violations(waits_ms(result), sla_ms)[round(onset_s / PERIOD_S) :]
    of_trial = {
        "violation_s": float(violated.sum() * PERIOD_S),
        "recovery_s": float(recovery_control_periods(violated) * PERIOD_S),
        "jain_ratio": jain(row["iops"] for row in found if row["role"] == NORMAL),
    }
    for row in found:
        yield {**row, **of_trial}
        yield from _seconds(row, result)


def _seconds(row: dict[str, Any], result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each second of a container: what it wrote, and the limit in force."""
    seen = result["workloads"][f"writes-{row['subject']}"]
    size_kib = seen["bytes"] / 1024 / seen["requests"]
    limits = limits_of(result["regulator"] or [], row["subject"])
    for one in seen["series"]:
        in_force = [limit for since_s, limit in limits if since_s < one["time_s"]]
        yield {
            **{name: row[name] for name in KEPT},
            "time_s": one["time_s"],
            "duration_s": PERIOD_S,
            "requests": one["requests"],
            "iops": one["requests"] / PERIOD_S,
            "write_kib_s": one["requests"] * size_kib / PERIOD_S,
            "latency_mean_ms": one["latency_mean_us"] and one["latency_mean_us"] / 1e3,
            "latency_p99_ms": (p99_us := one.get("latency_p99_us")) and p99_us / 1e3,
            "limit_kib_s": in_force[-1] if in_force else None,
        }


def limits_of(decisions: list[dict[str, Any]], subject: str) -> list[tuple[float, float | None]]:
    """Return the time in s, and the limit in KiB/s or None, of each decision about a container."""
    return [
        (one["time_s"], one["limit_bytes_s"] and one["limit_bytes_s"] / 1024)
        for one in decisions
        if one["event"] == "decision" and one["container"] == subject
    ]


def waits_ms(result: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the mean wait in ms of each normal container (rows) in each period (columns).

    If no write of a container ended in a period, the wait counts as the whole period.
    """
    return np.array(
        [
            [
                PERIOD_S * 1e3 if one["latency_mean_us"] is None else one["latency_mean_us"] / 1e3
                for one in result["workloads"][name]["series"]
            ]
            for name in sorted(result["workloads"])
            if name.startswith(f"writes-{NORMAL}")
        ]
    )


def violations(waits_ms: NDArray[np.float64], sla_ms: float) -> NDArray[np.bool_]:
    """Tell for each period whether any container waited longer than the SLA.

    >>> violations(np.array([[4.0, 6.0], [4.0, 4.0]]), 5.0).tolist()
    [False, True]
    """
    violated: NDArray[np.bool_] = np.any(waits_ms > sla_ms, axis=0)
    return violated


def recovery_control_periods(violated: NDArray[np.bool_]) -> int:
    """Return the number of control periods until the first violation has ended.

    It has ended when `CALM_PERIODS` periods without a violation follow.

    `violated`: Whether the SLA was violated, for each period since the offenders or the regulator
    began. Returns: 0 without a violation; the number of all periods if the violation did not end.

    >>> recovery_control_periods(np.array([True, True, False, False, True]))
    2
    >>> recovery_control_periods(np.array([False, True, False, True]))
    4
    """
    if not violated.any():
        return 0
    for period in range(int(np.argmax(violated)), len(violated) - CALM_PERIODS + 1):
        if not violated[period : period + CALM_PERIODS].any():
            return period
    return len(violated)
