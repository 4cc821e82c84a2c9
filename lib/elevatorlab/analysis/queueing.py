"""Laws of a queue with one server: open (M/M/1, M/D/1, M/G/1) and closed (think time).

*Wait* is what the isolation paper and the kernel's `await` mean by it: the time from
submission to completion, queueing and service together; textbooks call it response time.
Utilisation is busy time over elapsed time, without a unit. Laws of the wait need it from 0 to
below 1, and raise ValueError otherwise: at 1, a queue has no mean wait, and a percentage is no
ratio. Times are in milliseconds, rates in requests per second (IOPS).

In an *open* system, requests arrive whether or not earlier requests are done. In a *closed* system,
each of n writers has at most one request outstanding: it waits, thinks, and asks again.

References
----------
Denning and Buzen, "The operational analysis of queueing network models", Computing Surveys
10(3), 1978. Lazowska, Zahorjan, Graham and Sevcik, "Quantitative System Performance", 1984
(chapters 3, 5 and 6). Reiser and Lavenberg, "Mean-value analysis of closed multichain
queuing networks", Journal of the ACM 27(2), 1980.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

MS_PER_S = 1000.0

#: A number, an array of numbers, or a column: a law returns the kind that it was given.
Numbers = Any


def utilization(iops: Numbers, service_ms: Numbers) -> Numbers:
    """Return the utilisation U = X S (the utilisation law).

    Parameters
    ----------
    iops, service_ms : float or array
        Throughput, and mean service time of one request.

    Examples
    --------
    >>> utilization(250, 2.0)
    0.5
    """
    return iops * service_ms / MS_PER_S


def queue_length(iops: Numbers, wait_ms: Numbers) -> Numbers:
    """Return L = X W, the mean number of requests waiting or in service (Little's law).

    Parameters
    ----------
    iops, wait_ms : float or array
        Throughput, and mean wait of one request.

    Examples
    --------
    >>> round(queue_length(328, 0.82), 3)
    0.269
    """
    return iops * wait_ms / MS_PER_S


def think_time_ms(iops: Numbers, wait_ms: Numbers) -> Numbers:
    """Return the think time of one writer, Z = 1/X - W (the interactive response time law).

    `iops`, `wait_ms`: Throughput and mean wait of a single writer with one request outstanding.

    Examples
    --------
    >>> round(think_time_ms(328, 0.82), 2)
    2.23
    """
    return MS_PER_S / iops - wait_ms


def mm1_wait_ms(utilization_ratio: Numbers, service_ms: float) -> Numbers:
    """Return the mean wait of an open queue with exponential service: W = S / (1 - U).

    Section 2.2.2 of "I/O Performance Isolation Analysis and Optimization on Linux
    Containers" uses this law.

    Parameters
    ----------
    utilization_ratio : float or array
        Utilisation of the server by all its requests.
    service_ms : float
        Mean service time.
    """
    return service_ms / (1 - _stable(utilization_ratio))


def md1_wait_ms(utilization_ratio: Numbers, service_ms: float) -> Numbers:
    """Return the mean wait of an open queue with constant service: W = S (1 + U / (2 (1 - U))).

    Parameters
    ----------
    utilization_ratio : float or array
    service_ms : float
        The service time.
    """
    return mg1_wait_ms(utilization_ratio, service_ms, 0.0)


def mg1_wait_ms(utilization_ratio: Numbers, service_ms: float, service_cv2: float) -> Numbers:
    """Return the mean wait of an open queue with any service time (Pollaczek and Khinchine).

    W = S (1 + U (1 + C2) / (2 (1 - U))), for Poisson arrivals served first come, first served.

    Parameters
    ----------
    utilization_ratio : float or array
    service_ms : float
        Mean service time.
    service_cv2 : float
        C2, the variance of the service time over its squared mean: 1 for exponential
        service (M/M/1), 0 for constant service (M/D/1).

    Examples
    --------
    >>> float(mg1_wait_ms(0.5, 1.0, 1.0)), float(mm1_wait_ms(0.5, 1.0))
    (2.0, 2.0)
    """
    ratio = _stable(utilization_ratio)
    return service_ms * (1 + ratio * (1 + service_cv2) / (2 * (1 - ratio)))


def interactive_wait_ms(utilization_ratio: Numbers, think_ms: float) -> Numbers:
    """Return the mean wait of a closed writer from its own utilisation: W = Z U / (1 - U).

    With one request outstanding, X = 1 / (Z + W) and U = X W. So this law is an identity: it holds
    for every server and says nothing about queueing. U is the share of time during which *this
    writer* has a request outstanding, as a device of its own shows it. U is not the utilisation of
    the shared disk.

    Parameters
    ----------
    utilization_ratio : float or array
        Share of time with a request of this writer outstanding.
    think_ms : float
        Mean time between a completion and the writer's next request.

    Examples
    --------
    >>> [round(float(interactive_wait_ms(u, 2.23)), 1) for u in (0.71, 0.92)]
    [5.5, 25.6]
    """
    return think_ms * _stable(utilization_ratio) / (1 - utilization_ratio)


def _stable(utilization_ratio: Numbers) -> Numbers:
    """Return utilisations of which each is below 1; those that were not measured are NaN."""
    ratios = np.asarray(utilization_ratio, dtype=float)
    beyond = ratios[(ratios < 0) | (ratios >= 1)]
    if beyond.size:
        raise ValueError(
            f"expected utilisations from 0 to below 1, found {beyond[0]:g}: divide percentages by "
            "100, and leave out what is saturated, since it has no mean wait"
        )
    return utilization_ratio


def mean_value_analysis(service_ms: float, think_ms: float, writers: int) -> pd.DataFrame:
    """Solve the closed queue with one server exactly, for 1 to `writers` equal writers.

    W(n) = S (1 + Q(n - 1)), X(n) = n / (Z + W(n)), Q(n) = X(n) W(n), with Q(0) = 0. A request that
    arrives finds the queue that the system would have without its writer (the arrival theorem).

    The solution is exact for a *product-form* queue: exponential service times served first come,
    first served, or any service times under processor sharing. Service times must be the same at
    every load. Think times may have any distribution.

    The solution is **not** exact for constant service times served in order. There, an arrival
    finds a shorter residual service. So W(n) from here is too long in the middle of the range; at
    n = 1 and for many writers both agree. Nor does the solution cover a limit that lets bursts
    pass, or service that slows down under load. `asymptotic_bounds` makes no assumption about
    distributions.

    Parameters
    ----------
    service_ms : float
        S, mean service time, positive.
    think_ms : float
        Z, mean think time, not negative.
    writers : int
        Largest number of writers, at least 1.

    Returns
    -------
    pandas.DataFrame
        Index n; wait_ms, iops (of one writer), total_iops, utilization_ratio (of one
        writer's own device: the share of time with its request outstanding),
        disk_utilization_ratio (of the shared server) and disk_queue_length.

    Raises
    ------
    ValueError
        For times or a number of writers out of range.

    References
    ----------
    Reiser and Lavenberg 1980, section 2 (single server, fixed rate).
    """
    _check_closed(service_ms, think_ms, writers)
    rows, queue = [], 0.0
    for n in range(1, writers + 1):
        wait_ms = service_ms * (1 + queue)
        total_iops = n * MS_PER_S / (think_ms + wait_ms)
        queue = queue_length(total_iops, wait_ms)
        rows.append((n, wait_ms, total_iops / n, total_iops, queue))
    columns = ["writers", "wait_ms", "iops", "total_iops", "disk_queue_length"]
    table = pd.DataFrame(rows, columns=columns).set_index("writers")
    return table.assign(
        utilization_ratio=queue_length(table["iops"], table["wait_ms"]),
        disk_utilization_ratio=utilization(table["total_iops"], service_ms),
    )


def saturation_writers(service_ms: float, think_ms: float) -> float:
    """Return N* = (Z + S) / S, where the asymptotes of throughput cross.

    Below N*, writers hardly meet; above N*, each further writer only lengthens the queue.

    Examples
    --------
    >>> saturation_writers(1.0, 3.0)
    4.0
    """
    _check_closed(service_ms, think_ms, 1)
    return (think_ms + service_ms) / service_ms


def asymptotic_bounds(service_ms: float, think_ms: float, writers: int) -> pd.DataFrame:
    """Bound the closed queue with one server, whatever its distributions are.

    n / (Z + n S) <= X(n) <= min(1 / S, n / (Z + S)), and for the wait
    max(S, n S - Z) <= W(n) <= n S. At best, no request ever queues; at worst, each request finds
    all others before it. S must not depend on the load. If a measurement lies outside the bounds,
    the system is not one server with this service time and this think time.

    Parameters
    ----------
    service_ms, think_ms, writers
        As in `mean_value_analysis`.

    Returns
    -------
    pandas.DataFrame
        Index n; total_iops_low, total_iops_high, wait_ms_low, wait_ms_high.

    References
    ----------
    Lazowska et al. 1984, section 5.2 (asymptotic bounds).
    """
    _check_closed(service_ms, think_ms, writers)
    n = np.arange(1, writers + 1)
    return pd.DataFrame(
        {
            "total_iops_low": n * MS_PER_S / (think_ms + n * service_ms),
            "total_iops_high": MS_PER_S * np.minimum(1 / service_ms, n / (think_ms + service_ms)),
            "wait_ms_low": np.maximum(service_ms, n * service_ms - think_ms),
            "wait_ms_high": n * service_ms,
        },
        index=pd.Index(n, name="writers"),
    )


def _check_closed(service_ms: float, think_ms: float, writers: int) -> None:
    if not (0 < service_ms < np.inf and 0 <= think_ms < np.inf):
        raise ValueError(
            f"expected a positive service time and a think time of 0 ms or more, found "
            f"{service_ms} and {think_ms} ms: measure both at n = 1"
        )
    if writers != int(writers) or writers < 1:
        raise ValueError(f"expected a whole number of writers from 1 up, found {writers}")
