"""Two stored references: quick's, and that of the preset paper, which is shown first."""

import csv
import json

import pytest

from elevatorlab import cache
from elevatorlab.judging import verdict_cache
from elevatorlab.plugins import studies
from elevatorlab.results import costs, references, store
from elevatorlab.results.reading import results_in
from elevatorlab.results.references import ResultSource
from elevatorlab.running import provenance
from elevatorlab.running.provenance import preset_trials
from elevatorlab.sharing import verification
from elevatorlab.showing import report, report_writer
from elevatorlab.studies import iozone_ranking, vm_vs_container
from elevatorlab.trial import Trial
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
    store_reference(tmp_path / "results", "quick")
    return tmp_path / "results"


def store_reference(results, preset, but=0):
    """Store a preset's results as its reference, but for some."""
    found = results_in(results, STUDY)
    of_preset = [one.trial for one in found if one.trial["preset"] == preset]
    trials = [Trial.model_validate(one) for one in of_preset[but:]]
    references.write(results, vm_vs_container, preset, trials)


def presets(results=None):
    """Return the presets in the table and in the claims that `results` names."""
    measured = set(store.load(STUDY, results)["preset"])
    judged = {claim.preset for claim in verdict_cache.judge(STUDY, results).claims} - {""}
    assert judged == measured
    return measured


def test_paper_is_shown_where_it_is_stored_and_quick_by_its_name(stored):
    assert presets() == presets("reference/quick") == {"quick"}
    store_reference(stored, "paper")
    assert presets() == presets("reference") == presets("reference/paper") == {"paper"}
    assert presets("reference/quick") == {"quick"}


def taste(results):
    return report_writer._quick_reference([ResultSource.of(STUDY, results)])


def test_the_report_of_paper_shows_quick_beside_it(stored):
    assert taste(None) is None
    store_reference(stored, "paper")
    assert taste(None) == taste("reference/paper") == "reference/quick"
    assert taste("reference/quick") is taste("published") is None
    assert len({report.default_place(name) for name in (None, *report.NAMED_REPORTS)}) == 4


def test_each_has_its_own_digests_costs_and_origin(stored, monkeypatch):
    monkeypatch.setattr(studies, "ours", lambda: [vm_vs_container])
    store_reference(stored, "paper")
    for preset in BOTH:
        costs.write(stored, preset, [vm_vs_container])
        trials = references.digests(STUDY, preset)
        assert set(trials) == set(store.load(STUDY, f"reference/{preset}")["trial"])
        assert costs.read(preset)[STUDY]["trials"] == str(len(trials))
        (origin,) = provenance.of([ResultSource.of(STUDY, f"reference/{preset}")])
        assert (origin.preset, set(origin.trials)) == (preset, set(trials))
    assert not set(references.digests(STUDY)) & set(references.digests(STUDY, "paper"))


def test_an_origin_tells_only_what_its_trials_share(stored):
    def of_both():
        return [origin.facts for origin in provenance.of_results(stored)]

    shared = of_both()[0]["accelerator"]
    assert all(facts["accelerator"] == shared for facts in of_both())
    file = next(results_in(stored, STUDY)).folder / "provenance.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"accelerator": f"{shared}, on four processors"}))
    with_it = [facts for facts in of_both() if "accelerator" in facts]
    assert len(with_it) == len(of_both()) - 1
    (origin,) = provenance.of([ResultSource.of(STUDY, "reference")])
    assert "accelerator" not in origin.facts


def test_a_study_stored_alone_leaves_the_costs_of_the_others(stored, monkeypatch):
    monkeypatch.setattr(studies, "ours", lambda: [vm_vs_container, iozone_ranking])
    known = {STUDY: ("1", "2.0", "3"), iozone_ranking.NAME: ("4", "5.0", "6")}
    rows = [",".join((name, *numbers)) for name, numbers in known.items()]
    costs.file().write_text("\n".join(["study,trials,wall_s,size_bytes", *rows, ""]))
    costs.write(stored, "quick", [vm_vs_container])
    before, after = known[iozone_ranking.NAME], costs.read()
    assert tuple(after.pop(iozone_ranking.NAME).values())[1:] == before
    assert int(after[STUDY]["trials"]) == len(references.digests(STUDY)) > 1


def test_what_is_no_trial_of_the_preset_today_is_left_out(stored):
    """A folder may have trials of the preset's name that an earlier version made."""
    before = references.digests(STUDY)
    store_reference(stored, "quick", but=1)
    assert len(references.digests(STUDY)) == len(before) - 1
    assert set(store.load(STUDY, "reference/quick")["trial"]) == set(references.digests(STUDY))


def test_a_preset_without_results_is_no_reference(stored, error_of):
    said = error_of(store_reference, stored, "full")
    assert f"expected trials of the preset full in {stored}; found none" in said
    assert not references.folder("full").exists()


def test_the_trials_of_paper_can_be_verified(stored, error_of):
    assert "no stored reference of the preset paper" in error_of(verification.reference, "paper")
    store_reference(stored, "paper")
    assert "the reference lacks" in error_of(verification.reference, "paper")  # another testbed's
    wanted = [trial.hash for trial in preset_trials(vm_vs_container, "paper")]
    with open(references.folder("paper") / f"{STUDY}.digests.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [("trial", "image_digest", "result_sha256"), *((name, "i", "r") for name in wanted)]
        )
    assert set(verification.reference("paper")) == {(STUDY, name) for name in wanted}
