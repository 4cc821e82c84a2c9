"""Figures of published data are kept: the same bytes, and only while nothing changes them."""

import shutil

import matplotlib as mpl
import pytest

from elevatorlab import cache
from elevatorlab.plugins import studies
from elevatorlab.plugins.schedulers import SCHEDULERS, SchedulerRecord
from elevatorlab.results import store
from elevatorlab.showing import figure_files

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


def test_another_look_is_drawn_anew(study, tmp_path, monkeypatch):
    digests = {figure_files._digest(study), figure_files._digest(study)}
    assert len(digests) == 1
    with mpl.rc_context({"lines.dashed_pattern": (9, 9)}):
        digests.add(figure_files._digest(study))
    SCHEDULERS.register("mine", SchedulerRecord("mine", colour="#123456"))
    digests.add(figure_files._digest(study))
    SCHEDULERS.unregister("mine")
    monkeypatch.setattr(figure_files, "version", lambda name: "another")
    digests.add(figure_files._digest(study))
    monkeypatch.setattr(figure_files, "DATA", tmp_path)
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / f"{STUDY}.yaml").write_text("another")
    digests.add(figure_files._digest(study))
    assert len(digests) == 5


def test_what_was_measured_is_always_drawn(study, tmp_path):
    measured = store.load(STUDY, "reference/quick").query("repetition == 1")
    found = figure_files.save(study, measured, tmp_path / "out")
    assert any(figure.trials for figure in found) and not (tmp_path / "cache").exists()


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
