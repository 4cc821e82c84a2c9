"""A real MariaDB on a device of its own: the same bits, in a container, on a host; and its end."""

import pytest

from commits import commit_trial, inserts, phases_of, plain, run, three_runs  # noqa: F401  (fixtures)
from elevatorlab.errors import TrialFailed
from elevatorlab.trial import profile
from helpers import result_of

pytestmark = pytest.mark.image


def test_every_row_is_a_transaction_and_the_disk_is_hardly_read(three_runs):
    """No statement reads. The server itself may fetch a page of its own, now and then."""
    folder = three_runs[0]
    for number, phase in enumerate(phases_of(folder), 1):
        text = (folder / f"raw/inserts.{number}.sysbench.txt").read_text()
        assert f"transactions:                        {phase['commits']} " in text
        assert "read:                            0" in text
        assert phase["reads"] <= 0.05 * phase["commits"]


def test_phases_are_equally_long_whatever_the_flush_setting(run, make_trial):
    """A thread ends with the first commit after the time is over."""
    trial = commit_trial(make_trial, *((8, flush, 0.1) for flush in (1, 0, 2)), processors=4)
    durable, lazy, written = phases_of(run(trial))
    for phase in (durable, lazy, written):
        assert 0.1 <= phase["duration_s"] < 0.11
    assert lazy["fsyncs"] < 0.1 * lazy["commits"] and written["fsyncs"] < 0.1 * written["commits"]
    assert lazy["cpu_busy_ratio"] > 0.25  # more than one of four processors


@pytest.mark.parametrize("buffering", [True, False])
def test_the_server_says_how_it_writes_its_log(run, make_trial, buffering):
    workloads = (inserts((1, 1, 0.03), log_file_buffering=buffering),)
    folder = run(commit_trial(make_trial, workloads=workloads))
    (proof,) = (one for one in result_of(folder)["proofs"] if "log_file" in one["knob"])
    assert proof["read"] == ("ON" if buffering else "OFF")


def test_a_commit_writes_its_log_and_no_journal(run, make_trial):
    """The log was written full before, so no commit has to say that a block is in use now."""
    (phase,) = phases_of(run(commit_trial(make_trial, (1, 1, 0.2))))
    assert phase["writes"] / phase["commits"] < 1.15


def test_eight_threads_share_flushes(three_runs):
    one, eight = phases_of(three_runs[0])
    assert one["fsyncs"] >= one["commits"]
    assert eight["fsyncs"] < 0.7 * eight["commits"]
    assert eight["tps"] > one["tps"]


def test_a_flush_takes_a_service_time_where_the_cache_is_volatile(run, make_trial):
    """4 ms a write and 4 ms a flush: null_blk makes a flush as dear as a write, not dearer."""
    device = profile("raid_no_cache", 160)
    cached = commit_trial(make_trial, (1, 1, 0.5), device=device)
    written = profile("raid_no_cache", 160).model_copy(update={"write_cache_mib": 0})
    free = commit_trial(make_trial, (1, 1, 0.5), device=written)
    (with_cache,), (without,) = phases_of(run(cached)), phases_of(run(free))
    assert with_cache["flushes"] >= with_cache["commits"] and without["flushes"] == 0
    more_ms = 1000 / with_cache["tps"] - 1000 / without["tps"]
    flushes = with_cache["flushes"] / with_cache["commits"]
    assert more_ms / flushes == pytest.approx(4, rel=0.25)
    assert with_cache["latency_p50_ms"] > 8


def test_bfq_that_must_wait_leaves_the_device_idle(run, make_trial):
    """As shipped it depends on the seed: four of them idled for 0.02 to 0.6 of the time."""

    def idle(name, **tunables):
        scheduler = {"name": name, "tunables": tunables}
        trial = commit_trial(make_trial, (1, 1, 0.2), (8, 1, 0.1), scheduler=scheduler)
        phase = phases_of(run(trial))[1]
        return phase["idle_while_waiting_s"] / phase["duration_s"]

    strict = {"rotational": 1, "slice_idle": 8, "strict_guarantees": 1, "low_latency": 0}
    assert idle("bfq", **strict) > 0.1
    assert idle("none") == 0


def test_a_server_that_is_not_up_in_time_fails_the_trial(run, make_trial):
    trial = commit_trial(make_trial, workloads=(inserts((1, 1, 0.01), start_limit_s=0.02),))
    with pytest.raises(TrialFailed, match="did not answer within 0.02 s; expected it to come up"):
        run(trial)
