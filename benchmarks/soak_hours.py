"""What hours of guest time do to the regulator: its memory and what it misses, drawn over time.

    .venv/bin/python benchmarks/soak_hours.py [--hours 8] [--out build/soak_hours]

One trial on the deterministic machine, so it needs neither root nor Docker, and gives the same bits
each time. Every ten minutes, the disk of study 3 is at work for twenty seconds: three normal
containers write, and another one overloads the disk for ten seconds in between. The rest is idle,
which the machine skips. The regulator goes on all the while, as one process: SLAE, 5 ms, a control
period of one second. `soak.py` has what cannot be had here: kills, and containers that come and go.

Writes OUT.csv, with a row for each ten minutes, and draws it as OUT.svg. The memory at the end may
be that after the first hour, or half the time if that is less, times MEMORY_BAR. Otherwise the
status is 1.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import ClassVar, Literal

import matplotlib.pyplot as plt
import pandas as pd
from options import positive
from soak import MEMORY_BAR

from elevatorlab.plugins.trial_parts import WORKLOADS
from elevatorlab.studies.container_isolation.trials_containers import (
    NORMAL,
    OVERLOADED,
    THINK_US,
    disk,
    load,
    names,
)
from elevatorlab.testbeds.deterministic import DeterministicTestbed
from elevatorlab.trial import Count, Phase, Trial, WorkloadModel, checked

CYCLE_S = 600
WORK_S, OVERLOAD_FROM_S, OVERLOAD_S = 20, 5, 10
NORMALS, WRITERS = 3, 3
SLA_MS = 5
#: What is drawn, by its column.
DRAWN = {
    "memory_kib": "memory (KiB)",
    "missed_periods": "control periods missed",
    "missed_s": "seconds above the SLA",
}


class RegulatorLife(WorkloadModel):
    """Looks at the regulator's process from time to time."""

    agent: ClassVar[str] = "beside_disk.regulator_life:RegulatorLife"
    needs_filesystem: ClassVar[bool] = False

    kind: Literal["regulator_life"] = "regulator_life"
    every_s: Count
    times: Count

    @property
    def duration_s(self):
        return self.every_s * self.times


def trial(cycles):
    """Return the trial of so many cycles."""
    rest = Phase(duration_s=CYCLE_S - WORK_S, writers=0)
    before, after = OVERLOAD_FROM_S, CYCLE_S - OVERLOAD_FROM_S - OVERLOAD_S
    normal = (Phase(duration_s=WORK_S, think_us=THINK_US), rest)
    overload = (
        Phase(duration_s=before, writers=0),
        Phase(duration_s=OVERLOAD_S, writers=WRITERS),
        Phase(duration_s=after, writers=0),
    )
    normals = names(NORMAL, NORMALS)
    workloads = [load(name, normal * cycles, request_bytes=5120) for name in normals]
    workloads += [load(name, overload * cycles) for name in names(OVERLOADED, 1)]
    groups = [{"name": one.group} for one in workloads]
    seen = RegulatorLife(name="life", group=normals[0], every_s=CYCLE_S, times=cycles)
    hours = {"deadline_s": 2 * CYCLE_S * cycles, "sample_interval_ms": 1000 * CYCLE_S}
    content = {
        **{"study": "benchmark", "preset": "smoke", "memory_mib": 1024, "filesystem": None},
        **{"device": disk("write_behind", 1), "scheduler": {"name": "none"}, "divided": True},
        **{"groups": groups, "workloads": [*workloads, seen], "settle_s": 0, "seed": 1, **hours},
        "regulator": {"policy": "slae", "sla_wait_ms": SLA_MS},
    }
    return checked(Trial, content, "trial")


def rows(result):
    """Return a row for each cycle; what is missed is counted from the beginning."""
    found = pd.DataFrame(result["workloads"]["life"]["rows"])
    waits = pd.DataFrame(
        second
        for name, one in result["workloads"].items()
        if name.startswith(f"writes-{NORMAL}")
        for second in one["series"]
    ).dropna()
    missed = waits[waits["latency_mean_us"] > 1000 * SLA_MS]["time_s"].drop_duplicates()
    found["missed_s"] = [int((missed <= until_s).sum()) for until_s in found["time_s"]]
    return found


def drawing(found):
    """Return the figure."""
    figure, axes = plt.subplots(len(DRAWN), sharex=True, layout="constrained", figsize=(7, 6))
    for axis, (column, label) in zip(axes, DRAWN.items(), strict=True):
        axis.plot(found["time_s"] / 3600, found[column], drawstyle="steps-post", marker=".")
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("guest time (hours)")
    return figure


def main():
    """Run the trial, store its rows, draw them, and judge the memory."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hours", type=positive, default=8)
    parser.add_argument("--out", type=Path, default=Path("build/soak_hours"))
    options = parser.parse_args()
    WORKLOADS.register("regulator_life", RegulatorLife)
    cycles = max(2, round(3600 * options.hours / CYCLE_S))
    one = trial(cycles)
    testbed = DeterministicTestbed(say=lambda _: None)
    testbed.prepare([one])
    begin_s = time.monotonic()
    found = rows(json.loads(testbed.run(one).files["result.json"]))
    took_min = (time.monotonic() - begin_s) / 60
    options.out.parent.mkdir(parents=True, exist_ok=True)
    found.round(3).to_csv(options.out.with_suffix(".csv"), index=False)
    drawing(found).savefig(options.out.with_suffix(".svg"))
    early = found["memory_kib"][min(cycles // 2, 3600 // CYCLE_S) - 1]
    last = found.iloc[-1]
    ratio = last["memory_kib"] / early
    print(
        f"{last['time_s'] / 3600:.1f} hours of guest time in {took_min:.1f} minutes: memory "
        f"{early / 1024:.2f} MiB, at the end {last['memory_kib'] / 1024:.2f} MiB, ratio "
        f"{ratio:.3f} (bar {MEMORY_BAR}); control periods missed: {last['missed_periods']:.0f}; "
        f"seconds above the SLA: {last['missed_s']:.0f}"
    )
    return 0 if ratio <= MEMORY_BAR else 1


if __name__ == "__main__":
    sys.exit(main())
