"""The ends of axes."""

import pytest
from matplotlib.figure import Figure

from elevatorlab.showing.panels import end_at_marks


@pytest.mark.parametrize("values", [(-118, 117), (-118, 90), (-90, 118), (20, 80), (0, 5.15)])
@pytest.mark.parametrize("height", [1, 4.8])
def test_the_marks_of_an_axis_reach_its_data(values, height):
    figure = Figure(figsize=(4, height))
    axis = figure.subplots()
    axis.plot(values)
    end_at_marks(axis)
    figure.draw_without_rendering()
    low, high = axis.get_ylim()
    marks = [mark for mark in axis.get_yticks() if low <= mark <= high]
    assert marks[0] <= min(values) and max(values) <= marks[-1]


def test_an_interval_that_reaches_below_zero_needs_no_mark_there():
    axis = Figure().subplots()
    axis.plot([-3, 90])
    before = axis.get_ylim()
    end_at_marks(axis)
    assert axis.get_ylim()[0] == before[0]
