"""The command that grades a course's submissions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ElevatorLabError
from .base import ClusterOption, app, tell


@app.command()
def grade(
    submissions: Annotated[
        Path, typer.Argument(help="a folder that has a folder or an archive for each student")
    ],
    assignment: Annotated[
        str, typer.Option(help="sstf, look, c-look, open, or the file of an assignment of your own")
    ],
    out: Annotated[
        Path | None, typer.Option(help="folder of grades and pages; by default one below build/")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="submissions at the same time; by default one per core"),
    ] = None,
    cluster: ClusterOption = None,
    seed: Annotated[
        str | None,
        typer.Option(help="a secret of yours, which draws scenarios that no student has seen"),
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(help="also write the marks as moodle, canvas or nbgrader reads them"),
    ] = None,
) -> None:
    """Build and run each submission in a machine of its own, and write marks and feedback.

    A submission is graded again only if it has changed.
    """
    from ..elevators.grading import assignments, campaign, drawing, exports, pages
    from ..elevators.grading.grade import KINDS
    from ..elevators.grading.submissions import find, ignored
    from ..paths import BUILD
    from ..running import progress

    asked = assignments.read(assignment)
    if seed is not None:
        asked = drawing.hidden(asked, seed)
    if export:
        exports.refuse_unknown(export, [one.student for one in find(submissions)])
    place = out or BUILD / "grades" / asked.name
    with progress.shown("submissions") as (update, _):
        grades, right = campaign.run(submissions, asked, place, workers, cluster, update)
    if stray := ignored(submissions):
        print(f"ignored, since each is neither a folder nor an archive: {', '.join(stray)}")
    kinds = [one.kind for one in grades if one.parts]
    each = (f"{kinds.count(kind)} {kind}" for kind in KINDS if kind in kinds)
    print(f"graded: {', '.join(each) or 'none'}")
    made = pages.write(place, asked, grades, right)
    tell({**made, export: exports.write(export, place, asked, grades)} if export else made)
    if left := [one for one in grades if not one.parts]:
        raise ElevatorLabError(
            f"{len(left)} of {len(grades)} submissions could not be graded (the first: "
            f"{left[0].student!r}: {left[0].problem}). What is graded is kept; the same command "
            "tries the others again"
        )
