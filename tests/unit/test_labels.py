"""Names beside the ends of lines: as high as the lines end, and apart."""

import itertools

import pytest
from matplotlib.figure import Figure

from elevatorlab.showing.labels import GAP, End, label_ends


def heights(values, scale="linear"):
    axis = Figure().subplots()
    axis.set(yscale=scale, ylim=(1, 100))
    label_ends(axis, [End(name, "black", value) for name, value in values.items()])
    return {text.get_text(): text.xyann[1] for text in axis.texts}


def test_a_name_is_as_high_as_its_line_ends():
    assert heights({"low": 1, "middle": 50.5}) == pytest.approx({"low": 0, "middle": 0.5})
    assert heights({"middle": 10}, "log") == pytest.approx({"middle": 0.5})


def test_names_that_would_touch_are_moved_apart_by_as_little_as_can_be():
    found = heights({"a": 50.5, "b": 50.5, "far": 90.1})
    assert found["b"] - found["a"] == pytest.approx(GAP)
    assert (found["a"] + found["b"]) / 2 == pytest.approx(0.5)
    assert found["far"] == pytest.approx(0.9)


def test_all_of_a_crowd_are_apart_and_in_order():
    values = {f"line {number}": 50 + number / 10 for number in range(7)}
    found = heights(values)
    assert list(found) == list(values)
    gaps = [above - below for below, above in itertools.pairwise(found.values())]
    assert gaps == pytest.approx([GAP] * 6)
