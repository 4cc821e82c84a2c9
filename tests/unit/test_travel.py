"""The pictures of where requests are: place over time, travel, and the head's way."""

import io

import pandas as pd
import pytest
from PIL import Image

from elevatorlab.showing import travel

MIB = travel.MIB_SECTORS
REQUESTS = pd.DataFrame(
    {
        "sector": [8 * MIB, 2 * MIB, 16 * MIB],
        "inserted_s": [1.0, 1.02, 1.01],
        "issued_s": [1.0, 1.03, 1.06],
    }
)


def test_places_are_drawn_at_insert_and_at_dispatch():
    figure = travel.draw_places({"none": REQUESTS, "bfq": REQUESTS, "kyber": REQUESTS})
    assert [axis.get_title() for axis in figure.axes] == [
        f"{name}: 20 MiB of travel" for name in ("none", "bfq", "kyber")
    ]
    inserted, dispatched = figure.axes[0].get_lines()
    assert list(inserted.get_xdata()) == pytest.approx([0, 20, 10])
    assert list(dispatched.get_xdata()) == pytest.approx([0, 30, 60])
    assert list(inserted.get_ydata()) == list(dispatched.get_ydata()) == [8, 2, 16]


def test_travel_adds_up():
    (line,) = travel.draw_travel({"bfq": REQUESTS}).axes[0].get_lines()
    assert list(line.get_ydata()) == [0, 6, 20]
    assert travel.travel_mib(REQUESTS) == 20


@pytest.mark.parametrize("inserted", [REQUESTS["inserted_s"], float("nan")])
def test_an_animation_has_a_frame_for_each_dispatch_and_the_same_bytes_again(inserted):
    requests = REQUESTS.assign(inserted_s=inserted)
    film = travel.animate(requests, "look")
    assert Image.open(io.BytesIO(film)).n_frames == 3
    assert travel.animate(requests, "look") == film


def test_a_long_animation_leaves_dispatches_out(monkeypatch):
    monkeypatch.setattr(travel, "FRAMES", 2)
    assert Image.open(io.BytesIO(travel.animate(REQUESTS, "look"))).n_frames == 2
