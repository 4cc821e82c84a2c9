"""The trials behind a table of sensitivity: a study on machines other than the one it assumes.

Each machine has its own folder of results, because tables do not tell these machines apart. Results
of different machines are never pooled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from ..errors import TrialFailed
from ..judging import sensitivity
from ..judging.claim import Claim
from ..plugins import studies
from ..plugins.studies import Study
from ..results import store
from ..testbeds.base import Testbed
from . import jobs
from .jobs import Job

OTHER_SEED = 101
"""The first of the other seeds. It is larger than any seed of a preset."""


class Variation(NamedTuple):
    """How a machine differs from the one that a study assumes."""

    overrides: Mapping[str, Any]
    testbed: Testbed


def of(study: Study, usual: Testbed, others: Mapping[str, Testbed]) -> dict[str, Variation]:
    """Return the machines on which a study is judged, by name; the one that it assumes is first.

    Then come the study's own `VARIATIONS` and other seeds, both on `usual`, and the machines of the
    other testbeds.
    """
    own: Mapping[str, Mapping[str, Any]] = getattr(study, "VARIATIONS", {})
    found = {sensitivity.USUAL: Variation({}, usual)}
    found |= {name: Variation(overrides, usual) for name, overrides in own.items()}
    if "first_seed" in study.Parameters.model_fields:
        found["other seeds"] = Variation({"first_seed": OTHER_SEED}, usual)
    return found | {name: Variation({}, testbed) for name, testbed in others.items()}


def prepare(
    name: str, preset: str, usual: Testbed, others: Mapping[str, Testbed]
) -> dict[str, Job]:
    """Return the job of each machine; nothing starts yet.

    Returns: Jobs by machine. The results of the machine that the study assumes go to the folder
    that `elevatorlab run` uses.
    """
    made = {}
    for variation, (overrides, testbed) in of(studies.get(name), usual, others).items():
        folder = re.sub(r"[^A-Za-z0-9.]+", "-", variation)
        own = store.default_results(testbed, "sensitivity") / name / folder
        results = None if variation == sensitivity.USUAL else own
        made[variation] = jobs.prepare(name, preset, overrides, [testbed], results)
    return made


def run(name: str, job: Job, workers: int | None, cluster: str | None) -> None:
    """Run what is unfinished of the job of one machine.

    A machine that differs from the assumed one may be unable to run a trial: a link, for example,
    may not keep to its rate there. What rests on such a trial is not decided on that machine.

    Raises: TrialFailed if a trial fails on the machine that the study assumes.
    """
    try:
        job.run(workers, cluster)
    except TrialFailed as failure:
        if name == sensitivity.USUAL:
            raise
        print(f"{name}: {failure}")


def judge(prepared: Mapping[str, Job]) -> pd.DataFrame:
    """Judge what the jobs have finished, and return the table of their verdicts."""
    claims = {name: _judged(job) for name, job in prepared.items()}
    return sensitivity.table(claims.pop(sensitivity.USUAL), claims)


def _judged(job: Job) -> list[Claim]:
    wanted = {trial.hash for share in job.shares for trial in share.trials}
    table = job.table()  # the folder may have trials of other presets and commands, too
    rows = table[table["trial"].isin(wanted)].reset_index(drop=True)
    judged: list[Claim] = job.study.judge(rows)
    return judged
