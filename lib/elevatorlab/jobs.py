"""Jobs that the command line and the notebooks share."""

import json
import random
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
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


def shares(study, preset, overrides, testbeds):
    """Return what each testbed does of a study.

    Parameters
    ----------
    study : module
    preset : str
    overrides : dict
        The study's own parameters; None keeps the testbed's or the preset's value.
    testbeds : list of Testbed

    Returns
    -------
    list of Share
    """
    expanded = []
    for testbed in testbeds:
        parameters = studies.parameters(study, preset, overrides, testbed.defaults)
        expanded.append((testbed, study.trials(parameters)))
    return campaign.divide(expanded)


def run_study(name, preset, overrides, testbeds, results=None, workers=None):
    """Run a study from a notebook, with a progress bar, and return its tidy table.

    Parameters
    ----------
    name : str
        The study.
    preset : str
    overrides : dict
        See `shares`.
    testbeds : list of Testbed
    results : path, optional
    workers : int, optional
    """
    study = studies.get(name)
    results = Path(results) if results else store.default_results(testbeds[0])
    parts = shares(study, preset, overrides, testbeds)
    todo = campaign.plan(parts, results).todo
    with tqdm(total=len(todo), desc=f"{name}, {preset}", unit="trial") as bar:
        campaign.run(
            parts,
            results,
            workers,
            progress=lambda done, *_: bar.update(done - bar.n),
            note=partial(bar.set_postfix_str, refresh=False),
        )
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
        campaign.run([campaign.Share(testbed, [known[key] for key in chosen])], results)
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

    Raises
    ------
    ElevatorLabError
        When there are no results, or `out` cannot be a folder.
    """
    out = Path(out)
    measured = {name: store.tidy(results, study) for name, study in studies.STUDIES.items()}
    try:
        (out / "tables").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ElevatorLabError(
            f"report: expected {out} to be a folder, or a place for a new one; found otherwise "
            f"({problem.strerror}). Name another with --out"
        ) from None
    claims, drawn, tables = [], [], []
    for name, study in studies.STUDIES.items():
        judged = study.judge(measured[name])
        measured[name].to_csv(out / "tables" / f"{name}.csv", index=False)
        to_frame(judged).to_csv(out / "tables" / f"{name}-claims.csv", index=False)
        for title, one in study.figures(study.published(), measured[name]).items():
            files = figures.save(one.figure, out / "figures", f"{name}-{title}")
            drawn.append(report_page.ReportFigure(name, title, files, one.caption))
        tables += [report_page.ReportTable(name, *one) for one in study.tables(measured[name])]
        claims += judged
    page = report_page.build(
        out,
        claims,
        drawn,
        _runs(results),
        tables,
        {name: study.TITLE for name, study in studies.STUDIES.items()},
    )
    return {"report": page, "figures": out / "figures", "tables": out / "tables"}


def draw_overview(study):
    """Draw a study's main figure from the reference, for the README."""
    drawn = study.figures(study.published(), store.load(study.NAME))["overview"]
    files = figures.save(drawn.figure, BUILD / "reference-figures", f"{study.NAME}-overview")
    DOCS_FIGURES.mkdir(parents=True, exist_ok=True)
    shutil.copy(files["png"], DOCS_FIGURES)


def _runs(results):
    """Summarise the provenance of the trials in `results`: one entry a testbed and preset."""
    runs = {}
    for trial, _, provenance, _ in store.results_in(results):
        place = provenance["testbed"], provenance["machine"]
        runs.setdefault((*place, trial["study"], trial["preset"]), []).append(provenance)
    return [
        {
            "study": study,
            "testbed": testbed,
            "preset": preset,
            "trials": len(several),
            **_provenance(several[0]),
            "wall_time_s": round(sum(one["wall_s"] for one in several), 1),
        }
        for (testbed, _, study, preset), several in sorted(runs.items())
    ]


def _provenance(one):
    """Return what a reader wants to know of where a run was made, on any testbed."""
    host = one["host"]
    simulated = "qemu" in one
    found = {
        "machine": one["machine"],
        "accelerator": one["accelerator"],
        "kernel": f"Debian {one['kernel']}" if simulated else one["kernel"],
        "host": f"{host['cpu']}, {host['cores']} cores, Linux {host['kernel']}",
        "disks": ", ".join(host.get("disks", ())),
        "QEMU": one.get("qemu"),
        "image_digest" if simulated else "environment_digest": one["image_digest"],
        "agent_digest": one["agent_digest"],
        "package_version": one["package"],
    }
    return {name: value for name, value in found.items() if value}
