"""Which verdicts stand on another machine: the variations, the table, the report."""

import pandas as pd
import pytest

import stubs
from elevatorlab.errors import TrialFailed
from elevatorlab.judging import conclusions, sensitivity
from elevatorlab.judging.claim import Role
from elevatorlab.judging.families import statements
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.paths import PROJECT
from elevatorlab.plugins import studies
from elevatorlab.running import variations
from elevatorlab.running.expansion import parameters
from elevatorlab.showing import report_pages
from synthetic import plain_claim

OURS = [study.NAME for study in studies.ours()]


class Machine(stubs.Stub):
    """A testbed that leaves results which a study can judge."""

    def __init__(self, emulator):
        super().__init__("ledger")
        self.emulator = emulator


OTHERS = {"other processor": Machine("another")}


def claim(name, verdict, testbed="deterministic"):
    """Return a claim with a verdict."""
    return plain_claim(id=f"s/{name}", verdict=verdict, testbed=testbed)


def claims(*verdicts):
    """Return a claim for each verdict: s/a, s/b ..."""
    return [claim(name, verdict) for name, verdict in zip("abcdefg", verdicts, strict=False)]


@pytest.fixture
def found():
    same, other, untested = Verdict.REPRODUCED, Verdict.DIRECTION_ONLY, Verdict.NOT_TESTABLE
    return sensitivity.table(
        [
            *claims(same, same, untested, untested, Verdict.UNDECIDED),
            claim("arithmetic", same, "published data"),
        ],
        {
            "slow": claims(Verdict.UNDECIDED, other, untested, untested, same),
            "fast": claims(same, same, same, untested, other),
        },
    )


def test_the_table_has_what_any_machine_could_test(found):
    assert found["claim"].tolist() == ["s/a", "s/b", "s/c", "s/e"]
    assert found["slow"].tolist()[:3] == ["undecided", "direction only", "not testable here"]


def test_a_verdict_turns_where_two_machines_decide_and_differ(found):
    assert found["stands"].tolist() == ["yes", "no", "yes", "no"]
    said = sensitivity.counts(found)
    assert said == ["slow: 1 of 4 verdicts turn", "fast: 0 of 4 verdicts turn"]


def test_a_verdict_that_turns_is_counted_as_not_testable(found):
    turned = sensitivity.flips(found)
    shown = claims(Verdict.REPRODUCED, Verdict.REPRODUCED)
    (one,) = conclusions.outcomes(shown, turned)
    assert (one.predictions, one.tested, one.data) == (2, 1, {Verdict.REPRODUCED: 1})
    elsewhere = [claim(name, Verdict.REPRODUCED, "host") for name in "ab"]
    assert conclusions.outcomes(elsewhere, turned) == conclusions.outcomes(elsewhere)


def test_a_verdict_that_flips_says_so_in_the_report(found, tmp_path, monkeypatch):
    monkeypatch.setattr(sensitivity, "FOLDER", tmp_path)
    found.to_csv(sensitivity.file("s"), index=False)
    flips = sensitivity.stored_flips()
    assert set(flips) == {"s/b", "s/e"} and "slow (direction only)" in flips["s/b"]
    shown = [*claims(Verdict.REPRODUCED, Verdict.REPRODUCED), claim("c", Verdict.UNDECIDED, "host")]
    report_pages.build(tmp_path / "report", shown, flips=flips)
    page = (tmp_path / "report" / "claims.html").read_text()
    assert page.count(flips["s/b"]) == page.count('class="flips"') == 1


@pytest.mark.parametrize("name", OURS)
def test_each_variation_is_another_machine_with_the_same_trials(name):
    study = studies.get(name)
    found = variations.of(study, Machine("usual"), OTHERS)
    assert next(iter(found)) == sensitivity.USUAL
    seen = set()
    for overrides, testbed in found.values():
        made = study.trials(parameters(study, "smoke", overrides))
        hashes = (testbed.emulator, *(trial.hash for trial in made))
        assert hashes not in seen
        assert len(hashes) == len({*hashes})
        seen.add(hashes)


def test_other_seeds_are_the_seeds_of_no_preset():
    for name in OURS:
        study = studies.get(name)
        for preset in study.PRESETS:
            repetitions = parameters(study, preset).repetitions
            assert repetitions < variations.OTHER_SEED
        trials = study.trials(parameters(study, "smoke", {"first_seed": variations.OTHER_SEED}))
        assert {trial.seed - trial.repetition for trial in trials} == {variations.OTHER_SEED - 1}
        disks = {getattr(trial.device, "seed", None) for trial in trials}
        assert disks <= {None, variations.OTHER_SEED}


def test_each_machine_has_its_own_results(tmp_path, monkeypatch):
    monkeypatch.setattr("elevatorlab.results.store.BUILD", tmp_path)
    prepared = variations.prepare("vm_vs_container", "smoke", Machine("usual"), OTHERS)
    assert next(iter(prepared)) == sensitivity.USUAL and {*OTHERS} < {*prepared}
    assert len({job.results for job in prepared.values()}) == len(prepared)


def test_only_the_assumed_machine_has_to_run_every_trial(capsys):
    class Job:
        def run(self, workers, cluster):
            raise TrialFailed("the link carries too much")

    variations.run("slowdown x 0.5", Job(), None, None)
    assert "slowdown x 0.5: the link carries too much" in capsys.readouterr().out
    with pytest.raises(TrialFailed):
        variations.run(sensitivity.USUAL, Job(), None, None)


def test_what_is_stored_is_of_claims_that_there_are():
    stored = {file.stem: pd.read_csv(file) for file in sensitivity.FOLDER.glob("*.csv")}
    assert set(stored) <= set(OURS)
    for name, table in stored.items():
        assert set(sensitivity.COLUMNS) < set(table)
        assert set(table["claim"]) <= {item.claim["id"] for item in statements(name)}


def test_the_page_on_verdicts_counts_what_the_stored_tables_turn():
    stored = pd.concat(map(pd.read_csv, sensitivity.FOLDER.glob("*.csv")))
    turned = stored[stored["stands"] == "no"]
    page = " ".join((PROJECT / "docs/explanation/verdicts.md").read_text().split())
    of_predictions = (turned["role"] == Role.PREDICTION).sum()
    assert f"Of {len(stored)} verdicts, {len(turned)} turn, {of_predictions} of them" in page
