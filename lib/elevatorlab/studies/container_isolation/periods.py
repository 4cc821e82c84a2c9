"""What a trial's containers met second by second, and how long their SLA was missed.

Waits are those that the containers saw themselves, around the system call. They are a little longer
than the device's, by which the regulator decides; so the judgement is the stricter one.
"""

from collections.abc import Iterator

import numpy as np

from . import rows
from .making import NORMAL

PERIOD_S = 1
"""A control period, and the width of a bin of the containers' own series."""

CALM_PERIODS = 2
"""So many periods without a violation end one."""

KEPT = "arm part disk mechanism load containers overloaded subject role sla_wait_ms onset_s".split()
"""Columns that a row of a second shares with that of its container."""


def rows_of(trial: dict, result: dict) -> Iterator[dict]:
    """Yield one row for each container, and one for each container and second.

    The trial's own figures (violation, recovery, Jain's index) stand in each container's row.
    """
    sla_ms, onset_s = (float(trial["labels"][name]) for name in ("sla_ms", "onset"))
    given = {"sla_wait_ms": sla_ms, "onset_s": onset_s}
    found = [{**row, **given} for row in rows.containers(trial, result)]
    violated = violations(waits_ms(result), sla_ms)[round(onset_s / PERIOD_S) :]
    of_trial = {
        "violation_s": float(violated.sum() * PERIOD_S),
        "recovery_s": float(recovery_periods(violated) * PERIOD_S),
        "jain_ratio": jain([row["iops"] for row in found if row["role"] == NORMAL]),
    }
    for row in found:
        yield {**row, **of_trial}
        yield from _seconds(row, result)


def _seconds(row: dict, result: dict) -> Iterator[dict]:
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
            "limit_kib_s": in_force[-1] if in_force else None,
        }


def limits_of(decisions: list[dict], subject: str) -> list[tuple[float, float | None]]:
    """Return (when, limit in KiB/s or None) of each decision about a container."""
    return [
        (one["time_s"], one["limit_bytes_s"] and one["limit_bytes_s"] / 1024)
        for one in decisions
        if one["event"] == "decision" and one["container"] == subject
    ]


def waits_ms(result: dict) -> np.ndarray:
    """Return the mean wait of each normal container in each period; one row a container.

    A period in which none of a container's writes ended has no mean; it counts as a wait of
    the whole period.
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


def violations(waits_ms: np.ndarray, sla_ms: float) -> np.ndarray:
    """Tell for each period whether any container waited longer than its SLA.

    >>> violations(np.array([[4.0, 6.0], [4.0, 4.0]]), 5.0).tolist()
    [False, True]
    """
    return (waits_ms > sla_ms).any(axis=0)


def recovery_periods(violated: np.ndarray) -> int:
    """Return how many periods pass until the first violation has ended, for two periods at least.

    Parameters
    ----------
    violated : array of bool
        For each period since the offenders, or the regulator, began.

    Returns
    -------
    int
        0 where nothing was violated; all of them where it did not end.

    Examples
    --------
    >>> recovery_periods(np.array([True, True, False, False, True]))
    2
    >>> recovery_periods(np.array([False, True, False, True]))
    4
    """
    if not violated.any():
        return 0
    for period in range(int(np.argmax(violated)), len(violated) - CALM_PERIODS + 1):
        if not violated[period : period + CALM_PERIODS].any():
            return period
    return len(violated)


def jain(shares: list[float]) -> float:
    """Return Jain's index of fairness (Jain, Chiu and Hawe, 1984): 1 is equal, 1/n is one alone.

    Examples
    --------
    >>> jain([1, 1, 0, 0])
    0.5
    """
    total = sum(shares)
    return total**2 / (len(shares) * sum(share**2 for share in shares)) if total else float("nan")
