"""Lecture 1 on a disk with an arm: its trials, its table and its picture."""

import io

import pandas as pd
import pytest
from PIL import Image

from elevatorlab.lectures import arm
from elevatorlab.lectures.experiments import FinishedTrial
from elevatorlab.trial.drives import drive

COLUMNS = "time_s operation sector bytes hit overhead_us waited_us seek_us rotation_us media_us"
ROWS = [
    (0.0, "R", 0, 4096, 0, 100, 0, 0, 2000, 400, 0, 0, 0),
    (0.01, "R", 9000, 4096, 0, 100, 50, 5000, 1000, 400, 0, 0, 300),
    (0.02, "R", 20, 4096, 0, 100, 0, 4000, 3000, 400, 0, 300, 0),
]


@pytest.fixture
def ran(tmp_path):
    columns = [*COLUMNS.split(), "bus_us", "from_cylinder", "cylinder"]
    pd.DataFrame(ROWS, columns=columns).to_csv(tmp_path / "arm.csv", index=False)
    trials = arm.who_sorts()
    return {name: FinishedTrial(trial, tmp_path) for name, trial in trials.items()}


def test_the_table_says_where_the_time_went(ran):
    row = arm.work_table(ran).loc["the elevator"]
    assert row["requests/s"] == pytest.approx(100) and row["cylinders"] == 200
    assert row["seek (ms)"] == 3 and row["wait for the platter (ms)"] == 2
    assert row["transfer (ms)"] == pytest.approx(0.4)


def test_the_picture_has_three_lines_a_request_one_behind_the_other(ran):
    figure = arm.draw_arm({"fifo": ran["nobody"]})
    (panel,) = figure.axes
    drawn = [line for line in panel.lines if len(line.get_xdata())]
    ways = [list(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in drawn]
    seek, wait, transfer = ways[1], ways[4], ways[7]
    assert seek == [pytest.approx((10.15, 0)), pytest.approx((15.15, 300))]
    assert wait == [pytest.approx((15.15, 300)), pytest.approx((16.15, 300))]
    assert transfer[-1] == pytest.approx((16.55, 300))


def test_the_film_has_a_frame_for_each_request_and_the_same_bytes_again(ran):
    film = arm.animate(ran["nobody"], "fifo")
    assert Image.open(io.BytesIO(film)).n_frames == len(ROWS)
    assert arm.animate(ran["nobody"], "fifo") == film


def test_only_the_drive_that_sorts_has_a_queue():
    trials = arm.who_sorts()
    depths = {name: trial.device.drive.queue.depth for name, trial in trials.items()}
    assert depths == {"nobody": 1, "the elevator": 1, "the drive": 32, "both": 32}


def test_the_inner_tracks_are_the_drive_s_last_part():
    outer, inner = (trial.workloads[0].options["offset"] for trial in arm.edges().values())
    assert outer == "0m" and drive(arm.FAST_BUS).capacity_mib - int(inner.rstrip("m")) < 100
