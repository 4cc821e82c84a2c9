"""A scheduler's colour means the scheduler, in every figure."""

import itertools

import pandas as pd
import pytest

from colour_vision import VISION, delta_e, lab
from elevatorlab.analysis.friedman import Friedman
from elevatorlab.plugins.schedulers import OF_THE_KERNEL, marker_of
from elevatorlab.showing.style import COLOURS
from elevatorlab.studies.container_isolation import figures_interference as curves
from elevatorlab.studies.container_isolation import figures_interference as overload
from elevatorlab.studies.container_isolation import figures_regulation as colours
from elevatorlab.studies.iozone_ranking.figures_drawn import alike

#: Of CIEDE2000; two colours that differ by less could be taken for each other.
LEAST_DELTA_E = 8
#: Of two colours in one panel, with each colour vision.
LEAST_IN_A_PANEL = 12

SCHEDULERS = (*OF_THE_KERNEL, "cfq", "sbq")

OF_BFQ = "bfq"


def near(colours, vision):
    """Pairs of names whose colours someone with this vision could take for each other."""
    seen = {name: lab(colour, vision) for name, colour in colours.items()}
    return {
        (one, other)
        for one, other in itertools.combinations(seen, 2)
        if delta_e(seen[one], seen[other]) < LEAST_IN_A_PANEL
    }


def near_a_scheduler(chosen):
    return {
        (name, scheduler)
        for name, colour in chosen.items()
        for scheduler in SCHEDULERS
        if delta_e(lab(colour), lab(COLOURS[scheduler])) < LEAST_DELTA_E
    }


def test_a_mechanism_has_a_colour_that_no_scheduler_has():
    assert near_a_scheduler(colours.FRONTIER_COLOURS) == {(OF_BFQ, OF_BFQ)}


@pytest.mark.parametrize("vision", VISION)
def test_schedulers_differ_with_any_colour_vision(vision):
    assert near({name: COLOURS[name] for name in SCHEDULERS}, vision) == set()


@pytest.mark.parametrize("vision", VISION)
def test_each_mechanism_of_a_panel_has_its_own_marker_and_colour(vision):
    shown = [name for name in colours.FRONTIER_COLOURS if "-" not in name and name != "alone"]
    markers = [colours.marker_of(name) for name in shown]
    assert len(set(markers)) == len(shown) and marker_of("bfq") in markers
    assert near({name: colours.FRONTIER_COLOURS[name] for name in shown}, vision) == set()


def test_laws_and_sums_are_not_drawn_in_a_scheduler_s_colour():
    laws = {name: look["color"] for name, look in curves.LAWS.items()}
    others = {"overloaded": overload.OVERLOADED_COLOUR, "sum": overload.SUM_COLOUR}
    assert near_a_scheduler(laws | others) == set()
    assert len({look["linestyle"] for look in curves.LAWS.values()}) == 3


def test_a_bar_joins_what_the_test_does_not_tell_apart(monkeypatch):
    p_values = {"ab": 0.5, "bc": 0.2, "ac": 0.01, "ad": 0.01, "bd": 0.01, "cd": 0.04}
    pairs = pd.DataFrame(1.0, index=list("abcd"), columns=list("abcd"))
    for (one, other), p_value in p_values.items():
        pairs.loc[one, other] = pairs.loc[other, one] = p_value
    monkeypatch.setattr(Friedman, "pairs", pairs)
    ranks = pd.Series({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.5})
    found = Friedman(ranks, 9.0, 0.01, 1.5, pd.DataFrame())
    assert alike(found) == [(0, 1), (1, 2)]
    pairs.loc[:, :] = 1.0
    assert alike(found) == [(0, 3)]
