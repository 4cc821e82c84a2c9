"""Synthetic measured tables for the tests of study 5."""

import pandas as pd

from elevatorlab import studies
from elevatorlab.studies import stream_batching as study


def measured(gain, noop_iops=20_000.0, repetitions=2, depths=(1, 16, 64), **changes):
    """Return a tidy table in which SBQ / noop is `gain(depth)`."""
    rows = []
    for repetition in range(1, repetitions + 1):
        for target in ("nvme_ssd", "ram"):
            for driver in ("stock", "one_send"):
                for depth in depths:
                    for scheduler in ("none", "sbq"):
                        ratio = gain(depth) if scheduler == "sbq" else 1
                        iops = noop_iops * ratio * (1 + repetition / 1e4)
                        rows.append(
                            {
                                **dict.fromkeys(study.COLUMNS),
                                **{"trial": "t", "study": study.NAME, "arm": "host"},
                                **{"testbed": "deterministic", "machine": "deterministic"},
                                **{"preset": "quick", "accelerator": "TCG", "device": "d"},
                                **{"scheduler": scheduler, "target": target, "driver": driver},
                                **{"time_scale": 7.0, "depth": depth, "repetition": repetition},
                                **{"read_percent": 100, "request_kib": 4, "seed": repetition},
                                "batch_nr": 16 if scheduler == "sbq" else None,
                                "batch_timeout_us": 50 if scheduler == "sbq" else None,
                                "requests": 1000,
                                "throughput_iops": iops,
                                "latency_mean_us": depth / iops * 1e6,
                                "in_flight_ratio": 1.0,
                                "latency_p99_us": depth / iops * 2e6,
                                "busy_ns_per_request": 1e9 / iops,
                                "host_sends_per_request": 1 / ratio,
                                "target_sends_per_request": 1.0,
                                "switches_per_request": 2.0,
                                "batch_requests": 16.0 if scheduler == "sbq" else None,
                                **changes,
                            }
                        )
    numbers = ["batch_nr", "batch_timeout_us", "batch_requests"]
    return pd.DataFrame(rows).astype({name: float for name in numbers})


def as_published(depth):
    return {1: 0.7, 16: 0.8, 64: 1.56}[depth]


def expanded(preset="quick", **overrides):
    return study.trials(studies.parameters(study, preset, {"experiments": ("cores",), **overrides}))


def on_cores(slots=(1000, 200), transfers=(0, 100), repetitions=2, **changes):
    """Return rows of one, two and four cores: so many times the rate of one, SBQ as published.

    The processors of each repetition have other turns: the next of `slots` and of `transfers`.
    """
    machine = {"testbed": "multicore", "machine": "emulated", "time_scale": 4.0}
    rates = {1: 35_000, 2: 58_000, 4: 99_000}
    rows = [
        measured(as_published, rate, repetitions).assign(cores=cores)
        for cores, rate in rates.items()
    ]
    table = pd.concat(rows).query("driver == 'stock'").assign(**{**machine, **changes})
    turns = {"slot_instructions": slots, "transfer_instructions": transfers}
    each = {name: dict(enumerate(values, start=1)) for name, values in turns.items()}
    return table.assign(**{name: table["repetition"].map(one) for name, one in each.items()})


def verdicts(table, machine="emulated"):
    """Return the claims about the runs on a machine by the end of their names."""
    judged = study.judge(table)
    return {one.id.partition("/")[2]: one for one in judged if one.machine == machine}
