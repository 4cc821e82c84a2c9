"""Two stored references: quick's, and that of the preset paper, which is shown first."""

import csv

import pytest

from elevatorlab import cache
from elevatorlab.judging import verdict_cache
from elevatorlab.plugins import studies
from elevatorlab.results import costs, references, store
from elevatorlab.results.references import ResultSource
from elevatorlab.running import provenance
from elevatorlab.running.provenance import preset_trials
from elevatorlab.sharing import verification
from elevatorlab.showing import report, report_writer
from elevatorlab.studies import vm_vs_container
from synthetic import write_results

STUDY = "vm_vs_container"
BOTH = ("paper", "quick")


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Return a folder with results of both presets, of which quick's are the reference."""
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    monkeypatch.setattr(references, "FOLDER", tmp_path / "reference")
    for preset in BOTH:
        write_results(tmp_path / "results", arms=("host",), repetitions=1, preset=preset)
    references.write(tmp_path / "results", vm_vs_container, "quick")
    return tmp_path / "results"


def presets(results=None):
    """Return the presets in the table and in the claims that `results` names."""
    measured = set(store.load(STUDY, results)["preset"])
    judged = {claim.preset for claim in verdict_cache.judge(STUDY, results).claims} - {""}
    assert judged == measured
    return measured


def test_paper_is_shown_where_it_is_stored_and_quick_by_its_name(stored):
    assert presets() == presets("reference/quick") == {"quick"}
    references.write(stored, vm_vs_container, "paper")
    assert presets() == presets("reference") == presets("reference/paper") == {"paper"}
    assert presets("reference/quick") == {"quick"}


def taste(results):
    return report_writer._quick_reference([ResultSource.of(STUDY, results)])


def test_the_report_of_paper_shows_quick_beside_it(stored):
    assert taste(None) is None
    references.write(stored, vm_vs_container, "paper")
    assert taste(None) == taste("reference/paper") == "reference/quick"
    assert taste("reference/quick") is taste("published") is None
    assert len({report.default_place(name) for name in (None, *report.NAMED_REPORTS)}) == 4


def test_each_has_its_own_digests_costs_and_origin(stored, monkeypatch):
    monkeypatch.setattr(studies, "ours", lambda: [vm_vs_container])
    references.write(stored, vm_vs_container, "paper")
    for preset in BOTH:
        costs.write(stored, preset, [vm_vs_container])
        trials = references.digests(STUDY, preset)
        assert set(trials) == set(store.load(STUDY, f"reference/{preset}")["trial"])
        assert costs.read(preset)[STUDY]["trials"] == str(len(trials))
        (origin,) = provenance.of([ResultSource.of(STUDY, f"reference/{preset}")])
        assert (origin.preset, set(origin.trials)) == (preset, set(trials))
    assert not set(references.digests(STUDY)) & set(references.digests(STUDY, "paper"))


def test_a_study_stored_alone_leaves_the_costs_of_the_others(stored, monkeypatch):
    others = [studies.get(name) for name in ("vm_vs_container", "iozone_ranking")]
    monkeypatch.setattr(studies, "ours", lambda: others)
    costs.write(stored)
    costs.write(stored, some=others[:1])
    assert list(costs.read()) == ["vm_vs_container", "iozone_ranking"]


def test_a_preset_without_results_is_no_reference(stored, error_of):
    said = error_of(references.write, stored, vm_vs_container, "full")
    assert f"expected trials of the preset full in {stored}; found none" in said
    assert not references.folder("full").exists()


def test_the_trials_of_paper_can_be_verified(stored, error_of):
    assert "no stored reference of the preset paper" in error_of(verification.reference, "paper")
    references.write(stored, vm_vs_container, "paper")
    assert "the reference lacks" in error_of(verification.reference, "paper")  # another testbed's
    wanted = [trial.hash for trial in preset_trials(vm_vs_container, "paper")]
    with open(references.folder("paper") / f"{STUDY}.digests.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [("trial", "image_digest", "result_sha256"), *((name, "i", "r") for name in wanted)]
        )
    assert set(verification.reference("paper")) == {(STUDY, name) for name in wanted}
