"""Trials in a real virtual machine, and the regulator there: the one host with cgroup v2."""

import functools
import json
import re

import pytest

from elevatorlab import testbeds
from elevatorlab.results import reading
from elevatorlab.running import campaign
from elevatorlab.testbeds import agent_archive
from elevatorlab.testbeds.vagrant import VagrantTestbed
from elevatorlab.testbeds.vagrant.machine import DISK_SERIAL
from helpers import wait_until
from machines import connected, ran, send
from regulator_host import NORMAL, OVERLOAD


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


# The regulator, over services of systemd that write to the machine's second disk

DISK = f"/dev/disk/by-id/virtio-{DISK_SERIAL}"
#: What runs as a service, and its script.
WRITERS = {"normal": ("perl", NORMAL), "over": ("sh", OVERLOAD)}
OVER = "/sys/fs/cgroup/system.slice/writer-over.service"
#: An SLA that no disk keeps.
OPTIONS = "--policy slae --sla-wait-ms 0.001 --cgroup 'system.slice/writer-*.service'"


def start(guest, name, command, *options):
    """Start a service, as systemd runs it."""
    ran(guest, f"sudo systemd-run --quiet --collect --unit={name} {' '.join(options)} {command}")


def start_writer(guest, name):
    program, script = WRITERS[name]
    send(guest, script.replace("/dev/disk", DISK).encode(), f"writer-{name}")
    # Nice, so that the one processor has time for the regulator and for us.
    options = ("--property=IOAccounting=yes", "--property=Nice=19")
    start(guest, f"writer-{name}", f"{program} /home/vagrant/writer-{name}", *options)


def regulate(guest):
    """Start the regulator, and wait until it has limited the one that overloads the disk."""
    device = ran(guest, f"basename $(realpath {DISK})").strip()
    options = f"{OPTIONS} --device {device} --log /run/regulator.jsonl"
    start(guest, "regulator", f"python3 /home/vagrant/agent.pyz regulate {options}")
    wait_until(lambda: limit(guest), pause_s=1)


def limit(guest, of=OVER):
    return ran(guest, f"cat {of}/io.max")


def written(guest):
    """Return the machine's clock in s, and the bytes that the overload has written until then."""
    uptime, _, counted = ran(guest, f"cat /proc/uptime {OVER}/io.stat").partition(" ")
    return float(uptime), sum(map(int, re.findall(r"wbytes=(\d+)", counted)))


def events(guest, event):
    lines = map(json.loads, ran(guest, "sudo cat /run/regulator.jsonl").splitlines())
    return [line for line in lines if line["event"] == event]


@pytest.fixture
def regulated(vm):
    """Return a connection to the machine, where the regulator limits one of two services."""
    with connected(vm) as guest:
        assert ran(guest, "stat --file-system --format=%T /sys/fs/cgroup") == "cgroup2fs\n"
        send(guest, agent_archive.operators_archive(), "agent.pyz")
        for name in WRITERS:
            start_writer(guest, name)
        regulate(guest)
        yield guest
        ran(guest, "sudo systemctl stop 'regulator*' 'writer-*'; sudo rm -f /run/regulator.jsonl")


@pytest.mark.vagrant
@pytest.mark.timeout(1800)
def test_on_cgroup_v2_a_limit_bites_and_goes_with_its_service_or_with_the_regulator(regulated):
    [started] = events(regulated, "start")
    assert started["cgroup"] == 2
    throttled = [one for one in events(regulated, "decision") if one["action"] == "throttle"]
    assert throttled[0]["container"] == "writer-over.service"
    assert not any("failed" in one for one in throttled)
    assert limit(regulated, OVER.replace("over", "normal")) == ""
    ran(regulated, "sudo systemctl stop writer-over")
    came = functools.partial(events, regulated, "container")
    wait_until(lambda: [one["container"] for one in came() if not one["came"]], pause_s=1)
    start_writer(regulated, "over")
    wait_until(lambda: limit(regulated), pause_s=1)
    ran(regulated, "sudo systemctl stop regulator")
    assert limit(regulated) == ""
    [end] = events(regulated, "stop")
    assert end["restored"] == ["writer-over.service"]


@pytest.mark.vagrant
@pytest.mark.timeout(1800)
def test_on_cgroup_v2_a_killed_regulators_limit_holds_is_named_and_is_taken_away(regulated):
    ran(regulated, "sudo systemctl kill --signal=SIGKILL regulator")
    wait_until(lambda: ran(regulated, "systemctl is-active regulator || true") != "active\n")
    bytes_s = int(limit(regulated).partition("wbps=")[2].split()[0])
    begin_s, begin_bytes = written(regulated)
    wait_until(lambda: written(regulated)[1] > begin_bytes + 2 * bytes_s, pause_s=1)
    end_s, end_bytes = written(regulated)
    assert end_bytes - begin_bytes < 1.5 * bytes_s * (end_s - begin_s)
    agent = "sudo python3 agent.pyz regulate"
    worse = [
        one
        for one in json.loads(ran(regulated, f"{agent} audit --json || [ $? = 1 ]"))
        if one["severity"] != "note"
    ]
    assert [one["kind"] for one in worse] == ["limit-left-behind"]
    assert worse[0]["subject"].endswith("writer-over.service")
    restored = json.loads(ran(regulated, f"{agent} --restore"))
    assert (restored["event"], restored["cgroup"]) == ("restored", OVER)
    assert limit(regulated) == ""
    ran(regulated, f"{agent} audit")  # which ends with status 0: nothing is worse than a note


@pytest.mark.vagrant
@pytest.mark.timeout(1800)
def test_a_limit_that_systemd_sets_by_hand_bites_and_the_audit_knows_who_asked(regulated):
    """The command of docs/regulator.md; a scope of Docker is a unit as this service is one."""
    ran(regulated, "sudo systemctl stop regulator")
    asked = f'"IOReadBandwidthMax={DISK} 300000" "IOWriteBandwidthMax={DISK} 200000"'
    ran(regulated, f"sudo systemctl set-property --runtime writer-over.service {asked}")
    device, *held = limit(regulated).split()
    assert {"rbps=300000", "wbps=200000"} < set(held)
    assert differing(regulated) == []
    ran(regulated, f"echo {device} wbps=400000 | sudo tee {OVER}/io.max")
    assert [one["subject"].endswith("writer-over.service") for one in differing(regulated)] == [
        True
    ]


def differing(guest):
    """Return the limits that the audit says are not those that somebody asked for."""
    found = ran(guest, "sudo python3 agent.pyz regulate audit --json || [ $? = 1 ]")
    return [one for one in json.loads(found) if one["kind"] == "limit-differs"]
