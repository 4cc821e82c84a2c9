"""A scheduler made permanent: the rule, real udev that applies it, and nothing left on failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from elevatorlab.agent.devices import udev_rule
from elevatorlab.agent.errors import AgentError
from elevatorlab.testbeds import agent_archive
from helpers import cli

UDEVD = "/usr/lib/systemd/systemd-udevd"
ALONE = Path(__file__).with_name("udev_alone.sh")


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "agent.pyz"
    file.write_bytes(agent_archive.agent_archive())
    return f"{sys.executable} {file} apply"


def with_udev(script):
    """Run a shell script beside a real udev of its own; return what it printed."""
    alone = ["unshare", "--mount", "--net", "sh", str(ALONE), "sh", "-c", script]
    run = subprocess.run(alone, capture_output=True, text=True)
    return run.stdout, run.stderr, run.returncode


def scheduler(disk):
    return Path("/sys/class/block", disk, "queue/scheduler").read_text().strip()


def test_the_rule_names_the_disk_by_what_stays(monkeypatch):
    known = {"ID_SERIAL": "WDC_WD5000AAKS", "ID_WWN": "0x50014ee1", "ID_PATH": "pci-0000:00:1f.2"}
    monkeypatch.setattr(udev_rule, "properties", lambda disk: known)
    assert udev_rule.rule("sda", "bfq") == (
        'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", '
        'ENV{ID_SERIAL}=="WDC_WD5000AAKS", ATTR{queue/scheduler}="bfq"'
    )
    del known["ID_SERIAL"]
    assert 'ENV{ID_WWN}=="0x50014ee1"' in udev_rule.rule("sda", "bfq")


@pytest.mark.parametrize(
    "hostile", ['a"b', "a*", "a[b]", "a?b", "a|b", "", " a", "a\nb", "$x", "a\\"]
)
def test_a_serial_number_that_udev_would_read_otherwise_is_not_used(monkeypatch, hostile):
    monkeypatch.setattr(
        udev_rule, "properties", lambda disk: {"ID_SERIAL": hostile, "ID_PATH": "pci-1"}
    )
    assert 'ENV{ID_PATH}=="pci-1"' in udev_rule.rule("sda", "none")


@pytest.mark.root
@pytest.mark.programs("losetup", "udevadm", UDEVD)
class TestARealDisk:
    def test_the_rule_is_printed_and_nothing_is_changed(self, disk):
        before = scheduler(disk)
        run = cli("apply", "--device", disk, "--scheduler", "mq-deadline")
        assert run.returncode == 0
        assert f"# /etc/udev/rules.d/61-elevatorlab-{disk}.rules" in run.stdout
        assert 'ATTR{queue/scheduler}="mq-deadline"' in run.stdout
        assert "has no serial number that udev knows" in run.stdout
        assert not Path(f"/etc/udev/rules.d/61-elevatorlab-{disk}.rules").exists()
        assert scheduler(disk) == before

    def test_real_udev_applies_the_rule_and_undo_brings_back_what_was(self, disk, program):
        before = scheduler(disk)
        out, error, status = with_udev(
            f"set -e; {program} --device /dev/{disk} --scheduler mq-deadline --write;"
            f"cat /sys/class/block/{disk}/queue/scheduler /etc/udev/rules.d/*;"
            f"udevadm test /sys/class/block/{disk} 2>&1 | grep -c 'Invalid' || true;"
            f"{program} --device {disk} --undo; ls /etc/udev/rules.d"
        )
        assert (status, error) == (0, "")
        assert f"udev has given {disk} mq-deadline (was none)" in out
        assert "[mq-deadline]" in out and "# Before:     none" in out
        assert out.endswith(f"removed; {disk} has none again\n")
        assert "\n0\n" in out, "udevadm finds no mistake in the rule"
        assert scheduler(disk) == before

    def test_a_second_rule_replaces_the_first_and_undo_goes_back_to_the_beginning(
        self, disk, program
    ):
        out, error, status = with_udev(
            f"set -e; {program} --device {disk} --scheduler mq-deadline --write >/dev/null;"
            f"{program} --device {disk} --scheduler kyber --write >/dev/null;"
            f"ls /etc/udev/rules.d | wc -l; cat /sys/class/block/{disk}/queue/scheduler;"
            f"{program} --device {disk} --undo"
        )
        assert (status, error) == (0, "")
        assert out.startswith("1\n") and "[kyber]" in out
        assert "[none]" in scheduler(disk)

    def test_where_a_later_rule_wins_all_is_as_before(self, disk, program):
        out, error, status = with_udev(
            f"""echo 'KERNEL=="{disk}", ATTR{{queue/scheduler}}="none"' """
            ">/etc/udev/rules.d/99-other.rules;"
            f"{program} --device {disk} --scheduler mq-deadline --write; ls /etc/udev/rules.d"
        )
        assert out == "99-other.rules\n"
        assert "udev did not apply the rule: expected mq-deadline" in error
        assert "[none]" in scheduler(disk)

    def test_where_udev_does_not_run_all_is_as_before(self, disk, program):
        script = "mount -t tmpfs none /run; mount -t tmpfs none /etc/udev/rules.d; " + (
            f"{program} --device {disk} --scheduler mq-deadline --write; ls /etc/udev/rules.d"
        )
        alone = ["unshare", "--mount", "sh", "-c", script]
        run = subprocess.run(alone, capture_output=True, text=True)
        assert run.stdout == "" and "expected udev to run here" in run.stderr
        assert "[none]" in scheduler(disk)

    def test_a_scheduler_that_the_device_does_not_offer_is_refused(self, disk):
        run = cli("apply", "--device", disk, "--scheduler", "cfq", "--write")
        assert run.returncode == 1 and run.stdout == ""
        assert f"/dev/{disk} does not offer the scheduler 'cfq'; expected one of" in run.stderr

    def test_without_a_rule_there_is_nothing_to_undo(self, disk):
        run = cli("apply", "--device", disk, "--undo")
        assert run.returncode == 1 and "there is nothing to undo" in run.stderr

    def test_a_user_who_is_not_root_is_told_so(self, disk, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        with pytest.raises(AgentError, match="expected root, to write to /etc/udev/rules.d"):
            udev_rule.write(disk, "mq-deadline")


def test_a_device_that_is_not_there_is_refused():
    run = cli("apply", "--device", "sdzz", "--scheduler", "none")
    assert run.returncode == 1 and "found 'sdzz'; it has: " in run.stderr


def test_a_rule_that_is_not_ours_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(udev_rule, "RULES", tmp_path)
    file = tmp_path / udev_rule.FILE.format(disk="sda")
    file.write_text('KERNEL=="sda", ATTR{queue/scheduler}="none"\n')
    if os.geteuid() == 0:
        with pytest.raises(AgentError, match="not one of ours"):
            udev_rule.undo("sda")
    assert file.exists()


def test_help_is_the_agents_own():
    run = cli("apply", "--help")
    assert run.returncode == 0 and "--undo" in run.stdout
