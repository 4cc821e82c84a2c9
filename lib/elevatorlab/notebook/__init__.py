"""What notebooks call: checked parameters, and short tables to show."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd
from IPython.display import Markdown
from pydantic import BeforeValidator, Field

from .. import testbeds
from ..errors import ElevatorLabError
from ..judging import sensitivity, verdict_cache
from ..judging.conclusions import outcomes
from ..judging.verdicts import DECIDED, Verdict
from ..plugins import studies
from ..plugins.testbeds import DEFAULT
from ..records import Record, checked
from ..running import expansion, jobs
from ..testbeds.base import Testbed, alike
from . import launcher


class Common(Record):
    """Parameters that every measurement notebook has, in addition to those of its study.

    They have the limits of the same options of `elevatorlab run`.
    """

    testbed: str | None = None
    preset: str | None = None
    #: Papermill reads a folder's name of digits as a number.
    results: Annotated[str | None, BeforeValidator(lambda it: it if it is None else str(it))] = None
    workers: Annotated[int, Field(ge=1)] | None = None
    cluster: str | None = None


@dataclass(frozen=True)
class Measurement:
    """The parameters of a measurement notebook, checked before any trial starts."""

    study: Any
    testbeds: list[Testbed]
    preset: str
    overrides: dict[str, Any]
    results: str | None
    workers: int | None
    cluster: str | None
    trials: frozenset[str]

    def measure(self) -> pd.DataFrame:
        """Run the trials that are not finished yet, and return the tidy table of those asked for.

        Other trials in the folder, of another preset or with other parameters, are left out.
        """
        table = jobs.run_study(
            *(self.study.NAME, self.preset, self.overrides, self.testbeds),
            *(self.results, self.workers, self.cluster),
        )
        return table[table["trial"].isin(self.trials)].reset_index(drop=True)


def names(namespace: Mapping[str, Any]) -> frozenset[str]:
    """Return the names that a notebook has before its parameters cell."""
    return frozenset(namespace)


def check(study_name: str, namespace: Mapping[str, Any], before: Collection[str]) -> Measurement:
    """Check the parameters that papermill or a reader has set.

    papermill only warns about a parameter that a notebook does not know; here it is an error.

    `before`: What `names` returned before the parameters cell.
    """
    given = {
        name: value
        for name, value in namespace.items()
        if name not in before and not name.startswith("_") and name not in ("In", "Out", "before")
    }
    study = studies.get(study_name)
    known = [*Common.model_fields, *study.Parameters.model_fields]
    for name in given:
        if name not in known:
            raise ElevatorLabError(
                f"no parameter {name!r} here; expected one of {', '.join(dict.fromkeys(known))}"
            )
    said = {name: given.pop(name) for name in Common.model_fields if name in given}
    common = checked(Common, said, "parameters")
    preset = common.preset or "quick"
    chosen = testbeds.several(common.testbed or DEFAULT)
    shares = expansion.shares(study, preset, given, chosen)
    trials = frozenset(trial.hash for share in shares for trial in share.trials)
    rest = common.results, common.workers, common.cluster
    return Measurement(study, chosen, preset, given, *rest, trials)


def doctor() -> pd.DataFrame:
    """Return, for each testbed, whether it can run trials here, and what it lacks.

    Returns: A row for each cause; a testbed that lacks nothing has one row. `elevatorlab doctor`
    lists each capability.
    """
    rows = []
    for name in testbeds.names():
        found = testbeds.findings(name)
        ready = "no" if any(one.needed and not one.ready for one in found) else "yes"
        for lacks, _, remedy in list(alike(found)) or [("", "", "")]:
            rows.append({"testbed": name, "ready": ready, "lacks": lacks, "remedy": remedy})
    return pd.DataFrame(rows)


def at_a_glance() -> pd.DataFrame:
    """Return what became of the predictions of each study; see `conclusions.outcomes`."""
    rows = [
        {"study": one.study, "predictions": one.predictions, "tested": one.tested}
        | {str(verdict): one.data.get(verdict, 0) for verdict in (*DECIDED, Verdict.UNDECIDED)}
        for one in outcomes(verdict_cache.every_claim(), sensitivity.stored_flips())
    ]
    return pd.DataFrame(rows)


def where_to_click() -> Markdown:
    """Return links to the notebooks of every study, for a notebook in notebooks/."""
    lines = ["| study | analyse | measure |", "| --- | --- | --- |"]
    for number, study in enumerate(studies.STUDIES.values(), 1):
        links = [
            f"[{kind}]({found.relative_to(launcher.NOTEBOOKS).as_posix()})" if found else "–"
            for kind in launcher.KINDS
            for found in [launcher.notebook_of(study.NAME, kind)]
        ]
        lines.append(f"| {number}. {study.TITLE} | " + " | ".join(links) + " |")
    return Markdown("\n".join(lines))
