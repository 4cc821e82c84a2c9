"""The isolation paper's printed numbers, each against its own sentence and against the others."""

import pandas as pd
import pytest

from elevatorlab.analysis.queueing import queue_length, think_time_ms
from elevatorlab.judging.families import read_published

STUDY = "container_isolation"
NUMBERS = pd.concat(
    [read_published(STUDY, name) for name in ("endpoints", "waits", "regulation")],
    ignore_index=True,
)
CURVES = read_published(STUDY, "curves")


def endpoint(quantity, containers):
    table = read_published(STUDY, "endpoints").set_index(["quantity", "containers"])
    return table.loc[(quantity, containers), "value"]


@pytest.mark.parametrize("place", NUMBERS.index)
def test_every_number_stands_in_its_sentence(place):
    """Nothing is read off a figure, and nothing is invented."""
    row = NUMBERS.loc[place]
    assert f"{row['value']:g}" in row["quote"]


def test_every_row_names_its_source():
    """Section and figure; bounds and round numbers stay bounds."""
    assert NUMBERS["table"].str.match(r"Section \d\.\d").all()
    assert CURVES["table"].str.match(r"Section \d\.\d\.\d, Figure \d").all()
    bounds = NUMBERS[NUMBERS["relation"].isin(["at least", "at most", "less than", "more than"])]
    assert bounds["value"].tolist() == [30, 70, 80, 0.7, 0.8, 20, 5]
    assert bounds["half_step"].isna().all()
    assert NUMBERS.drop(bounds.index)["half_step"].gt(0).all()


def test_the_published_curves_have_models():
    """Each named curve is one that can be fitted."""
    assert set(CURVES["curve"]) == {"power", "exponential", "logarithmic", "linear"}


def test_the_first_point_is_consistent_with_depth_one():
    """328 IOPS at 0.82 ms are 26.9 %, printed as 26.98 % and as a queue of 0.268."""
    load = queue_length(endpoint("iops", 1), 0.82)
    assert load == pytest.approx(endpoint("utilization_percent", 1) / 100, rel=0.005)
    assert load == pytest.approx(endpoint("queue_length", 1), rel=0.005)
    assert think_time_ms(328, 0.82) == pytest.approx(2.23, abs=0.005)


def test_the_request_size_does_not_depend_on_the_number_of_containers():
    """About 5 KB, so that Figures 1 and 2 are one curve and cannot have two shapes."""
    first = endpoint("write_kb_s", 1) / endpoint("iops", 1)
    last_low, last_high = 138.5 / 27.5, 139.5 / 26.5
    assert last_low <= first <= last_high


def test_the_subtraction_agrees_with_one_of_the_two_printed_waits():
    """10.94 - 0.82 is 10.1; 10.4 - 0.82 is not."""
    assert round(10.94 - 0.82, 1) == 10.1
    assert round(10.4 - 0.82, 1) == 9.6
