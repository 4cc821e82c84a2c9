"""NVMe/TCP between two machines: two virtual ones, with a network between them."""

import ipaddress
import threading

import pytest

import machines
from elevatorlab import studies, testbeds
from elevatorlab.agent.observe.facts import NVME_TCP_MODULES
from elevatorlab.errors import NotReady
from elevatorlab.paths import BUILD
from elevatorlab.results import reading
from elevatorlab.running import campaign
from elevatorlab.studies import stream_batching
from elevatorlab.testbeds.base import refuse_what_is_missing
from elevatorlab.testbeds.capabilities import capabilities
from elevatorlab.testbeds.vagrant import libvirt, testbed
from elevatorlab.testbeds.vagrant.machine import DISK_SERIAL, Machine
from helpers import wait_until

MTU_BYTES = 1500


# Without any machine


def test_an_address_with_a_target_is_a_pair():
    pair = testbeds.get("ssh://me@host:2222?key=k&target=you@192.0.2.7&address=198.51.100.7")
    host, target = pair.shell.connection, pair.target.shell.connection
    assert (host.user, host.host, host.port) == ("me", "host", 2222)
    assert (target.user, target.host, target.port) == ("you", "192.0.2.7", 22)
    assert target.connect_kwargs == host.connect_kwargs  # one way of logging in
    assert pair.target_address == "198.51.100.7"
    assert testbeds.get("ssh://host?target=192.0.2.7").target_address == "192.0.2.7"


@pytest.mark.parametrize(
    "address, said",
    [
        ("ssh://host?target=", "expected target=[USER@]HOST[:PORT]; found target=''"),
        ("ssh://host?target=ssh://b", "found target='ssh://b'"),
        ("ssh://host?target=192.0.2.7&address=no.such.host.invalid", "&address=192.0.2.2"),
        ("ssh://host?target=192.0.2.7&address=::1", "expected the target's IPv4 address"),
        ("ssh://host?address=192.0.2.7", "expected target=HOST beside address"),
    ],
)
def test_an_address_that_is_none_is_refused(address, said, error_of):
    assert said in error_of(testbeds.get, address)


def facts(**changes):
    """Return what a machine is and has that has everything."""
    everything = {
        **{"cgroup": 2, "schedulers": ["none"], "kernel": "6.1", "loop": True, "tracefs": True},
        **{"machine_id": "1", "fuse": True, "io_cost": True, "null_blk": True, "drop_caches": True},
        "virtualization": "none",
        "modules": dict.fromkeys(NVME_TCP_MODULES, True),
        "scratch": {"disks": ["sda"], "free_mib": 9000},
        "programs": dict.fromkeys(
            ("fio", "iostat", "iozone", "ip", "losetup", "mariadbd", "mkfs.ext4", "sysbench"), True
        ),
    }
    everything["modules"] |= changes
    return everything


def nvme_trials(**parameters):
    chosen = {"experiments": "depth", "schedulers": "none", "time_scale": 1, "link": False}
    chosen |= parameters
    return stream_batching.trials(studies.parameters(stream_batching, "smoke", chosen))


def test_a_virtual_machines_disk_is_not_sized_by_one_behind_a_network(make_real_trial):
    assert testbed.disk_mib([*nvme_trials(), make_real_trial()]) == 64
    assert testbed.disk_mib(nvme_trials()) == testbed.UNUSED_MIB


def test_a_driver_that_is_not_there_is_refused_before_anything_starts(error_of):
    pair = testbeds.get("ssh://host?target=192.0.2.7")
    found = list(capabilities("host", facts(**{"nvme-tcp-one-send": False})))
    said = error_of(refuse_what_is_missing, pair.name, found, nvme_trials(drivers="stock,one_send"))
    assert "driver one_send: not in kernel 6.1" in said and "-p drivers=stock" in said
    refuse_what_is_missing(pair.name, found, nvme_trials(drivers="stock"))


@pytest.mark.parametrize(
    "host, target, lacking",
    [
        ({}, {}, None),
        ({"nvmet-tcp": False, "veth": False}, {"nvme-tcp": False}, None),
        ({"nvme-tcp": False}, {}, "no nvme-tcp (host)"),
        ({}, {"nvmet-tcp": False}, "no nvmet-tcp (target)"),
    ],
)
def test_each_side_needs_its_own_modules(host, target, lacking):
    pair = testbeds.get("ssh://host?target=192.0.2.7")
    pair.__dict__ |= {"facts": facts(**host), "target_facts": facts(**target)}
    (found,) = [one for one in pair.findings() if one.what == "device nvme_tcp"]
    assert found.ready == (lacking is None)
    assert (lacking or "target 192.0.2.7 at 192.0.2.7") in found.found


def test_two_machines_have_a_link_of_their_own(error_of):
    pair = testbeds.get("ssh://host?target=192.0.2.7")
    pair.__dict__ |= {"facts": facts(), "target_facts": facts()}
    found = [one for one in pair.findings() if one.what != "connection"]
    said = error_of(refuse_what_is_missing, pair.name, found, nvme_trials(link=True))
    assert "link: two machines have a network of their own" in said and "-p link=false" in said
    refuse_what_is_missing(pair.name, found, nvme_trials(drivers="stock"))


# With two virtual machines


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


@pytest.mark.vagrant
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


@pytest.mark.vagrant
@pytest.mark.timeout(1800)
def test_a_disk_of_the_target(run):
    chosen = {"targets": "nvme_ssd", "disk": DISK_SERIAL, "depths": "1"}
    (stored,) = run(trials_here(**chosen, destroy=True))
    proofs = stored.result.proofs
    claimed = [proof for proof in proofs if proof.knob.startswith("target: disk ")]
    assert [proof.written for proof in claimed] == ["free to be overwritten"]


@pytest.mark.vagrant
def test_a_disk_of_the_target_is_spared_without_destroy(run, error_of):
    chosen = {"targets": "nvme_ssd", "disk": DISK_SERIAL, "depths": "1"}
    said = error_of(run, trials_here(**chosen))
    assert "did not serve its disk" in said and "expected the trial to say destroy: true" in said


def meanwhile(target, signal):
    """Send a signal to the target's agent as soon as a host has connected; return the thread."""

    def send():
        seen = "sudo ss --tcp --no-header state established sport = :4420 | grep -c . ; true"
        wait_until(lambda: machines.shell(target, seen).strip() not in ("", "0"), 120)
        machines.shell(target, f"sudo pkill -{signal} --full --newest '[s]erve-nvme'")

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.vagrant
@pytest.mark.timeout(1800)
def test_a_target_that_ends_fails_the_trial(run, target, error_of):
    sender = meanwhile(target, "TERM")
    said = error_of(run, trials_here(depths="64", window_ms=20_000))
    sender.join()
    assert "went away while it was measured" in said and "did its target end" in said


@pytest.mark.vagrant
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


@pytest.mark.vagrant
def test_a_machine_that_is_busy_with_a_trial_serves_none(address, target, run, error_of):
    hold = "sudo mkdir -p /run/elevatorlab && sudo flock /run/elevatorlab/trial.lock sleep 60"
    machines.shell(target, f"nohup sh -c '{hold}' >/dev/null 2>&1 & sleep 1")
    said = error_of(run, trials_here(depths="1"))
    assert "did not serve its disk: another trial runs on this machine" in said
    machines.shell(target, "sudo pkill --full '[s]leep 60'; true")


@pytest.mark.vagrant
def test_a_network_that_is_not_the_trials_is_refused(address, tmp_path):
    testbed = testbeds.get(address, say=lambda _: None)
    with pytest.raises(NotReady, match="has an MTU of 1500; expected the trials' 9000"):
        testbed.prepare(nvme_trials(targets="ram", drivers="stock"))
    testbed.close()
