"""NVMe/TCP between two machines: two virtual ones, with a network between them."""

import threading

import pytest

import machines
from elevatorlab import testbeds
from elevatorlab.errors import NotReady
from elevatorlab.results import reading
from elevatorlab.running import campaign
from elevatorlab.testbeds.vagrant.machine import DISK_SERIAL
from helpers import wait_until
from machine_pair import address, nvme_trials, target  # noqa: F401  (fixtures)

pytestmark = pytest.mark.vagrant

MTU_BYTES = 1500


@pytest.fixture
def run(address, vm, target, tmp_path):
    """Return a function that runs trials and returns the testbed's results."""

    def some(trials, left_by_target=""):
        testbed = testbeds.get(address, say=lambda _: None)
        try:
            campaign.run([campaign.Share(testbed, trials)], tmp_path / "results")
        finally:
            assert left(vm) == ""
            assert left_by_target in left(target) and (left_by_target or not left(target))
        return list(reading.results_in(tmp_path / "results"))

    return some


def left(machine):
    """Return what of a trial is left on a machine: modules, targets, connections, journals."""
    return machines.shell(
        machine,
        "lsmod | grep -o '^nvme[^ ]*'; sudo find /sys/kernel/config/nvmet /sys/class/nvme "
        "/sys/kernel/config/nullb /run/elevatorlab/journal -mindepth 1 -not -name features "
        "2>/dev/null; true",
    )


def trials_here(targets="ram", **parameters):
    """Return trials for emulated processors, which are slow and, beside other tests, often away.

    With 300 ms counted, one run of the whole suite found a point in which no request had ended.
    """
    chosen = {"targets": targets, "drivers": "stock", "mtu_bytes": MTU_BYTES}
    return nvme_trials(**{**chosen, "ramp_ms": 500, "counted_ms": 3000, **parameters})


@pytest.mark.timeout(1800)
def test_the_study_on_two_machines(run, address):
    results = run(trials_here(schedulers="none,mq-deadline", depths="1,64"))
    assert len(results) == 2
    for stored in results:
        result, folder = stored.result.as_given(), stored.folder
        assert stored.provenance.testbed == "ssh-pair"
        assert stored.provenance.target.cores == 1
        proofs = [(proof["knob"], proof["read"]) for proof in result["proofs"]]
        assert any(knob.startswith("target: ") and knob.endswith("/size") for knob, _ in proofs)
        assert ("NVMe/TCP drivers in the kernel", "stock") in proofs
        one, many = result["workloads"]["reader"]["points"]
        assert one["read"]["requests"] > 0 and many["counters"]["host_sends"] > 0
        everything = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
        assert address.rpartition("=")[2] not in everything
    noop = next(one for one in results if one.trial["scheduler"]["name"] == "none")
    spent_ns = noop.result.workloads["reader"]["points"][1]["processor_time"]["time_ns"]
    assert spent_ns["host driver"] > 0  # whose target is somewhere else
    assert not [owner for owner in spent_ns if owner.startswith("target")]


@pytest.mark.timeout(1800)
def test_a_disk_of_the_target(run):
    chosen = {"targets": "nvme_ssd", "disk": DISK_SERIAL, "depths": "1"}
    (stored,) = run(trials_here(**chosen, destroy=True))
    proofs = stored.result.proofs
    claimed = [proof for proof in proofs if proof.knob.startswith("target: disk ")]
    assert [proof.written for proof in claimed] == ["free to be overwritten"]


def test_a_disk_of_the_target_is_spared_without_destroy(run, error_of):
    chosen = {"targets": "nvme_ssd", "disk": DISK_SERIAL, "depths": "1"}
    said = error_of(run, trials_here(**chosen))
    assert "did not serve its disk" in said and "expected the trial to say destroy: true" in said


def meanwhile(target, signal):
    """Send a signal to the target's agent as soon as a host has connected; return the thread."""

    def send():
        seen = "sudo ss --tcp --no-header state established sport = :4420 | grep -c . ; true"
        wait_until(lambda: machines.shell(target, seen).strip() not in ("", "0"), 1500)
        machines.shell(target, f"sudo pkill -{signal} --full --newest '[s]erve-nvme'")

    thread = threading.Thread(target=send, daemon=True)  # a trial that ends early leaves it waiting
    thread.start()
    return thread


@pytest.mark.timeout(1800)
def test_a_target_that_ends_fails_the_trial(run, target, error_of):
    sender = meanwhile(target, "TERM")
    said = error_of(run, trials_here(depths="64", window_ms=20_000))
    sender.join()
    assert "went away while it was measured" in said and "did its target end" in said


@pytest.mark.timeout(1800)
def test_what_a_killed_agent_leaves_on_the_target_is_cleaned_up(address, run, target):
    """The kernel serves on, so that trial is whole; the next one, or `clean`, finds the rest."""
    sender = meanwhile(target, "KILL")
    assert run(trials_here(depths="64", window_ms=8_000), "nvmet/subsystems/elevatorlab")
    sender.join()
    testbed = testbeds.get(address, say=lambda _: None)
    assert "target: 1 killed trials were cleaned up after" in testbed.clean()
    testbed.close()
    assert left(target) == ""


def test_a_machine_that_is_busy_with_a_trial_serves_none(address, target, run, error_of):
    hold = "sudo mkdir -p /run/elevatorlab && sudo flock /run/elevatorlab/trial.lock sleep 60"
    machines.shell(target, f"nohup sh -c '{hold}' >/dev/null 2>&1 & sleep 1")
    said = error_of(run, trials_here(depths="1"))
    assert "did not serve its disk: another trial runs on this machine" in said
    machines.shell(target, "sudo pkill --full '[s]leep 60'; true")


def test_a_network_that_is_not_the_trials_is_refused(address, tmp_path):
    testbed = testbeds.get(address, say=lambda _: None)
    with pytest.raises(NotReady, match="has an MTU of 1500; expected the trials' 9000"):
        testbed.prepare(nvme_trials(targets="ram", drivers="stock"))
    testbed.close()
