"""Block traces as the workload of trials in the deterministic machine."""

import io
import math
import re
import shlex

import pandas as pd
import pytest

from elevatorlab.drives import trace_trials
from elevatorlab.paths import PROJECT
from helpers import cli

pytestmark = pytest.mark.image


def test_the_page_s_command_replays_the_page_s_trace(tmp_path):
    """The trace says 1,332.0526 ms between its two requests."""
    page = (PROJECT / "docs" / "drives.md").read_text()
    (lines,) = re.findall(r"\$ cat usr_0.csv\n((?: {4}\d.*\n)+)", page)
    (tmp_path / "usr_0.csv").write_text(re.sub("^    ", "", lines, flags=re.M))
    command = re.findall(r"^ {4}elevatorlab (replay usr_0.csv .*)$", page, re.M)[0]
    ran = cli(*shlex.split(command), "--results", tmp_path / "results", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "addresses   multiplied by 0.0382679" in ran.stderr
    found = pd.read_csv(io.StringIO(ran.stdout))
    assert found[["scheduler", "direction", "requests", "moved_bytes"]].values.tolist() == [
        *(["none", "read", 1, 24576], ["none", "write", 1, 8192]),
        *(["bfq", "read", 1, 24576], ["bfq", "write", 1, 8192]),
    ]
    assert found["duration_s"].between(1.3320, 1.3330).all()
    assert found["late_max_us"].between(0, 1000).all() and (found["latency_mean_us"] > 50).all()


def test_as_fast_as_the_disk_answers(testbed, tmp_path):
    """With one request under way, the latencies fill the time; with eight, they overlap."""
    file = tmp_path / "trace"
    file.write_text("".join(f"7,R,{at << 20},4096,{at * 10**6}\n" for at in range(200)))
    took = {}
    for in_flight in (1, 8):
        replay = trace_trials.prepare(
            file, testbed, fast=True, in_flight=in_flight, results=tmp_path / "results"
        )
        (row,) = replay.measure().to_dict("records")
        assert row["requests"] == 200 and math.isnan(row["late_mean_us"])
        took[in_flight] = row["duration_s"]
        busy_s = 200 * row["latency_mean_us"] / 1e6
        assert busy_s < row["duration_s"] if in_flight == 1 else busy_s > 2 * row["duration_s"]
    assert took[8] < took[1] / 2
