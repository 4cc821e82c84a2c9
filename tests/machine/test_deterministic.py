"""The same bits from every run and every boot; so trials of tests come from the user's cache."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from deterministic_runs import busy, busy_result, fingerprint, run  # noqa: F401  (fixtures)
from elevatorlab import cache
from elevatorlab.paths import PROJECT
from elevatorlab.results import reading
from elevatorlab.testbeds.deterministic import (
    DeterministicTestbed,
    image,
    our_qemu,
    qemu,
    repeated_trials,
    template,
)
from elevatorlab.trial import Trial
from helpers import fio, result_of


@pytest.mark.image
def test_another_processor_has_another_digest():
    other = qemu.usual(qemu.OTHER_PROCESSOR)
    assert image.digest(other) != image.digest() == image.digest(qemu.usual())


@pytest.mark.image
@pytest.mark.anew
def test_another_seed_gives_another_result(run, busy, busy_result):
    other = fingerprint(run(busy.model_copy(update={"seed": 2})))
    first = fingerprint(busy_result)
    assert other["all"] != first["all"]
    assert other["result.json"] != first["result.json"]


@pytest.mark.image
@pytest.mark.anew
def test_latencies_are_in_nanoseconds(busy_result):
    report = json.loads((busy_result / "raw/reader.fio.json").read_text())
    latency = report["jobs"][0]["read"]["clat_ns"]
    assert latency["min"] > 80_000  # the device's own service time
    assert latency["min"] % 1000 or latency["max"] % 1000
    figures = result_of(busy_result)["workloads"]["reader"]["read"]
    assert figures["latency_mean_ns"] == latency["mean"]


@pytest.mark.image
@pytest.mark.anew
@pytest.mark.parametrize("booked_ns", [0, 3_730_237])
def test_idle_time_booked_while_the_machine_stopped_is_taken_back(tmp_path, booked_ns):
    before, after = b"QEVM...\x05timer/icount", b"~..."
    state = tmp_path / "state"
    state.write_bytes(before + template.ICOUNT.pack(1, booked_ns, 7_400_000_000) + after)
    assert template.take_back_idle_time(state) == booked_ns
    assert state.read_bytes() == before + template.ICOUNT.pack(1, 0, 7_400_000_000) + after


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


@pytest.mark.image
def test_the_page_of_campaigns_names_the_variable():
    assert f"`{repeated_trials.REUSE}=1`" in (PROJECT / "docs/campaigns.md").read_text()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Let the test have a cache of its own, with nothing but the emulator."""
    own = tmp_path / "cache"
    own.mkdir()
    (own / our_qemu.KIND).symlink_to(cache.ROOT / our_qemu.KIND)
    monkeypatch.setattr(cache, "ROOT", own)


@pytest.mark.image
def test_a_trial_runs_once(trial, testbed, own_cache):
    testbed.prepare([trial])
    first, second = (testbed.run(trial) for _ in range(2))
    assert (first.files, first.provenance) == (second.files, second.provenance)
    assert first.provenance["wall_s"] > 0


@pytest.mark.image
@pytest.mark.parametrize("forbidden_by", ["the environment", "the testbed"])
def test_it_runs_again_where_the_cache_is_not_used(trial, own_cache, monkeypatch, forbidden_by):
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


@pytest.mark.image
def test_what_fails_is_not_kept(trial, testbed, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "ROOT", tmp_path)

    def fail():
        raise RuntimeError("no result")

    with pytest.raises(RuntimeError):
        repeated_trials.outcome("a machine", trial, fail)
    assert list(kept_of("a machine")) == []


@pytest.mark.image
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
