"""Which verdicts stand on another machine: the variations, the table, the report."""

import pandas as pd
import pytest

import stubs
from elevatorlab.judging import sensitivity
from elevatorlab.judging.families import statements
from elevatorlab.judging.verdicts import Verdict
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
    untested = Verdict.NOT_TESTABLE
    usual = claims(Verdict.REPRODUCED, Verdict.REPRODUCED, untested, untested)
    return sensitivity.table(
        [*usual, claim("arithmetic", Verdict.REPRODUCED, "published data")],
        {
            "slow": claims(Verdict.REPRODUCED, Verdict.UNDECIDED, untested, untested),
            "fast": claims(Verdict.REPRODUCED, Verdict.REPRODUCED, Verdict.CONTRADICTED, untested),
        },
    )


def test_the_table_has_what_any_machine_could_test(found):
    assert found["claim"].tolist() == ["s/a", "s/b", "s/c"]
    assert found["stands"].tolist() == ["yes", "no", "no"]
    assert found["slow"].tolist() == ["reproduced", "undecided", "not testable here"]
    said = sensitivity.counts(found)
    assert said == ["slow: 2 of 3 verdicts stand", "fast: 2 of 3 verdicts stand"]


def test_a_verdict_that_flips_says_so_in_the_report(found, tmp_path, monkeypatch):
    monkeypatch.setattr(sensitivity, "FOLDER", tmp_path)
    found.to_csv(sensitivity.file("s"), index=False)
    flips = sensitivity.stored_flips()
    sentence = "The preset quick comes to reproduced, and to another verdict with slow (undecided)."
    assert flips["s/b"] == sentence and "s/a" not in flips
    shown = [*claims(Verdict.REPRODUCED, Verdict.REPRODUCED), claim("c", Verdict.UNDECIDED, "host")]
    report_pages.build(tmp_path / "report", shown, flips=flips)
    page = (tmp_path / "report" / "claims.html").read_text()
    assert page.count(sentence) == page.count('class="flips"') == 1


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


def test_a_job_that_is_not_finished_is_not_judged(tmp_path, monkeypatch, error_of):
    monkeypatch.setattr("elevatorlab.results.store.BUILD", tmp_path)
    prepared = variations.prepare("vm_vs_container", "smoke", Machine("usual"), OTHERS)
    assert next(iter(prepared)) == sensitivity.USUAL and {*OTHERS} < {*prepared}
    assert len({job.results for job in prepared.values()}) == len(prepared)
    said = error_of(variations.judge, prepared)
    assert said.startswith("sensitivity of vm_vs_container, as assumed: expected all trials finish")


def test_what_is_stored_is_of_claims_that_there_are():
    stored = {file.stem: pd.read_csv(file) for file in sensitivity.FOLDER.glob("*.csv")}
    assert set(stored) <= set(OURS)
    for name, table in stored.items():
        assert set(sensitivity.COLUMNS) < set(table)
        assert set(table["claim"]) <= {item.claim["id"] for item in statements(name)}
