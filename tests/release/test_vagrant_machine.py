"""A virtual machine's life: up, reached, taken away, and nothing left whatever ends it."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import paramiko
import pytest

import needs
from elevatorlab.errors import NotReady
from elevatorlab.testbeds.vagrant import commands, kvm, libvirt, readiness
from elevatorlab.testbeds.vagrant.machine import DISK_SERIAL, Machine
from machines import DISK_MIB, left_here, shell

DISK = f"/dev/disk/by-id/virtio-{DISK_SERIAL}"
SCHEDULERS = {"none", "mq-deadline", "kyber", "bfq"}

pytestmark = [pytest.mark.vagrant, pytest.mark.timeout(1800)]

UP = """
import sys
from pathlib import Path
from elevatorlab.testbeds.vagrant.machine import Machine
Machine(Path(sys.argv[1]), disk_mib=256).up()
"""


def test_it_is_reached_and_sudo_asks_no_password(vm):
    assert shell(vm, "sudo -n id -u").strip() == "0"


def test_another_host_key_is_refused(vm, tmp_path):
    way = vm.ssh_config()
    ((host, keys),) = paramiko.HostKeys(way["known_hosts"]).items()
    ((kind, key),) = keys.items()
    content = bytearray(key.asbytes())
    content[-1] ^= 1
    others = paramiko.HostKeys()
    others.add(host, kind, paramiko.PKey.from_type_string(kind, bytes(content)))
    others.save(tmp_path / "known_hosts")
    with pytest.raises(paramiko.BadHostKeyException):
        shell(vm, "true", known_hosts=tmp_path / "known_hosts")


def test_the_second_disk_is_found_by_its_serial_and_is_empty(vm):
    assert int(shell(vm, f"sudo blockdev --getsize64 {DISK}")) == DISK_MIB << 20
    assert shell(vm, f"sudo wipefs {DISK}") == ""


def test_the_second_disk_takes_all_four_schedulers(vm):
    shell(vm, "sudo modprobe --all bfq kyber-iosched")
    offered = shell(vm, f"cat /sys/block/$(basename $(realpath {DISK}))/queue/scheduler")
    assert set(offered.replace("[", "").replace("]", "").split()) == SCHEDULERS


def test_the_hosts_page_cache_is_out_of_the_way(vm):
    if vm.accelerator == "VirtualBox":
        needs.skip_on_this_machine("VirtualBox has no such setting to read back")
    disks = libvirt.virsh("dumpxml", vm.name).stdout.split("<disk ")[1:]
    assert len(disks) == 2
    assert all("cache='none' io='native'" in disk for disk in disks)


def test_provisioning_again_finds_nothing_to_do(vm):
    command = "sudo sh /run/environments/provision.sh --exact"
    assert shell(vm, command) == "provision: nothing to do\n"


def test_the_accelerator_is_what_executes_the_instructions(vm):
    if vm.accelerator == "VirtualBox":
        needs.skip_on_this_machine("VirtualBox has an accelerator of its own")
    kind = libvirt.virsh("dumpxml", vm.name).stdout.split("'")[1]
    assert vm.accelerator.split()[0] == {"kvm": "KVM", "qemu": "TCG"}[kind]
    assert (kind == "qemu") == bool(kvm.why_not())


def test_a_second_process_is_refused(vm, error_of):
    assert "another process uses" in error_of(Machine(vm.folder).up)
    assert shell(vm, "echo still here") == "still here\n"


def test_kept_found_again_and_gone(tmp_path):
    before = left_here(Machine(tmp_path / "vm").name)
    said = []
    with Machine(tmp_path / "vm", disk_mib=256, keep=True, say=said.append) as first:
        way = first.ssh_config()
    with Machine(tmp_path / "vm", disk_mib=256, say=said.append) as second:
        assert second.ssh_config() == way
        assert said[-1].endswith("is up already")
        assert shell(second, "echo here") == "here\n"
    assert left_here(second.name) == before
    assert not second.folder.exists()


# Most of what is made is made in the first seconds; after that, the machine boots.
@pytest.mark.parametrize(("seed", "longest_s"), [(1, 2), (2, 2), (3, 4), (4, 4), (5, 8), (6, 40)])
def test_killed_on_its_way_up_and_nothing_is_left(tmp_path, seed, longest_s):
    machine = Machine(tmp_path / "vm")
    before = left_here(machine.name)
    kill_on_the_way_up(machine, random.Random(seed).uniform(0, longest_s))
    machine.clean()
    assert left_here(machine.name) == before
    assert not machine.folder.exists()


def test_killed_on_its_way_up_and_the_next_start_finishes(tmp_path):
    machine = Machine(tmp_path / "vm", disk_mib=256, say=lambda _: None)
    before = left_here(machine.name)
    kill_on_the_way_up(machine, 6)
    with machine:
        assert shell(machine, "echo here") == "here\n"
    assert left_here(machine.name) == before


def kill_on_the_way_up(machine, after_s):
    """Start `machine` in a process of its own and kill that, some time after it begins to make."""
    with subprocess.Popen(
        [sys.executable, "-c", UP, machine.folder], stdout=subprocess.DEVNULL
    ) as client:
        until_s = time.monotonic() + 120
        while not (machine.folder / "machine.json").exists():
            assert time.monotonic() < until_s and client.poll() is None
            time.sleep(0.01)
        time.sleep(after_s)
        client.send_signal(signal.SIGKILL)


def test_cleaning_where_nothing_is_left_does_nothing(tmp_path):
    Machine(tmp_path / "vm").clean()
    assert [path.name for path in tmp_path.iterdir()] == ["vm.lock"]


def test_cleaning_leaves_a_folder_of_somebody_else_alone(tmp_path):
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm" / "thesis.tex").write_text("years of work")
    Machine(tmp_path / "vm").clean()
    assert (tmp_path / "vm" / "thesis.tex").exists()


def test_a_box_that_cannot_be_pulled_is_one_sentence(tmp_path, monkeypatch, error_of):
    machine = Machine(tmp_path / "vm", say=lambda _: None)
    before = left_here(machine.name)
    monkeypatch.setenv("ELEVATORLAB_BOX", "elevatorlab/there-is-no-such-box")
    assert "`make box` builds its equivalent" in error_of(machine.up)
    assert left_here(machine.name) == before


def test_a_machine_that_does_not_come_up_in_time_leaves_nothing(tmp_path, monkeypatch, error_of):
    machine = Machine(tmp_path / "vm", say=lambda _: None)
    before = left_here(machine.name)
    monkeypatch.setattr("elevatorlab.testbeds.vagrant.machine.UP_S", 5)
    assert "did not end within 5 s" in error_of(machine.up)
    assert left_here(machine.name) == before


def test_a_libvirtd_that_does_not_answer_is_one_sentence(monkeypatch, error_of):
    monkeypatch.setattr(libvirt, "URI", "qemu+unix:///system?socket=/nowhere")
    assert "environments/start-libvirt.sh starts it" in error_of(libvirt.require)


def test_without_vagrant_its_findings_name_the_remedy(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    findings = {finding.what: finding for finding in readiness.findings()}
    assert findings["vagrant"].needed and not findings["vagrant"].ready
    assert "start-libvirt.sh" in findings["vagrant"].remedy
    assert not findings["provider libvirt"].ready


def test_a_command_ends_at_its_deadline(error_of):
    assert "did not end within 1 s" in error_of(commands.run, ["sleep", "3600"], 1)


def test_before_it_is_up_it_has_no_address(tmp_path):
    with pytest.raises(NotReady, match="is not up"):
        Machine(tmp_path / "vm").ssh_config()


ROUTES = """Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth0 00000000 0102000A 0003 0 0 0 00000000 0 0 0
eth0 0002000A 00000000 0001 0 0 0 00FFFFFF 0 0 0
{}"""


def test_a_network_with_a_route_is_not_taken(tmp_path):
    free = libvirt.free_network("some-machine", routes=_routes(tmp_path, ""))
    hexadecimal = free.network_address.packed[::-1].hex().upper()
    taken = f"virbr9 {hexadecimal} 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
    other = libvirt.free_network("some-machine", routes=_routes(tmp_path, taken))
    assert not other.overlaps(free) and other.is_private


def test_a_network_that_libvirt_knows_but_has_not_started_is_not_taken(tmp_path):
    name = "elevatorlab-test-idle"
    free = libvirt.free_network(name)
    file = tmp_path / "network.xml"
    file.write_text(f"<network><name>{name}</name><ip address='{free[1]}' prefix='24'/></network>")
    assert libvirt.virsh("net-define", str(file)).returncode == 0
    try:
        assert not libvirt.free_network(name).overlaps(free)
    finally:
        libvirt.virsh("net-undefine", name)


def _routes(folder, lines):
    file = Path(folder / "routes")
    file.write_text(ROUTES.format(lines))
    return file
