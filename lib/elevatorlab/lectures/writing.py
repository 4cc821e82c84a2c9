"""Lecture 6: write an elevator; from C in a cell to the picture of its order of dispatch."""

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
from ..elevators.grading.trials import ROOM
from ..paths import BUILD
from ..plugins import scheduler_folders
from ..plugins.schedulers import SCHEDULERS
from ..showing.style import COLOURS
from ..showing.travel import animate, draw_places, travel_mib
from ..testbeds.deterministic import modules
from ..trial import Trial
from . import experiments
from .experiments import Ran

#: What the scheduler of the lecture is called; also its folder.
NAME = "mine"

#: The service takes so long that other requests come meanwhile: there is a choice.
SERVICE_US = 20_000

#: The one function that is to be written, in the template.
_CHOOSE = re.compile(rf"^static struct request \*{NAME}_choose\(.*?^}}\n", re.M | re.S)


def begin(template: str = "sstf") -> Path:
    """Write the folder of a new scheduler, in the place of an earlier one of this lecture.

    Parameters
    ----------
    template : str
        One of `elevatorlab.elevators.templates.TEMPLATES`.

    Returns
    -------
    Path
        Its source.
    """
    place = BUILD / "lectures" / "elevators"
    shutil.rmtree(place / NAME, ignore_errors=True)
    if NAME in SCHEDULERS:
        SCHEDULERS.unregister(NAME)
    return templates.new(NAME, template, place) / f"{NAME}-iosched.c"


def choose(source: Path) -> str:
    """Return the function that chooses, as it is."""
    found = _CHOOSE.search(source.read_text())
    assert found
    return found[0]


def write(source: Path, function: str) -> None:
    """Put a function in the place of the one that chooses; build and register the scheduler.

    Parameters
    ----------
    source : Path
        As `begin` returned it.
    function : str
        C.

    Raises
    ------
    elevatorlab.testbeds.deterministic.modules.DoesNotCompile
        With what the compiler said.
    """
    text = source.read_text()
    body = function.strip("\n") + "\n"
    source.write_text(_CHOOSE.sub(lambda _: body, text, count=1))
    record = scheduler_folders.register(source.parent)
    assert record.folder
    modules.build(record.folder)


def arrivals(
    schedulers: Sequence[str], scenario: int = 1, assignment: str = "sstf", **tunables: int
) -> dict[str, Trial]:
    """Return a trial for each scheduler: requests of an assignment, each when it comes.

    Parameters
    ----------
    schedulers : sequence of str
    scenario : int
        Of the assignment, from 0.
    assignment : str
        One of ``courses/elevators``.
    tunables
        What the schedulers are told.

    Examples
    --------
    >>> arrivals(["look"], scenario=2, assignment="look", expire_ms=250)["look"].scheduler.tunables
    {'nr_requests': 256, 'expire_ms': 250}
    """
    requests = [
        {"at_us": round(1000 * at_ms), "offset_bytes": place_kib << 10}
        for at_ms, place_kib in assignments.read(assignment).scenarios[scenario].requests
    ]
    replay = {"kind": "replay", "name": "replay", "group": "main", "requests": requests}
    return {
        name: experiments.trial(
            "writing",
            device=experiments.disk(SERVICE_US),
            scheduler={"name": name, "tunables": {"nr_requests": ROOM, **tunables}},
            workloads=(replay,),
            trace=True,
        )
        for name in schedulers
    }


def draw(ran: Mapping[str, Ran]) -> Figure:
    """Draw where each request is, when it comes and when it is dispatched."""
    return draw_places({name: one.requests for name, one in ran.items()})


def film(name: str, ran: Ran) -> None:
    """Show the way of the head, dispatch by dispatch."""
    display(Image(animate(ran.requests, name, COLOURS[ran.trial.scheduler.name]), format="gif"))


def table(ran: Mapping[str, Ran]) -> pd.DataFrame:
    """Return what each scheduler's order costs: the arm's travel, and the requests' waits."""
    rows = {}
    for name, one in ran.items():
        waits_ms = 1000 * (one.requests["issued_s"] - one.requests["inserted_s"])
        rows[name] = {
            "travel (MiB)": round(travel_mib(one.requests)),
            "mean wait (ms)": round(waits_ms.mean()),
            "longest wait (ms)": round(waits_ms.max()),
        }
    return pd.DataFrame.from_dict(rows, orient="index")
