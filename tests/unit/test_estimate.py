"""Minutes and disk space of a campaign, before it starts."""

import re

import pytest

import stored
from campaign_support import Bench
from elevatorlab import studies
from elevatorlab.results import costs, store
from elevatorlab.results.outcome import Outcome
from elevatorlab.running import campaign, estimate, expansion
from elevatorlab.running.campaign import Share
from stubs import Stub, trials


class Two(Stub):
    """The default testbed on a machine with two cores, as far as an estimate can tell."""

    defaults = {"arms": ("host", "container"), "device": "null_blk"}


@pytest.fixture
def quick():
    (share,) = expansion.shares(studies.get("vm_vs_container"), "quick", {}, [Two("ledger")])
    return share


def numbers(sentence):
    found = re.match(r"about ([\d.]+) min \(([\d.]+) min .*\) and ([\d.]+) MiB", sentence)
    return [float(number) for number in found.groups()]


def test_the_quick_preset_takes_what_the_reference_took(quick, tmp_path):
    cost = costs.read()["vm_vs_container"]
    # The preset may have got more trials since the reference was made.
    times = len(quick.trials) / int(cost["trials"])
    sentence = estimate.sentence([quick], tmp_path)
    minutes, worker_minutes, size_mib = numbers(sentence)
    assert worker_minutes == pytest.approx(float(cost["wall_s"]) / 60 * times, abs=0.5)
    assert minutes == pytest.approx(worker_minutes / 2, abs=0.5)
    assert size_mib == pytest.approx(int(cost["size_bytes"]) / 2**20 * times, abs=0.05)
    assert "the reference's trials" in sentence
    assert numbers(estimate.sentence([quick], tmp_path, workers=1))[0] == worker_minutes


def test_what_is_finished_here_counts_more_and_is_not_counted_again(quick, tmp_path):
    testbed, some = quick.testbed, quick.trials[:4]
    store.check(tmp_path, testbed)
    content = {"result.json": b"{}", "samples.csv": bytes(1 << 20)}
    for wall_s, trial in zip((100, 200), some, strict=False):
        store.keep(tmp_path, testbed, trial, Outcome(content, stored.provenance(wall_s=wall_s)))
    sentence = estimate.sentence([Share(testbed, some)], tmp_path)
    assert numbers(sentence) == [2.5, 5.0, 2.0]  # 2 of 150 s each
    assert "the trials finished here" in sentence


def test_machines_work_at_the_same_time_and_what_shares_one_does_not(tmp_path):
    shares = []
    for name, machine, wall_s in (("a", "m1", 60), ("b", "m1", 120), ("c", "m2", 240)):
        bench = Bench(name, machine)
        store.check(tmp_path, bench)
        first, *rest = trials(2)
        outcome = Outcome({"result.json": b"{}"}, stored.provenance(wall_s=wall_s))
        store.keep(tmp_path, bench, first, outcome)
        shares.append(Share(bench, [first, *rest]))
    assert numbers(estimate.sentence(shares, tmp_path))[:2] == [4.0, 7.0]


def test_what_was_never_measured_is_not_guessed(tmp_path):
    share = Share(Stub("ledger"), trials(7))
    sentence = estimate.sentence([share], tmp_path)
    assert "minutes not known before the first trial is finished" in sentence
    assert f"{7 * campaign.MIB_PER_RESULT} MiB of disk space at most" in sentence


def test_nothing_to_run(tmp_path):
    assert estimate.sentence([Share(Stub("ledger"), [])], tmp_path) == "nothing to run"
