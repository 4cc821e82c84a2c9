"""Lecture 5: the price and the gain of waiting for company (study 5's scheduler and rig)."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from ..plugins import studies
from ..running import expansion
from ..showing.style import COLOURS, GREY, style
from ..trial import Trial
from .experiments import FinishedTrial

DEPTHS = (1, 4, 16, 64)

STUDY = studies.get("stream_batching")
BATCH_NR, BATCH_TIMEOUT_US = STUDY.BATCH_NR, STUDY.BATCH_TIMEOUT_US

#: How many times slower the simulated processor is than the document's.
SCALE = STUDY.Parameters.model_fields["time_scale"].default


def trials(
    scale: float = SCALE, depths: Sequence[int] = DEPTHS, local: bool = False
) -> dict[str, Trial]:
    """Return study 5's trials of the scheduler none and of SBQ, over NVMe/TCP to a disk in memory.

    `scale`: Factor on SBQ's timeout. `SCALE` keeps the timeout in proportion to the cost of a
    request. `local`: Whether to use the disk without the network, at depths 1 and 64.
    """
    chosen = {
        "experiments": ("local",) if local else ("depth",),
        "targets": ("ram",),
        "drivers": ("one_send",),
        "schedulers": ("none", "sbq"),
        "depths": depths,
        "time_scale": scale,
    }
    expanded = STUDY.trials(expansion.parameters(STUDY, "smoke", chosen))
    return {trial.scheduler.name: trial for trial in expanded}


def point_table(ran: Mapping[str, FinishedTrial]) -> pd.DataFrame:
    """Return throughput, latency, costs and batches of each scheduler at each depth."""
    rows = [
        {"scheduler": name, **row}
        for name, one in ran.items()
        for row in STUDY.rows(one.trial.model_dump(), one.result)
    ]
    table = pd.DataFrame(rows).set_index(["scheduler", "depth"])
    kept = {
        "throughput_iops": "requests/s",
        "latency_mean_us": "latency (us)",
        "busy_ratio": "processor busy",
        "switches_per_request": "switches per request",
        "host_sends_per_request": "sends per request",
        "batch_requests": "batch",
        "released_by_timeout_ratio": "released by timeout",
    }
    shown = table.reindex(columns=list(kept)).rename(columns=kept)
    return shown.round({"requests/s": 0, "latency (us)": 0}).round(2)


#: Why `point_table` has empty cells.
NO_BATCH = (
    "none makes no batches, so nothing releases them. Without a network, nothing is sent to the "
    "target."
)


def costs(points: pd.DataFrame, batch_nr: int = BATCH_NR) -> tuple[float, float]:
    """Return (a, b): the cost of each burst, and the further cost of each request, in us.

    Both follow from the throughputs at depth 64, where the processor is always busy. Without
    batches, a request costs a + b. In full batches, it costs b + a / batch_nr.
    """
    rates = points["requests/s"]
    alone_us, together_us = (1e6 / float(rates[name, 64]) for name in ("none", "sbq"))
    burst_us = (alone_us - together_us) * batch_nr / (batch_nr - 1)
    return float(burst_us), float(alone_us - burst_us)


def model(
    depths: npt.ArrayLike, burst_us: float, request_us: float, batch_nr: int, timeout_us: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the throughputs (requests/s) that two costs predict: for the scheduler none, and SBQ.

    A batch that fills goes at once, and the processor is the limit. If too few requests are in
    flight to fill a batch, the batch waits for the timeout before its own cost begins.
    """
    depths = np.asarray(depths, dtype=float)
    none = np.full_like(depths, 1e6 / (burst_us + request_us))
    full = 1e6 / (request_us + burst_us / batch_nr)
    waiting = 1e6 * depths / (timeout_us + burst_us + depths * request_us)
    return none, np.where(depths >= batch_nr, full, waiting)


def turning_depth(burst_us: float, batch_nr: int, timeout_us: float) -> float:
    """Return the depth from which batching gains: 1 + timeout / burst, but at most a full batch.

    Examples
    --------
    >>> turning_depth(20.0, 16, 100.0)
    6.0
    >>> turning_depth(20.0, 16, 350.0)
    16
    """
    return min(1 + timeout_us / burst_us, batch_nr)


def draw_points(tables: Mapping[str, tuple[float, pd.DataFrame]]) -> Figure:
    """Draw throughput and latency over depth, as measured and as predicted from the two costs.

    `tables`: By title: SBQ's timeout in us, and the `point_table`. The first table gives the costs.
    """
    with style():
        figure = Figure(figsize=(8, 1 + 2.3 * len(tables)))
        rows = figure.subplots(len(tables), 2, sharex=True, squeeze=False)
        for (left, right), (title, (timeout_us, points)) in zip(rows, tables.items(), strict=True):
            burst_us, request_us = costs(tables[next(iter(tables))][1])
            shown = np.geomspace(1, 64, 200)
            foreseen = model(shown, burst_us, request_us, BATCH_NR, timeout_us)
            for name, rates in zip(("none", "sbq"), foreseen, strict=True):
                some = points.loc[name]
                left.plot(shown, rates, color=COLOURS[name], lw=1)
                left.plot(some.index, some["requests/s"], "o", color=COLOURS[name], label=name)
                right.plot(some.index, some["latency (us)"], "o-", color=COLOURS[name])
            left.set(ylabel="requests/s", ylim=(0, None), xscale="log")
            left.set_title(f"{title}: measured (points), model with two costs (lines)")
            right.set(ylabel="latency (us)", yscale="log")
        rows[0, 0].legend()
        for panel in rows[-1]:
            panel.set_xlabel("requests in flight")
            panel.set_xticks([1, 4, 16, 64], ["1", "4", "16", "64"])
    return figure


def draw_model(
    burst_us: float = 22,
    request_us: float = 27,
    batch_nr: int = BATCH_NR,
    timeout_us: float = BATCH_TIMEOUT_US * SCALE,
) -> Figure:
    """Draw the throughput that two costs predict over depth, and where batching begins to gain."""
    shown = np.geomspace(1, 64, 400)
    none, sbq = model(shown, burst_us, request_us, batch_nr, timeout_us)
    turn = turning_depth(burst_us, batch_nr, timeout_us)
    with style():
        figure = Figure(figsize=(8, 3))
        rate, latency = figure.subplots(1, 2)
        for name, rates in (("none", none), ("sbq", sbq)):
            rate.plot(shown, rates, color=COLOURS[name], label=name)
            latency.plot(shown, 1e6 * shown / rates, color=COLOURS[name])
        for panel in (rate, latency):
            panel.axvline(turn, color=GREY, ls=":")
            panel.set(xscale="log", xlabel="requests in flight")
            panel.set_xticks([1, 4, 16, 64], ["1", "4", "16", "64"])
        rate.set(ylabel="requests/s", ylim=(0, None))
        rate.set_title(f"batching gains from depth {turn:.1f} on")
        rate.legend()
        latency.set(ylabel="latency by Little's law (us)", yscale="log")
    return figure
