"""Where requests are on the disk, when each is inserted and dispatched, and how far a head goes.

This works for any trial that was traced. `elevatorlab.results.trace.requests` returns its requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.animation import PillowWriter
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .. import scratch
from .style import BLUE, COLOURS, GREY, style

MIB_SECTORS = 2048

#: Largest number of frames of an animation, and frames shown per second.
FRAMES, FRAMES_PER_S = 120, 4


def travel_mib(requests: pd.DataFrame) -> float:
    """Return how far a head moves, in MiB, from each request issued to the next.

    Examples
    --------
    >>> travel_mib(pd.DataFrame({"sector": [0, 4096, 2048]}))
    3.0
    """
    return float(requests["sector"].diff().abs().sum() / MIB_SECTORS)


def draw_places(
    traced: Mapping[str, pd.DataFrame], colours: Mapping[str, str] | None = None
) -> Figure:
    """Draw place over time: where each request is when it is inserted, and when it is dispatched.

    `colours`: Colour of each panel; by default, that of the scheduler with the panel's name.
    Returns: Open circles mark inserts, and a line with dots joins the dispatches. There are no
    circles for the scheduler none, which inserts no requests.
    """
    columns = min(2, len(traced))
    rows = -(-len(traced) // columns)
    with style():
        figure = Figure(figsize=(8, 0.8 + 2.1 * rows))
        panels = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
        for spare in panels[len(traced) :]:
            spare.remove()
        for panel, (name, requests) in zip(panels, traced.items(), strict=False):
            _draw_place(panel, requests, (colours or COLOURS)[name])
            panel.set_title(f"{name}: {travel_mib(requests):,.0f} MiB of travel")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=2)
        figure.supxlabel("time (ms)", fontsize=9)
        figure.supylabel("place on the disk (MiB)", fontsize=9)
    return figure


def _draw_place(panel: Axes, requests: pd.DataFrame, colour: str) -> None:
    places_mib = requests["sector"] / MIB_SECTORS
    inserted_ms, issued_ms = _times_ms(requests)
    panel.plot(inserted_ms, places_mib, "+", color=GREY, ms=4, mew=0.7, label="insert")
    panel.plot(issued_ms, places_mib, "o-", color=colour, ms=2.5, lw=0.7, label="dispatch")


def _times_ms(requests: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return when each request was inserted and dispatched, in ms after the first event."""
    start_s = requests[["inserted_s", "issued_s"]].min().min()
    return 1000 * (requests["inserted_s"] - start_s), 1000 * (requests["issued_s"] - start_s)


def draw_travel(traced: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw how the travel adds up from dispatch to dispatch, one line per trial."""
    with style():
        figure = Figure(figsize=(6.4, 3.2))
        panel = figure.subplots()
        for name, requests in traced.items():
            travelled_mib = requests["sector"].diff().abs().fillna(0).cumsum() / MIB_SECTORS
            dispatches = np.arange(1, len(requests) + 1)
            panel.plot(dispatches, travelled_mib, color=COLOURS[name], label=name)
        panel.set(xlabel="dispatches", ylabel="travel so far (MiB)")
        panel.legend(loc="upper left")
    return figure


def animate(requests: pd.DataFrame, title: str, colour: str = BLUE) -> bytes:
    """Return a GIF of the head's way: a frame for each dispatch, with the waiting requests.

    `requests`: Of more than `FRAMES` requests, only some have a frame for their dispatch. Returns:
    The same requests give the same bytes. A notebook shows the GIF with
    ``IPython.display.Image(data=..., format="gif")``.
    """
    frames = np.unique(np.linspace(0, len(requests) - 1, FRAMES).astype(int))
    with style():
        film = _Film(requests, colour)
        return written(film.figure, lambda number: film.show(number, title), frames)


def written(figure: Figure, show: Callable[[int], None], frames: Iterable[int]) -> bytes:
    """Return a GIF whose frames are states of one figure.

    `show`: Called with the number of a frame; brings the figure into this frame's state.
    """
    with scratch.folder() as place:
        writer = PillowWriter(fps=FRAMES_PER_S)
        file = Path(place) / "film.gif"
        with writer.saving(figure, str(file), dpi=80):
            for number in frames:
                show(int(number))
                writer.grab_frame()
        return file.read_bytes()


def screen() -> tuple[Figure, Axes]:
    """Return a figure and its panel with a fixed layout, so that nothing shifts between frames."""
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure = Figure(figsize=(6.4, 4.2))
    FigureCanvasAgg(figure)
    figure.subplots_adjust(left=0.1, right=0.97, top=0.88, bottom=0.12)
    return figure, figure.subplots()


class _Film:
    """A figure that shows dispatches one after the other; time runs downwards."""

    def __init__(self, requests: pd.DataFrame, colour: str) -> None:
        self.places_mib = (requests["sector"] / MIB_SECTORS).to_numpy()
        inserted_ms, issued_ms = _times_ms(requests)
        self.issued_ms = issued_ms.to_numpy()
        # Without a scheduler, a request waits in its program, where the trace does not see it.
        self.inserted_ms = inserted_ms.fillna(issued_ms).to_numpy()
        self.travelled_mib = np.append(0, np.abs(np.diff(self.places_mib)).cumsum())
        self.figure, self.panel = screen()
        end_ms = self.issued_ms[-1]
        margin_mib = 0.03 * float(np.ptp(self.places_mib)) or 1.0
        left, right = self.places_mib.min() - margin_mib, self.places_mib.max() + margin_mib
        self.panel.set(xlim=(left, right), ylim=(1.05 * end_ms, -0.08 * end_ms))
        self.panel.set(xlabel="place on the disk (MiB)", ylabel="time (ms)")
        (self.way,) = self.panel.plot([], [], "o-", color=colour, ms=3, lw=0.9)
        (self.waiting,) = self.panel.plot([], [], "+", color=GREY, ms=6)
        (self.head,) = self.panel.plot([], [], "v", color=colour, ms=9)

    def show(self, number: int, title: str) -> None:
        """Show the moment at which dispatch `number` has just been made."""
        now_ms = self.issued_ms[number]
        waits = self.inserted_ms[number + 1 :] <= now_ms
        places = self.places_mib[number + 1 :][waits]
        self.way.set_data(self.places_mib[: number + 1], self.issued_ms[: number + 1])
        self.waiting.set_data(places, np.full(len(places), now_ms))
        self.head.set_data([self.places_mib[number]], [now_ms])
        self.panel.set_title(
            f"{title}: dispatch {number + 1} of {len(self.places_mib)}, {len(places)} waiting, "
            f"{self.travelled_mib[number]:,.0f} MiB of travel"
        )
