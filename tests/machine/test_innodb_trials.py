"""A real MariaDB on a device of its own: the same bits, in a container, on a host; and its end."""

import pytest

from commits import commit_trial, inserts, phases_of, plain, run, three_runs  # noqa: F401  (fixtures)
from elevatorlab.errors import TrialFailed
from elevatorlab.trial import profile

pytestmark = pytest.mark.image


def test_every_row_is_a_transaction_and_the_disk_is_hardly_read(three_runs):
    """No statement reads. The server itself may fetch a page of its own, now and then."""
    folder = three_runs[0]
    for number, (phase, commits) in enumerate(zip(phases_of(folder), (60, 100), strict=True), 1):
        text = (folder / f"raw/inserts.{number}.sysbench.txt").read_text()
        assert f"transactions:                        {commits} " in text
        assert "read:                            0" in text
        assert phase["commits"] == commits
        assert phase["reads"] <= 0.05 * commits


def test_eight_threads_share_flushes(three_runs):
    one, eight = phases_of(three_runs[0])
    assert one["fsyncs"] >= one["commits"]
    assert eight["fsyncs"] < 0.7 * eight["commits"]
    assert eight["tps"] > one["tps"]


def test_a_flush_takes_a_service_time_where_the_cache_is_volatile(run, make_trial):
    """4 ms a write and 4 ms a flush: null_blk makes a flush as dear as a write, not dearer."""
    device = profile("raid_no_cache", 160)
    cached = commit_trial(make_trial, (1, 1, 40), device=device)
    written = profile("raid_no_cache", 160).model_copy(update={"write_cache_mib": 0})
    free = commit_trial(make_trial, (1, 1, 40), device=written)
    (with_cache,), (without,) = phases_of(run(cached)), phases_of(run(free))
    assert with_cache["flushes"] >= 40 and without["flushes"] == 0
    more_ms = with_cache["duration_s"] * 1000 - without["duration_s"] * 1000
    assert more_ms / with_cache["flushes"] == pytest.approx(4, rel=0.25)
    assert with_cache["latency_p50_ms"] > 8


def test_bfq_that_must_wait_leaves_the_device_idle(run, make_trial):
    """As shipped it depends on the seed: four of them idled for 0.02 to 0.6 of the time."""

    def idle(name, **tunables):
        scheduler = {"name": name, "tunables": tunables}
        trial = commit_trial(make_trial, (1, 1, 200), (8, 1, 200), scheduler=scheduler)
        phase = phases_of(run(trial))[1]
        return phase["idle_while_waiting_s"] / phase["duration_s"]

    strict = {"rotational": 1, "slice_idle": 8, "strict_guarantees": 1, "low_latency": 0}
    assert idle("bfq", **strict) > 0.1
    assert idle("none") == 0


def test_a_server_that_is_not_up_in_time_fails_the_trial(run, make_trial):
    trial = commit_trial(make_trial, workloads=(inserts((1, 1, 10), start_limit_s=0.02),))
    with pytest.raises(TrialFailed, match="did not answer within 0.02 s; expected it to come up"):
        run(trial)
