"""Trials of tests come from the user's cache, which has what the machine would give again."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from elevatorlab import cache
from elevatorlab.paths import PROJECT
from elevatorlab.results import reading
from elevatorlab.testbeds.deterministic import DeterministicTestbed, repeated_trials
from elevatorlab.trial import Trial
from helpers import fio

pytestmark = pytest.mark.image

DRAWN = 5


def kept_of(machine):
    """Yield the trials in the cache that this machine can run again, with their outcomes."""
    for entry in cache.entries():
        if entry.kind == repeated_trials.KIND:
            try:
                one = Trial.model_validate_json((entry.folder / repeated_trials.TRIAL).read_text())
            except (OSError, ValueError):  # half made, or its plug-ins are not installed
                continue
            if entry.digest == repeated_trials.digest(machine, one):
                yield one, repeated_trials.outcome(machine, one, pytest.fail)


@pytest.fixture
def trial(make_trial):
    return make_trial(workloads=(fio(runtime="20ms", time_based=1),))


def test_the_page_of_campaigns_names_the_variable():
    assert f"`{repeated_trials.REUSE}=1`" in (PROJECT / "docs/campaigns.md").read_text()


def test_a_trial_runs_once(trial, testbed, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    testbed.prepare([trial])
    first, second = (testbed.run(trial) for _ in range(2))
    assert (first.files, first.provenance) == (second.files, second.provenance)
    assert first.provenance["wall_s"] > 0


@pytest.mark.parametrize("forbidden_by", ["the environment", "the testbed"])
def test_it_runs_again_where_the_cache_is_not_used(trial, tmp_path, monkeypatch, forbidden_by):
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    testbed = DeterministicTestbed(say=lambda _: None)
    testbed.prepare([trial])
    first = testbed.run(trial)
    if forbidden_by == "the testbed":
        testbed.anew = True
    else:
        monkeypatch.setenv(repeated_trials.REUSE, "0")
    second = testbed.run(trial)
    assert first.files == second.files
    assert first.provenance["wall_s"] != second.provenance["wall_s"]


def test_what_fails_is_not_kept(trial, testbed, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "ROOT", tmp_path)

    def fail():
        raise RuntimeError("no result")

    with pytest.raises(RuntimeError):
        repeated_trials.outcome("a machine", trial, fail)
    assert list(kept_of("a machine")) == []


def test_drawn_trials_have_the_same_bits_when_they_run_again(trial, testbed):
    """Five of all that other tests have left, others each time; at least the one from here."""
    testbed.prepare([trial])
    testbed.run(trial)
    kept = list(kept_of(f"{testbed.name} {testbed.identity()}"))
    assert trial.hash in {one.hash for one, _ in kept}
    drawn = random.sample(kept, min(DRAWN, len(kept)))
    anew = DeterministicTestbed(say=lambda _: None)
    anew.anew = True
    anew.prepare([one for one, _ in drawn])
    with ThreadPoolExecutor(2) as threads:
        again = list(threads.map(anew.run, [one for one, _ in drawn]))
    for (one, was), now in zip(drawn, again, strict=True):
        same = was.files.keys() - reading.HOST_DECIDES
        assert now.files.keys() == was.files.keys(), one.hash
        assert {name: now.files[name] for name in same} == {name: was.files[name] for name in same}
