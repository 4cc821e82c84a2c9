"""Campaigns by Dask's workers: who runs what, what comes back, and what is refused."""

import gc
import os
import signal
import sys
import threading
import time

import distributed
import pytest

from elevatorlab import __version__
from elevatorlab.errors import ElevatorLabError, NotReady
from elevatorlab.results import reading
from elevatorlab.running import campaign
from elevatorlab.running.campaign import Share
from elevatorlab.running.pools import task
from fake_testbed import Bench
from helpers import children, wait_until
from stubs import AnotherElsewhere, Stub, cluster, started, trials

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def running():
    with cluster() as ours:
        yield ours


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger"


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


def processes(ledger):
    return {process for _, process, _ in started(ledger)}


def finished(results):
    return sorted(path.parent.name for path in results.glob("stub/*/result.json"))


def test_several_at_a_time_run_in_processes_of_their_own(ledger, results):
    campaign.run([Share(Stub(ledger), trials(8))], results)
    assert len(processes(ledger)) == 2 and os.getpid() not in processes(ledger)
    assert finished(results) == sorted(trial.hash for trial in trials(8))
    wait_until(lambda: not processes(ledger) & children(os.getpid()).keys())


@pytest.fixture
def without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)


def test_without_dask_several_at_a_time_run_in_threads(ledger, results, without_dask):
    """Each waits until both have begun, so neither can wait for the other to end."""
    testbed, both = Stub(ledger), threading.Barrier(2, timeout=60)
    alone = testbed.run

    def together(*arguments):
        both.wait()
        return alone(*arguments)

    testbed.run = together
    campaign.run([Share(testbed, trials(8))], results)
    assert processes(ledger) == {os.getpid()}
    assert finished(results) == sorted(trial.hash for trial in trials(8))


def test_without_dask_no_cluster_can_be_used(ledger, results, without_dask, error_of):
    share = [Share(Stub(ledger), trials(2))]
    said = error_of(campaign.run, share, results, cluster="tcp://127.0.0.1:8786")
    assert "expected Dask; it is not installed" in said and "elevatorlab[cluster]" in said
    assert started(ledger) == []


def test_one_at_a_time_needs_no_cluster(ledger, results):
    campaign.run([Share(Stub(ledger), trials(3))], results, workers=1)
    campaign.run([Share(Stub(ledger), trials(4))], results)
    assert processes(ledger) == {os.getpid()}


def test_a_result_arrives_whole(ledger, results, running):
    (trial,) = trials(1)
    campaign.run([Share(Stub(ledger), [trial])], results, cluster=running.scheduler_address)
    assert os.getpid() not in processes(ledger)
    folder = results / "stub" / trial.hash
    assert (folder / "raw/output.txt").read_text() == trial.hash
    (stored,) = reading.results_in(results)
    assert (stored.provenance.testbed, stored.provenance.package) == ("stub", __version__)


def test_real_devices_stay_with_the_client(ledger, results, running, make_real_trial):
    """One trial at a time on a machine, from this process, whatever cluster there is."""
    bench = Bench("host", "m")
    real = [make_real_trial(seed=seed) for seed in range(4)]
    shares = [Share(Stub(ledger), trials(4)), Share(bench, real)]
    campaign.run(shares, results, cluster=running.scheduler_address)
    assert os.getpid() not in processes(ledger)
    spans = sorted((start, end) for start, end, _ in bench.spans)
    assert len(spans) == 4  # which this process's own object has seen
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False))


def test_blocks_of_one_repetition(ledger, results, running):
    some = trials(40)
    campaign.run([Share(Stub(ledger), some)], results, cluster=running.scheduler_address)
    repetition = {trial.hash: trial.repetition for trial in some}
    order = [repetition[trial] for trial, _, _ in started(ledger)]
    # Two workers: one may be a trial ahead of the other where blocks meet.
    assert sum(a > b for a, b in zip(order, order[1:], strict=False)) <= 3
    assert order[0] == 1 and order[-1] == 4


def test_a_worker_with_another_image_is_refused_before_anything_starts(
    ledger, results, running, error_of
):
    share = [Share(AnotherElsewhere(ledger), trials(4))]
    said = error_of(campaign.run, share, results, cluster=running.scheduler_address)
    assert "Dask worker tcp://" in said
    assert "expected stub client's (the stub's version); found worker's" in said
    assert "docs/campaigns.md" in said and "\n" not in said
    assert started(ledger) == []


class Late(AnotherElsewhere):
    """The same, but it passes the first look, as a worker does that comes later."""

    looks = 0

    def identity(self):
        Late.looks += os.getpid() != self.home
        return "client's" if Late.looks <= 1 else "worker's"


def test_a_worker_that_comes_later_is_refused_too(ledger, results, running, error_of):
    share = [Share(Late(ledger), trials(4))]
    said = error_of(campaign.run, share, results, cluster=running.scheduler_address)
    assert "expected stub client's" in said
    assert finished(results) == []


def test_without_a_worker_it_waits_for_one(ledger, results):
    told = []
    with distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address="127.0.0.1:0"
    ) as empty:

        def note(text):
            told.append(text)
            empty.scale(1)

        share = [Share(Stub(ledger), trials(2))]
        campaign.run(share, results, note=note, cluster=empty.scheduler_address)
    assert len(told) == 1 and "has no worker yet" in told[0]
    assert len(finished(results)) == 2


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "tcp:/127.0.0.1"])
def test_an_address_without_a_scheduler(address, ledger, results, error_of, monkeypatch):
    from elevatorlab.running.pools import dask_workers

    monkeypatch.setattr(dask_workers, "CONNECT_S", 0.5)
    said = error_of(campaign.run, [Share(Stub(ledger), trials(2))], results, cluster=address)
    assert "expected the address of a Dask scheduler" in said and address in said
    clients = [one for one in gc.get_objects() if type(one) is distributed.Client]
    assert [one for one in clients if one.status != "closed"] == [], "one could stall the next"


def test_ctrl_c_ends_what_runs_on_the_cluster(ledger, results, running):
    """The workers are free again at once, though the trials would last an hour."""

    def interrupt(done, total, trial):
        wait_until(lambda: len(started(ledger)) == 2)
        raise KeyboardInterrupt

    slow = Stub(ledger, lasts_s=(3600, 3601))
    with pytest.raises(KeyboardInterrupt):
        campaign.run(
            [Share(slow, trials(6))], results, None, interrupt, None, running.scheduler_address
        )
    campaign.run([Share(Stub(ledger), trials(6))], results, cluster=running.scheduler_address)
    assert len(finished(results)) == 6


def test_a_client_closes_after_it_has_handed_over(ledger, results, running, monkeypatch):
    """Otherwise Dask's one thread for this could wait for the closed client forever."""
    from elevatorlab.running.pools.dask_workers import Workers

    alone, handed_over_by = Workers._hand_over, []

    def slowly(workers, near, far):
        time.sleep(0.2)
        handed_over_by.append(workers._client.status)
        alone(workers, near, far)

    def interrupt(done, total, trial):
        raise KeyboardInterrupt

    monkeypatch.setattr(Workers, "_hand_over", slowly)
    share = [Share(Stub(ledger, lasts_s=(3600, 3601)), trials(4))]
    with pytest.raises(KeyboardInterrupt):
        campaign.run(share, results, None, interrupt, None, running.scheduler_address)
    assert handed_over_by == ["running"] * 4


def test_a_trial_that_comes_after_the_stop_does_not_start(ledger, monkeypatch):
    """Its cancellation and the stop reach a worker by different ways."""
    monkeypatch.setattr(task, "_stopped", set())
    testbed, (trial,) = Stub(ledger), trials(1)
    task.stop("mine")
    with pytest.raises(NotReady, match="the campaign was stopped"):
        task.run_for("mine", testbed, testbed.identity(), trial)
    assert started(ledger) == []
    assert task.run_for("another", testbed, testbed.identity(), trial).files


def test_a_trial_whose_workers_keep_dying_fails_in_one_sentence(ledger, results, running):
    stop = threading.Event()

    def kill():
        seen = 0
        while not stop.wait(0.01):
            if len(runs := started(ledger)) > seen:
                seen = len(runs)
                os.kill(runs[-1][1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    share = [Share(Stub(ledger, lasts_s=(60, 61)), trials(1))]
    with pytest.raises(ElevatorLabError, match="4 workers died") as failure:
        campaign.run(share, results, cluster=running.scheduler_address)
    stop.set()
    killer.join()
    assert trials(1)[0].hash in str(failure.value)
    assert finished(results) == []


def test_a_scheduler_that_goes_away(ledger, results):
    ours = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0")

    def go_away(done, total, trial):
        if done == 1:
            ours.close()

    with pytest.raises(ElevatorLabError, match="scheduler is gone.*same command goes on"):
        campaign.run(
            [Share(Stub(ledger), trials(30))], results, None, go_away, None, ours.scheduler_address
        )
    before = finished(results)
    assert 0 < len(before) < 30
    campaign.run([Share(Stub(ledger), trials(30))], results, workers=1)
    assert len(finished(results)) == 30


def test_workers_of_this_machine_that_do_not_start(ledger, results, monkeypatch, error_of):
    def broken(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", broken)
    with pytest.raises(NotReady, match="did not start .Nanny failed.*--workers 1"):
        campaign.run([Share(Stub(ledger), trials(4))], results)
