"""Two machines, host and target, and trials that need both."""

import ipaddress

import pytest

import machines
from elevatorlab import studies
from elevatorlab.paths import BUILD
from elevatorlab.studies import stream_batching
from elevatorlab.testbeds.vagrant import libvirt
from elevatorlab.testbeds.vagrant.machine import Machine


def nvme_trials(**parameters):
    chosen = {"experiments": "depth", "schedulers": "none", "time_scale": 1, "link": False}
    chosen |= parameters
    return stream_batching.trials(studies.parameters(stream_batching, "smoke", chosen))


@pytest.fixture(scope="module")
def target():
    """Return a second virtual machine."""
    with Machine(BUILD / "test-vm-target", disk_mib=128, say=lambda _: None) as machine:
        yield machine


@pytest.fixture(scope="module")
def address(vm, target):
    """Connect the target to the host's network; return the testbed's name."""
    libvirt.virsh("attach-interface", target.name, "network", vm.name, "--model", "virtio")
    host = ipaddress.ip_interface(f"{vm.ssh_config()['host']}/24")
    free = next(one for one in list(host.network.hosts())[100:] if one != host.ip)
    way = target.ssh_config()
    machines.shell(
        target,
        "until [ -e /sys/class/net/eth1 ]; do sleep 0.2; done; "
        f"sudo ip address add {free}/24 dev eth1 && sudo ip link set eth1 up",
    )
    known = BUILD / "test-vm-target/known_hosts_of_both"
    files = (machine.ssh_config()["known_hosts"] for machine in (vm, target))
    known.write_text("".join(open(file).read() for file in files))
    return (
        f"ssh://{way['user']}@{host.ip}?key={way['key_filename']}&known_hosts={known}"
        f"&target={way['user']}@{way['host']}&address={free}"
    )
