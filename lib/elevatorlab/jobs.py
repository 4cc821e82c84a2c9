"""Jobs that the command line and the notebooks share."""

import json
import shutil
from functools import partial
from pathlib import Path

from tqdm import tqdm

from . import campaign, figures, provenance, store, studies
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

    Raises
    ------
    ElevatorLabError
        When a parameter is wrong, or all of them together stand for no trial.
    """
    expanded = []
    for testbed in testbeds:
        parameters = studies.parameters(study, preset, overrides, testbed.defaults)
        expanded.append((testbed, study.trials(parameters)))
    if not any(trials for _, trials in expanded):
        raise ElevatorLabError(
            f"{study.NAME}: expected at least one trial; found none with these parameters. "
            "Is one of the lists empty?"
        )
    return campaign.divide(expanded)


def run_study(name, preset, overrides, testbeds, results=None, workers=None, cluster=None):
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
    cluster : str, optional
        See `campaign.run`.
    """
    study = studies.get(name)
    results = Path(results) if results else store.default_results(testbeds[0])
    parts = shares(study, preset, overrides, testbeds)
    todo = campaign.plan(parts, results).todo
    # The time left follows from the mean of all trials: a few finish together, then none.
    with tqdm(total=len(todo), desc=f"{name}, {preset}", unit="trial", smoothing=0) as bar:
        note = partial(bar.set_postfix_str, refresh=False)
        try:
            campaign.run(parts, results, workers, partial(_advance, bar), note, cluster)
        except KeyboardInterrupt:
            bar.write("stopped; what is finished is kept, the same cell goes on from there")
            raise
    return store.tidy(results, study)


def _advance(bar, done, total, trial):
    if done == 0:
        bar.reset(total)  # getting ready is no trial's time
    bar.update(done - bar.n)


def report(results, out=REPORT):
    """Judge `results`, draw them, and write the report.

    Parameters
    ----------
    results : path, "reference", "published" or None
        See `store.load`.
    out : path
        Folder of the report.

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
    measured = {name: store.load(name, results) for name in studies.STUDIES}
    runs = provenance.of(results)
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
            drawn.append(report_page.ReportFigure(name, title, files, one.caption, one.trials))
        tables += [report_page.ReportTable(name, *one) for one in study.tables(measured[name])]
        claims += judged
    titles = {name: study.TITLE for name, study in studies.STUDIES.items()}
    page = report_page.build(out, claims, drawn, runs, tables, titles)
    return {"report": page, "figures": out / "figures", "tables": out / "tables"}


def draw_overview(study):
    """Draw a study's main figure from the reference, where it has one, for the README."""
    drawn = study.figures(study.published(), store.load(study.NAME)).get("overview")
    if drawn is None:
        return
    files = figures.save(drawn.figure, BUILD / "reference-figures", f"{study.NAME}-overview")
    DOCS_FIGURES.mkdir(parents=True, exist_ok=True)
    shutil.copy(files["png"], DOCS_FIGURES)
