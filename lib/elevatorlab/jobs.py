"""Jobs that the command line and the notebooks share."""

import json
import random
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from . import campaign, figures, store, studies
from . import report as report_page
from .claims import to_frame
from .errors import ElevatorLabError
from .paths import BUILD, PROJECT

REPORT = BUILD / "report"
DOCS_FIGURES = PROJECT / "docs" / "figures"


def parse_overrides(settings):
    """Turn ``NAME=VALUE`` texts into a dictionary; a value is JSON where it reads as JSON.

    >>> parse_overrides(["repetitions=2", "arms=host,container"])
    {'repetitions': 2, 'arms': 'host,container'}
    """
    overrides = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ElevatorLabError(f"-p: expected NAME=VALUE; found {setting!r}")
        try:
            overrides[name] = json.loads(value)
        except json.JSONDecodeError:
            overrides[name] = value
    return overrides


def run_study(name, preset, overrides, testbed, results=None, workers=None):
    """Run a study from a notebook, with a progress bar, and return its tidy table.

    Parameters
    ----------
    name : str
        The study.
    preset : str
    overrides : dict
        The study's own parameters; None keeps the preset's value.
    testbed : Testbed
    results : path, optional
    workers : int, optional
    """
    study = studies.get(name)
    trials = study.trials(studies.parameters(study, preset, overrides))
    results = Path(results) if results else store.default_results(testbed)
    todo = campaign.plan(trials, testbed, results).todo
    with tqdm(total=len(todo), desc=f"{name}, {preset}", unit="trial") as bar:
        campaign.run(trials, testbed, results, workers, lambda *_: bar.update())
    return store.tidy(results, study)


@dataclass(frozen=True)
class Verification:
    """How a trial that was run again compares with the reference.

    Attributes
    ----------
    answer : str
        ``same``, ``different``, or ``another image``: bits cannot be compared then.
    """

    study: str
    trial: str
    answer: str
    sentence: str

    def __str__(self):
        return f"{self.study} {self.trial}: {self.sentence}"


def verify(testbed, sample, seed=0):
    """Run a random sample of the reference's trials again and compare.

    Parameters
    ----------
    testbed : DeterministicTestbed
    sample : int
        How many trials.
    seed : int
        Which ones.

    Returns
    -------
    list of Verification
        With the reference's own image every bit must match; with another image bits may
        differ, and only the verdicts of a whole run can be compared (`elevatorlab claims`).
    """
    known = {
        (study.NAME, trial.hash): trial
        for study in studies.STUDIES.values()
        for trial in study.trials(studies.parameters(study, "quick"))
    }
    stored = {name: store.reference_digests(name) for name in studies.STUDIES}
    unknown = [key for key in known if key[1] not in stored[key[0]]]
    if unknown:
        raise ElevatorLabError(
            f"the reference lacks {len(unknown)} trials of the quick preset; expected all. "
            "It belongs to another version of the studies"
        )
    chosen = random.Random(seed).sample(sorted(known), min(sample, len(known)))
    with tempfile.TemporaryDirectory(prefix="elevatorlab-verify-") as results:
        campaign.run([known[key] for key in chosen], testbed, results)
        return [
            _compare(name, trial, testbed, results, *stored[name][trial]) for name, trial in chosen
        ]


def _compare(name, trial, testbed, results, image_digest, result_sha256):
    found = store.digest(Path(results) / testbed.name / trial)
    if found == result_sha256:
        return Verification(name, trial, "same", f"same bits ({found[:12]})")
    if image_digest == testbed.identity():
        sentence = f"DIFFERENT bits on the same image: {found[:12]}, expected {result_sha256[:12]}"
        return Verification(name, trial, "different", sentence)
    sentence = (
        f"bits differ, as they may: the reference's image is {image_digest[:12]}, this one is "
        f"{testbed.identity()[:12]}; compare verdicts with `elevatorlab reproduce`"
    )
    return Verification(name, trial, "another image", sentence)


def report(results, out=REPORT):
    """Judge `results`, draw them, and write the report.

    Returns
    -------
    dict of str to pathlib.Path
        Where the parts are: ``report`` (a page), ``figures``, ``tables`` (folders).
    """
    out = Path(out)
    claims, drawn, tables = [], [], []
    (out / "tables").mkdir(parents=True, exist_ok=True)
    for study in studies.STUDIES.values():
        measured = store.tidy(results, study)
        judged = study.judge(measured)
        measured.to_csv(out / "tables" / f"{study.NAME}.csv", index=False)
        to_frame(judged).to_csv(out / "tables" / f"{study.NAME}-claims.csv", index=False)
        for name, figure in study.figures(study.published(), measured).items():
            files = figures.save(figure, out / "figures", f"{study.NAME}-{name}")
            drawn.append(report_page.ReportFigure(study.NAME, name, files, study.caption(name)))
        tables.append(report_page.ReportTable(study.NAME, *study.overview_table(measured)))
        claims += judged
    page = report_page.build(
        out,
        claims,
        drawn,
        _runs(results),
        tables,
        {study.NAME: study.TITLE for study in studies.STUDIES.values()},
    )
    return {"report": page, "figures": out / "figures", "tables": out / "tables"}


def draw_overview(study):
    """Draw a study's main figure from the reference, for the README."""
    drawn = study.figures(study.published(), store.load(study.NAME))["overview"]
    files = figures.save(drawn, BUILD / "reference-figures", f"{study.NAME}-overview")
    DOCS_FIGURES.mkdir(parents=True, exist_ok=True)
    shutil.copy(files["png"], DOCS_FIGURES)


def _runs(results):
    """Summarise the provenance of the trials in `results`: one entry a testbed and preset."""
    runs = {}
    for trial, _, provenance, _ in store.results_in(results):
        key = (provenance["testbed"], trial["study"], trial["preset"])
        runs.setdefault(key, []).append(provenance)
    return [
        {
            "study": study,
            "testbed": testbed,
            "preset": preset,
            "trials": len(several),
            "image_digest": several[0]["image_digest"],
            "agent_digest": several[0]["agent_digest"],
            "kernel": f"Debian {several[0]['kernel']}",
            "accelerator": several[0]["accelerator"],
            "QEMU": several[0]["qemu"],
            "package_version": several[0]["package"],
            "host": "{cpu}, {cores} cores, Linux {kernel}".format(**several[0]["host"]),
            "wall_time_s": round(sum(one["wall_s"] for one in several), 1),
        }
        for (testbed, study, preset), several in sorted(runs.items())
    ]
