"""Lecture 6: write an elevator, from C code in a cell to a picture of its order of dispatch."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from IPython.display import Image, display
from matplotlib.figure import Figure

from ..elevators import templates
from ..elevators.grading import assignments
from ..elevators.grading.trials import ROOM, replay
from ..paths import BUILD
from ..plugins import scheduler_folders
from ..plugins.schedulers import SCHEDULERS
from ..showing.style import COLOURS
from ..showing.travel import animate, draw_places, travel_mib
from ..testbeds.deterministic import modules
from ..trial import Trial
from . import experiments
from .experiments import FinishedTrial

#: The name of the lecture's scheduler, and of its folder.
NAME = "mine"

#: Service time of the disk: so long that other requests arrive meanwhile, and there is a choice.
SERVICE_US = 20_000

#: The function of the template that the student has to write: it chooses the next request.
_CHOOSE = re.compile(rf"^static struct request \*{NAME}_choose\(.*?^}}\n", re.M | re.S)


def begin(template: str = "sstf") -> Path:
    """Write the folder of a new scheduler, and remove an earlier scheduler of this lecture.

    `template`: One of `elevatorlab.elevators.templates.TEMPLATES`.
    """
    place = BUILD / "lectures" / "elevators"
    shutil.rmtree(place / NAME, ignore_errors=True)
    if NAME in SCHEDULERS:
        SCHEDULERS.unregister(NAME)
    return templates.new(NAME, template, place) / f"{NAME}-iosched.c"


def choose(source: Path) -> str:
    """Return the present C code of the function that chooses the next request."""
    found = _CHOOSE.search(source.read_text())
    assert found
    return found[0]


def write(source: Path, function: str) -> None:
    """Replace the function that chooses the next request; build and register the scheduler."""
    text = source.read_text()
    body = function.strip("\n") + "\n"
    source.write_text(_CHOOSE.sub(lambda _: body, text, count=1))
    record = scheduler_folders.register(source.parent)
    assert record.folder
    modules.build(record.folder)


def arrivals(
    schedulers: Sequence[str], scenario: int = 1, assignment: str = "sstf", **tunables: int
) -> dict[str, Trial]:
    """Return a trial for each scheduler, with the requests of an assignment at their times.

    Examples
    --------
    >>> arrivals(["look"], scenario=2, assignment="look", expire_ms=250)["look"].scheduler.tunables
    {'nr_requests': 256, 'expire_ms': 250}
    """
    requests = replay(assignments.read(assignment).scenarios[scenario])
    return {
        name: experiments.trial(
            "writing",
            device=experiments.disk(SERVICE_US),
            scheduler={"name": name, "tunables": {"nr_requests": ROOM, **tunables}},
            workloads=(requests,),
            trace=True,
        )
        for name in schedulers
    }


def draw(ran: Mapping[str, FinishedTrial]) -> Figure:
    """Draw the place of each request over time, at its insert and at its dispatch."""
    return draw_places({name: one.requests for name, one in ran.items()})


def film(name: str, ran: FinishedTrial) -> None:
    """Show the head's way, dispatch by dispatch."""
    display(Image(animate(ran.requests, name, COLOURS[ran.trial.scheduler.name]), format="gif"))


def table(ran: Mapping[str, FinishedTrial]) -> pd.DataFrame:
    """Return what each scheduler's order costs: the head's travel, and the requests' waits."""
    rows = {}
    for name, one in ran.items():
        waits_ms = 1000 * (one.requests["issued_s"] - one.requests["inserted_s"])
        rows[name] = {
            "travel (MiB)": round(travel_mib(one.requests)),
            "mean wait (ms)": round(waits_ms.mean()),
            "longest wait (ms)": round(waits_ms.max()),
        }
    return pd.DataFrame.from_dict(rows, orient="index")
