"""The memory of a trial's regulator, and the control periods that it has missed, over time."""

import contextlib
import json
import pathlib
import time

from agent.workloads.base import Workload


class RegulatorLife(Workload):
    """Look at the regulator every `every_s`, so many times."""

    def run(self):
        begin_s = time.monotonic()
        self.rows = []
        for number in range(1, self.specification["times"] + 1):
            time.sleep(max(0, begin_s + number * self.specification["every_s"] - time.monotonic()))
            row = {"time_s": time.monotonic() - begin_s, "memory_kib": memory_kib(regulator())}
            self.rows.append({**row, "missed_periods": self.missed()})

    def missed(self):
        """Return how many control periods the log says were missed until now."""
        lines = map(json.loads, (self.raw / "regulator.jsonl").read_text().splitlines())
        return sum(line["control_periods"] for line in lines if line["event"] == "missed")

    def measurements(self):
        return {"rows": self.rows}


def regulator():
    """Return the folder of the regulator's process; None where it does not run."""
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # ended meanwhile
            if b"trial-regulator" in file.read_bytes().split(b"\0"):
                return file.parent
    return None


def memory_kib(process):
    """Return the resident memory of a process."""
    lines = (process / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
