"""Verdicts are kept: the same ones, and only for as long as nothing that decides them changes."""

import shutil
import subprocess
import sys

import pytest

import stored
from elevatorlab import cache
from elevatorlab.judging import verdict_cache
from elevatorlab.paths import PACKAGE
from elevatorlab.plugins import studies
from elevatorlab.results import references, scheduler_sources, store
from elevatorlab.results.outcome import Outcome
from elevatorlab.results.references import ResultSource
from fake_testbed import Bench

STUDY = "iozone_ranking"


@pytest.fixture
def times(monkeypatch, tmp_path):
    """Return how often the study judged, as a list that grows; what is kept is in `tmp_path`."""
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    study, found = studies.get(STUDY), []

    def judge(measured, judge=study.judge):
        found.append(len(measured))
        return judge(measured)

    monkeypatch.setattr(study, "judge", judge)
    return found


@pytest.mark.parametrize("results", ["reference", "published"])
def test_what_is_kept_is_what_was_judged(times, results):
    fresh = studies.get(STUDY).judge(store.load(STUDY, results))
    assert [verdict_cache.judge(STUDY, results).claims for _ in range(3)] == [fresh] * 3
    assert len(times) == 2  # the one here, and one of the three


def test_studies_keep_their_order(times):
    names = [claim.study for claim in verdict_cache.every_claim("published")]
    assert list(dict.fromkeys(names)) == [study.NAME for study in studies.STUDIES.values()]


def test_another_table_is_judged_anew(times, monkeypatch, tmp_path):
    verdict_cache.judge(STUDY)
    shutil.copytree(references.FOLDER, tmp_path / "reference")
    monkeypatch.setattr(references, "FOLDER", tmp_path / "reference")
    verdict_cache.judge(STUDY)
    assert len(times) == 1  # a copy is the same table
    shown = references.folder(ResultSource.of(STUDY).preset) / f"{STUDY}.csv"
    assert shown.is_relative_to(tmp_path)
    lines = shown.read_text().splitlines()
    shown.write_text("\n".join(lines[:-1]) + "\n")
    verdict_cache.judge(STUDY)
    assert times[1] == times[0] - 1


def test_another_result_or_version_of_a_scheduler_is_judged_anew(times, make_trial, tmp_path):
    """Also where they are of another study: whose they are is not asked before."""
    results, bench = tmp_path / "results", Bench("host", "m")
    store.check(results, bench)
    store.keep(results, bench, make_trial(), Outcome({"result.json": b"{}"}, stored.provenance()))
    verdict_cache.judge(STUDY, results)
    store.keep(
        results, bench, make_trial(seed=2), Outcome({"result.json": b"{}"}, stored.provenance())
    )
    verdict_cache.judge(STUDY, results)
    assert len(times) == 2
    scheduler_sources.keep(results, [make_trial(scheduler={"name": "cfq"})])
    for _ in range(2):
        verdict_cache.judge(STUDY, results)
    assert len(times) == 3


def test_rooms_that_have_no_say_in_a_verdict_are_not_imported_by_judging():
    """So a change in them leaves the verdicts that are kept."""
    program = (
        "import sys\n"
        "from elevatorlab.plugins import studies\n"
        "from elevatorlab.results import store\n"
        "for name, study in studies.STUDIES.items(): study.judge(store.load(name, 'published'))\n"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('elevatorlab.')})"
    )
    command = [sys.executable, "-c", program]
    rooms = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {"judging", "studies"} <= set(rooms)
    assert set(rooms) & set(verdict_cache.WITHOUT_A_SAY) == set()
    assert all((PACKAGE / room).is_dir() for room in verdict_cache.WITHOUT_A_SAY)


def test_where_nothing_can_be_kept_claims_are_judged_all_the_same(times, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "ROOT", tmp_path / "file" / "cache")
    once, again = (verdict_cache.judge(STUDY, "published") for _ in range(2))
    assert once == again
    assert len(times) == 2


def test_a_study_of_somebody_else_is_always_judged(times, monkeypatch):
    """Nobody knows of which files it is made."""
    monkeypatch.setattr(studies.STUDIES, "package", lambda name: None)
    once, again = (verdict_cache.judge(STUDY, "published") for _ in range(2))
    assert once == again
    assert len(times) == 2


def test_results_that_are_not_there_are_said_to_be_missing(times, tmp_path, error_of):
    nowhere = tmp_path / "none"
    assert f"expected {nowhere} to exist" in error_of(verdict_cache.judge, STUDY, nowhere)


def test_what_was_kept_of_the_published_data_is_no_answer_for_what_is_missing(
    times, monkeypatch, tmp_path, error_of
):
    verdict_cache.judge(STUDY, "published")
    (tmp_path / "file").write_text("")
    assert "expected a folder" in error_of(verdict_cache.judge, STUDY, tmp_path / "file")
    monkeypatch.setattr(references, "FOLDER", tmp_path / "nowhere")
    assert "no stored reference" in error_of(verdict_cache.judge, STUDY)
