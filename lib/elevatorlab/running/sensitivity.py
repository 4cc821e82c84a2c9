"""The trials behind a table of sensitivity: a study on other machines than it assumes.

Each has results of its own: tables do not tell these machines apart, and they are never pooled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from ..errors import ElevatorLabError
from ..judging import sensitivity
from ..judging.claims import Claim
from ..paths import BUILD
from ..plugins import studies
from ..plugins.studies import Study
from ..testbeds.base import Testbed
from ..testbeds.deterministic.qemu import Stock
from ..testbeds.deterministic.testbed import DeterministicTestbed
from . import jobs
from .jobs import Job

OTHER_SEED = 101
"""The first of the other seeds: beyond those of any preset."""

OTHER_PROCESSOR = "SandyBridge-v1"
"""The next model after the usual one: with vectors twice as wide for programs that copy (AVX), and
without the copies by single bytes that later ones have instructions for (ERMS)."""


class Variation(NamedTuple):
    """How a machine differs from the one that a study assumes."""

    overrides: Mapping[str, Any]
    testbed: Testbed


def variations(study: Study) -> dict[str, Variation]:
    """Return the machines that a study is judged on, by name; the one that it assumes is first.

    Those of its own (`VARIATIONS`), other seeds, and another model of processor.
    """
    usual, other = DeterministicTestbed(), DeterministicTestbed(emulator=Stock(OTHER_PROCESSOR))
    own: Mapping[str, Mapping[str, Any]] = getattr(study, "VARIATIONS", {})
    found = {sensitivity.USUAL: Variation({}, usual)}
    found |= {name: Variation(overrides, usual) for name, overrides in own.items()}
    if "first_seed" in study.Parameters.model_fields:
        found["other seeds"] = Variation({"first_seed": OTHER_SEED}, usual)
    return found | {f"processor {OTHER_PROCESSOR}": Variation({}, other)}


def prepare(name: str, preset: str) -> dict[str, Job]:
    """Return the job of each machine; nothing starts yet.

    Parameters
    ----------
    name : str
        The study.
    preset : str

    Returns
    -------
    dict of str to Job
        Results on the machine that the study assumes go where `elevatorlab run` puts them.
    """
    made = {}
    for variation, (overrides, testbed) in variations(studies.get(name)).items():
        own = BUILD / "sensitivity" / testbed.machine()[:12] / name / _slug(variation)
        results = None if variation == sensitivity.USUAL else own
        made[variation] = jobs.prepare(name, preset, overrides, [testbed], results)
    return made


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name)


def judge(prepared: Mapping[str, Job]) -> pd.DataFrame:
    """Judge finished jobs, and return the table of their verdicts.

    Parameters
    ----------
    prepared : mapping
        What `prepare` returned.

    Raises
    ------
    ElevatorLabError
        When a job is not finished.
    """
    claims = {name: _judged(name, job) for name, job in prepared.items()}
    return sensitivity.table(claims.pop(sensitivity.USUAL), claims)


def _judged(name: str, job: Job) -> list[Claim]:
    if lacking := len(job.plan().todo):
        raise ElevatorLabError(
            f"sensitivity of {job.study.NAME}, {name}: expected all trials finished; {lacking} are "
            "not. Run the same command again"
        )
    wanted = {trial.hash for share in job.shares for trial in share.trials}
    table = job.table()  # the folder may hold more: other presets, trials of other commands
    rows = table[table["trial"].isin(wanted)].reset_index(drop=True)
    judged: list[Claim] = job.study.judge(rows)
    return judged
