"""The isolation paper's printed numbers, each against its own sentence."""

import pandas as pd
import pytest

from elevatorlab.judging.families import read_published

STUDY = "container_isolation"
NUMBERS = pd.concat(
    [read_published(STUDY, name) for name in ("endpoints", "waits", "regulation")],
    ignore_index=True,
)
CURVES = read_published(STUDY, "curves")


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
