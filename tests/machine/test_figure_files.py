"""Figures are kept: the same bytes, and only while nothing changes them."""

import shutil

import matplotlib as mpl
import pytest

from elevatorlab import cache
from elevatorlab.plugins import studies
from elevatorlab.plugins.schedulers import SCHEDULERS, SchedulerRecord
from elevatorlab.results import store
from elevatorlab.showing import cache_keys, figure_files

#: It has one figure of published data.
STUDY = "innodb_commit"


@pytest.fixture
def study(monkeypatch, tmp_path):
    """Return a study that counts how often it was drawn, in a list."""
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    one, times = studies.get(STUDY), []

    def figures(published, measured, figures=one.figures):
        times.append(len(measured))
        return figures(published, measured)

    monkeypatch.setattr(one, "figures", figures)
    monkeypatch.setattr(one, "times", times, raising=False)
    return one


def saved(study, folder):
    """Draw what was published; return the figures without their files, and the files' content."""
    found = figure_files.save(study, store.load(STUDY, "published"), folder)
    shown = {path for figure in found for path in figure.files.values()}
    assert shown == set(folder.iterdir())
    about = [
        figure._replace(files=set(figure.files), trials=set(figure.trials)) for figure in found
    ]
    return about, {path.name: path.read_bytes() for path in shown}


def test_what_is_kept_is_what_is_drawn(study, tmp_path):
    first, kept = (saved(study, tmp_path / name) for name in ("first", "kept"))
    assert len(study.times) == 1
    shutil.rmtree(tmp_path / "cache")
    assert saved(study, tmp_path / "again") == kept == first
    assert len(study.times) == 2 and len(first[1]) == 3


def test_a_report_may_be_written_over(study, tmp_path):
    saved(study, tmp_path / "report")
    before = saved(study, tmp_path / "report")
    for file in (tmp_path / "report").iterdir():
        file.write_text("mine")
    assert saved(study, tmp_path / "report") == before


def test_the_settings_of_a_user_change_no_figure(study, tmp_path):
    first = saved(study, tmp_path / "first")
    shutil.rmtree(tmp_path / "cache")
    with mpl.rc_context({"lines.dashed_pattern": (9, 9), "figure.dpi": 30, "xtick.color": "red"}):
        assert saved(study, tmp_path / "again") == first
    assert len(study.times) == 2


def test_another_scheduler_package_or_file_gives_another_digest(tmp_path, monkeypatch):
    digests = {cache_keys.digest("one"), cache_keys.digest("one")}
    assert len(digests) == 1
    digests.add(cache_keys.digest("another"))
    SCHEDULERS.register("mine", SchedulerRecord("mine", colour="#123456"))
    digests.add(cache_keys.digest("one"))
    SCHEDULERS.unregister("mine")
    (tmp_path / "site" / "matplotlib-99.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    digests.add(cache_keys.digest("one"))
    for folder in ("PACKAGE", "DATA", "ENVIRONMENTS"):
        monkeypatch.setattr(cache_keys, folder, tmp_path / "empty")
        digests.add(cache_keys.digest("one"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "file").touch()
    digests.add(cache_keys.digest("one"))
    assert len(digests) == 8


def test_other_measurements_are_drawn_anew(study, tmp_path):
    measured = store.load(STUDY, "reference/quick").query("repetition == 1")
    for times, table in ((1, measured), (1, measured.copy()), (2, measured.iloc[:-1])):
        found = figure_files.save(study, table, tmp_path / "out")
        assert any(figure.trials for figure in found) and len(study.times) == times


def test_a_study_of_somebody_else_is_always_drawn(study, tmp_path, monkeypatch):
    """Nobody knows of which files it is made."""
    monkeypatch.setattr(studies.STUDIES, "package", lambda name: None)
    saved(study, tmp_path / "out")
    saved(study, tmp_path / "out")
    assert len(study.times) == 2 and not (tmp_path / "cache").exists()


def test_where_nothing_can_be_kept_figures_are_drawn_all_the_same(study, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "ROOT", tmp_path / "file" / "cache")
    assert saved(study, tmp_path / "out") == saved(study, tmp_path / "out")
    assert len(study.times) == 2
