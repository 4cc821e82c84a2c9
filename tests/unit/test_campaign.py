"""Campaigns over several testbeds: who takes what, who waits for whom, and how long it takes."""

import re
import threading

import pytest

import stored
import stubs
from elevatorlab import studies
from elevatorlab.errors import NotReady, TrialFailed
from elevatorlab.results import costs, reading, store
from elevatorlab.results.outcome import Outcome
from elevatorlab.running import campaign, estimate, expansion
from elevatorlab.running.campaign import Share
from fake_testbed import Bench, trials  # noqa: F401  (fixture)
from stream_batching_tables import expanded


def overlaps(spans):
    """Count how often a trial began before the one before it had ended."""
    spans = sorted((start, end) for start, end, _ in spans)
    return sum(b[0] < a[1] for a, b in zip(spans, spans[1:], strict=False))


def test_testbeds_on_different_machines_work_at_the_same_time(trials, tmp_path):
    one, two = Bench("one", "m1"), Bench("two", "m2")
    campaign.run([Share(one, trials(6)), Share(two, trials(6))], tmp_path)
    assert overlaps(one.spans) == overlaps(two.spans) == 0
    assert overlaps(one.spans + two.spans) >= 4
    assert len(one.spans) == len(two.spans) == 6


def test_testbeds_on_one_machine_take_turns(trials, tmp_path):
    one, two = Bench("one", "m"), Bench("two", "m", slots=8)
    campaign.run([Share(one, trials(6)), Share(two, trials(6))], tmp_path)
    assert overlaps(one.spans + two.spans) == 0
    starts = [(s[0], "one") for s in one.spans] + [(s[0], "two") for s in two.spans]
    order = [bench for _, bench in sorted(starts)]
    assert order != sorted(order), "in random order, not one after the other"


def test_repetitions_are_blocks(trials, tmp_path):
    one, two = Bench("one", "m"), Bench("two", "m")
    campaign.run([Share(one, trials(9)), Share(two, trials(9))], tmp_path)
    in_order = sorted(one.spans + two.spans, key=lambda span: span[0])
    repetitions = [trial.repetition for _, _, trial in in_order]
    assert repetitions == sorted(repetitions)
    seeds = [trial.seed for _, _, trial in one.spans]
    assert seeds != sorted(seeds), "shuffled within a block"
    again = Bench("one", "m")
    campaign.run([Share(again, trials(9)), Share(Bench("two", "m"), trials(9))], tmp_path / "2")
    assert [trial.seed for _, _, trial in again.spans] == seeds, "in the same order each time"


def test_a_testbed_with_slots_runs_several_unless_told_otherwise(trials, tmp_path):
    many = Bench("many", "m", slots=3)
    campaign.run([Share(many, trials(6))], tmp_path / "1")
    assert overlaps(many.spans) > 0
    few = Bench("few", "m", slots=3)
    campaign.run([Share(few, trials(6))], tmp_path / "2", workers=1)
    assert overlaps(few.spans) == 0


def test_each_testbed_gets_what_it_takes(trials):
    host, machine = Bench("host", "m"), Bench("vm", "m", takes="virtual_machine")
    both = [*trials(2), *trials(3, machine="virtual_machine")]
    shares = campaign.divide([(host, both), (machine, both)])
    assert [len(share.trials) for share in shares] == [2, 3]


def test_what_nobody_takes_is_refused_before_anything_starts(trials):
    host = Bench("host", "m")
    with pytest.raises(NotReady) as refusal:
        campaign.divide([(host, [*trials(2), *trials(3, machine="virtual_machine")])])
    assert "3 of 5 trials belong on another testbed than host" in str(refusal.value)


def test_what_fails_does_not_stop_the_rest_and_is_run_again(trials, tmp_path):
    bench = Bench("one", "m", fails=(1, 4))
    with pytest.raises(TrialFailed) as failure:
        campaign.run([Share(bench, trials(6))], tmp_path)
    assert "2 of 6 trials failed" in str(failure.value)
    assert str(failure.value).count("the disk is on fire") == 2
    assert str(campaign.plan([Share(bench, trials(6))], tmp_path)) == (
        "2 trials to run, 4 finished already"
    )
    logs = sorted(tmp_path.glob("one/*.failed.txt"))
    assert [log.read_bytes() for log in logs] == [b"smoke\nflames\n"] * 2
    assert all(f"The whole log: {log}" in str(failure.value) for log in logs)
    bench.fails = ()
    campaign.run([Share(bench, trials(6))], tmp_path)
    assert list(tmp_path.glob("one/*.failed.txt")) == []
    assert len(bench.spans) == 8
    assert bench.prepared is not None and len(bench.prepared) == 2


def test_every_testbed_is_closed_whatever_happens(trials, tmp_path):
    good, bad = Bench("good", "m1"), Bench("bad", "m2")
    bad.prepare = lambda trials: (_ for _ in ()).throw(NotReady("no disk; expected one"))
    with pytest.raises(NotReady, match="no disk"):
        campaign.run([Share(good, trials(2)), Share(bad, trials(2))], tmp_path)
    assert good.closed == bad.closed == 1
    assert good.spans == [], "nothing starts before every testbed is ready"


def test_no_trial_starts_after_the_minutes_and_the_next_call_goes_on(trials, tmp_path):
    bench = Bench("one", "m")
    share = Share(bench, trials(6))
    shown = []
    campaign.run([share], tmp_path, minutes=0, progress=lambda *one: shown.append(one[:2]))
    assert 1 <= len(bench.spans) < 6
    done = 6 - len(share.todo(tmp_path))
    assert done == len(bench.spans), "what had started is kept"
    assert shown[-1] == (done, 6)
    campaign.run([share], tmp_path, minutes=60)
    assert not share.todo(tmp_path) and len(bench.spans) == 6


def test_a_cluster_takes_nothing_back_in_time(trials, tmp_path, error_of):
    share = Share(Bench("one", "m"), trials(2))
    said = error_of(campaign.run, [share], tmp_path, minutes=1, cluster="tcp://x:1")
    assert "--minutes and --cluster: expected one of them" in said


def test_ctrl_c_stops_what_runs(trials, tmp_path):
    bench = Bench("one", "m", lasts_s=0.2)

    def interrupt(done, total, trial):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaign.run([Share(bench, trials(6))], tmp_path, progress=interrupt)
    assert bench.stopped == 1 and bench.closed == 1
    assert len(bench.spans) < 6
    assert [path for path in tmp_path.rglob("*.part")] == []


def test_notes_say_where_they_come_from(trials, tmp_path):
    told = []
    campaign.run([Share(Bench("one", "m"), trials(1))], tmp_path, note=told.append)
    assert told == [f"one {trials(1)[0].hash[:8]}: runs"]


def test_two_campaigns_never_write_to_one_folder(trials, tmp_path, error_of):
    bench = Bench("one", "m")
    store.check(tmp_path, bench)
    with store.sole_writer(tmp_path, bench):
        said = error_of(campaign.run, [Share(Bench("one", "m"), trials(1))], tmp_path)
    assert f"{tmp_path}: expected to be alone; another elevatorlab is running" in said
    assert "Wait for it to end" in said


def test_a_signal_reaches_the_trial(trials, tmp_path):
    """A testbed's `stop` is called while its trial runs, not after it."""
    bench, began = Bench("one", "m", lasts_s=0.5), threading.Event()

    def note(text):
        began.set()

    def progress(done, total, trial):
        if not done:
            began.wait(5)
            raise SystemExit(143)

    with pytest.raises(SystemExit):
        campaign.run([Share(bench, trials(3))], tmp_path, progress=progress, note=note)
    assert bench.stopped == 1


class Two(stubs.Stub):
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
    # What was cut off says nothing, and will be run again: 3 of 200 s each.
    (store.folder(tmp_path, testbed) / some[0].hash / "provenance.json").write_bytes(b'{"schema')
    assert numbers(estimate.sentence([Share(testbed, some)], tmp_path))[1] == 10.0


@pytest.mark.parametrize("name", ["result.json", "provenance.json"])
def test_a_result_that_was_cut_off_is_made_again_and_kept_aside(trials, name, tmp_path):
    bench = Bench("host", "m")
    share = Share(bench, trials(2))
    campaign.run([share], tmp_path)
    damaged = store.folder(tmp_path, bench) / share.trials[0].hash
    (damaged / name).write_bytes(b'{"schema')
    assert share.todo(tmp_path) == share.trials[:1]
    assert str(damaged) in str(campaign.plan([share], tmp_path))
    campaign.run([share], tmp_path)
    assert share.todo(tmp_path) == [] and len(bench.spans) == 3
    assert (damaged.with_name(f"{damaged.name}.damaged") / name).read_bytes() == b'{"schema'
    assert len(list(reading.results_in(tmp_path))) == 2


def test_a_trial_takes_as_much_longer_as_it_has_processors(tmp_path):
    testbed = Bench("deterministic", "deterministic")
    one, eight = expanded("smoke", cores=(1, 4), targets=("ram",), schedulers=("none",))
    store.check(tmp_path, testbed)
    told = stored.provenance(wall_s=60)
    store.keep(tmp_path, testbed, one, Outcome({"result.json": b"{}"}, told))
    assert numbers(estimate.sentence([Share(testbed, [one, eight])], tmp_path))[1] == 4.0


def test_machines_work_at_the_same_time_and_what_shares_one_does_not(tmp_path):
    shares = []
    for name, machine, wall_s in (("a", "m1", 60), ("b", "m1", 120), ("c", "m2", 240)):
        bench = Bench(name, machine)
        store.check(tmp_path, bench)
        first, *rest = stubs.trials(2)
        outcome = Outcome({"result.json": b"{}"}, stored.provenance(wall_s=wall_s))
        store.keep(tmp_path, bench, first, outcome)
        shares.append(Share(bench, [first, *rest]))
    assert numbers(estimate.sentence(shares, tmp_path))[:2] == [4.0, 7.0]


def test_what_was_never_measured_is_not_guessed(tmp_path):
    share = Share(stubs.Stub("ledger"), stubs.trials(7))
    sentence = estimate.sentence([share], tmp_path)
    assert "minutes not known before the first trial is finished" in sentence
    assert f"{7 * campaign.MIB_PER_RESULT} MiB of disk space at most" in sentence


def test_nothing_to_run(tmp_path):
    assert estimate.sentence([Share(stubs.Stub("ledger"), [])], tmp_path) == "nothing to run"
