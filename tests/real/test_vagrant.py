"""Trials in a real virtual machine, and the notebook on every testbed."""

import json

import pytest

from elevatorlab import testbeds
from elevatorlab.results import reading
from elevatorlab.running import campaign
from elevatorlab.testbeds.vagrant import VagrantTestbed


@pytest.mark.vagrant
@pytest.mark.root  # it chooses the scheduler of this machine's disk
@pytest.mark.timeout(1800)
def test_a_trial_in_the_virtual_machine(vm, make_real_trial, tmp_path):
    trial = make_real_trial(machine="virtual_machine", backing_scheduler="none")
    testbed = VagrantTestbed(say=lambda text: None, machine=vm)
    campaign.run([campaign.Share(testbed, [trial])], tmp_path)
    [stored] = reading.results_in(tmp_path)
    assert stored.result.workloads["reader"]["read"]["requests"] > 0
    assert stored.result.proofs[0].knob == "disk elevatorlab"
    [below] = json.loads((stored.folder / "below.json").read_text())
    assert below["read"] == "none"
    assert stored.provenance.accelerator == vm.accelerator
    assert stored.provenance.machine == testbeds.get("host").machine()


@pytest.mark.vagrant
def test_a_trial_of_the_host_is_not_run_in_a_virtual_machine(make_real_trial, error_of):
    share = [(VagrantTestbed(say=lambda text: None), [make_real_trial()])]
    assert "belong on another testbed than vagrant" in error_of(campaign.divide, share)
