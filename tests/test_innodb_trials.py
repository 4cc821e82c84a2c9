"""A real MariaDB on a device of its own: the same bits, in a container, on a host; and its end."""

import json

import pytest

from commits import commit_trial, inserts
from elevatorlab import testbeds
from elevatorlab.errors import TrialFailed
from elevatorlab.results import reading, store
from elevatorlab.running import campaign
from elevatorlab.trial import profile
from helpers import fio, run_into
from state import assert_restored, machine_state

FILE = {"kind": "file_backed", "size_mib": 160}
NEEDS_A_SERVER = pytest.mark.programs("losetup", "mariadbd", "mkfs.ext4", "sysbench")
BOXED = ({"name": "main", "isolation": "container"},)


def phases_of(folder):
    return json.loads((folder / "result.json").read_text())["workloads"]["inserts"]["phases"]


# The deterministic testbed


@pytest.fixture(scope="module")
def run(testbed, tmp_path_factory):
    """Return a function that runs a trial in the deterministic machine."""

    def one(trial):
        testbed.prepare([trial])
        return run_into(tmp_path_factory.mktemp("result"), testbed, trial)

    return one


@pytest.fixture(scope="module")
def plain(make_trial):
    return commit_trial(make_trial, (1, 1, 60), (8, 1, 100))


@pytest.fixture(scope="module")
def three_runs(run, plain):
    return [run(plain) for _ in range(3)]


@pytest.mark.image
@pytest.mark.anew
def test_server_client_and_device_give_the_same_bits_three_times(three_runs):
    assert len({reading.digest(folder) for folder in three_runs}) == 1


@pytest.mark.image
def test_every_row_is_a_transaction_and_the_disk_is_hardly_read(three_runs):
    """No statement reads. The server itself may fetch a page of its own, now and then."""
    folder = three_runs[0]
    for number, (phase, commits) in enumerate(zip(phases_of(folder), (60, 100), strict=True), 1):
        text = (folder / f"raw/inserts.{number}.sysbench.txt").read_text()
        assert f"transactions:                        {commits} " in text
        assert "read:                            0" in text
        assert phase["commits"] == commits
        assert phase["reads"] <= 0.05 * commits


@pytest.mark.image
def test_eight_threads_share_flushes(three_runs):
    one, eight = phases_of(three_runs[0])
    assert one["fsyncs"] >= one["commits"]
    assert eight["fsyncs"] < 0.7 * eight["commits"]
    assert eight["tps"] > one["tps"]


@pytest.mark.image
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


@pytest.mark.image
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


@pytest.mark.image
def test_a_server_killed_in_the_middle_is_one_sentence_and_its_log(run, make_trial):
    kill = "sh -c 'sleep 1; kill -9 $(cat /run/elevatorlab/disk/main/data/pid)'; true"
    killer = fio("killer", rw="write", size="64k", bs="64k", exec_prerun=kill)
    trial = commit_trial(make_trial, workloads=(inserts((8, 1, 100000)), killer))
    with pytest.raises(TrialFailed, match="sysbench ended with status") as problem:
        run(trial)
    assert "ready for connections" in str(problem.value)


@pytest.mark.image
def test_a_disk_that_fills_in_the_middle_is_one_sentence(run, make_trial):
    filler = {"kind": "endless_write", "name": "filler", "group": "main"}
    workloads = (inserts((8, 0, 20000)), filler)
    trial = commit_trial(make_trial, workloads=workloads, settle_s=1)
    with pytest.raises(TrialFailed, match="sysbench ended with status.*is full"):
        run(trial)


@pytest.mark.image
def test_a_server_that_is_not_up_in_time_fails_the_trial(run, make_trial):
    trial = commit_trial(make_trial, workloads=(inserts((1, 1, 10), start_limit_s=0.02),))
    with pytest.raises(TrialFailed, match="did not answer within 0.02 s; expected it to come up"):
        run(trial)


# Real machines


def run_for_real(name, trial, folder):
    before = machine_state()
    testbed = testbeds.get(name, say=lambda _: None)
    try:
        campaign.run([campaign.Share(testbed, [trial])], folder)
    finally:
        testbed.close()
        assert_restored(before)
    return store.folder(folder, testbed) / trial.hash


@pytest.mark.root
@NEEDS_A_SERVER
def test_on_this_machine(tmp_path, make_trial):
    trial = commit_trial(make_trial, (1, 1, 50), (8, 1, 200), device=FILE)
    one, eight = phases_of(run_for_real("host", trial, tmp_path))
    assert one["fsyncs"] >= 50 and eight["fsyncs"] < 200
    assert one["tps"] > 0 < eight["utilization_ratio"]


@pytest.mark.root
@pytest.mark.docker
@pytest.mark.environment_image
def test_in_a_container_of_an_engine(tmp_path, make_trial):
    trial = commit_trial(make_trial, (1, 1, 50), (8, 1, 200), device=FILE, groups=BOXED)
    one, eight = phases_of(run_for_real("docker", trial, tmp_path))
    assert one["fsyncs"] >= 50 and eight["fsyncs"] < 200


@pytest.mark.root
@NEEDS_A_SERVER
def test_a_failed_start_leaves_nothing_on_this_machine(tmp_path, make_trial):
    workloads = (inserts((1, 1, 10), start_limit_s=0.01),)
    trial = commit_trial(make_trial, device=FILE, workloads=workloads)
    with pytest.raises(TrialFailed, match="did not answer within 0.01 s"):
        run_for_real("host", trial, tmp_path)
