"""A scheduler made permanent: the rule, real udev that applies it, and nothing left on failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.operations import udev_rule
from elevatorlab.testbeds import agent_archive
from helpers import FIXTURES, cli

UDEVD = "/usr/lib/systemd/systemd-udevd"

ALONE = FIXTURES.parent / "support/udev_alone.sh"


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "agent.pyz"
    file.write_bytes(agent_archive.operators_archive())
    return f"{sys.executable} {file} apply"


def with_udev(script):
    """Run a shell script beside a real udev of its own; return what it printed."""
    alone = ["unshare", "--mount", "--net", "sh", str(ALONE), "sh", "-c", script]
    run = subprocess.run(alone, capture_output=True, text=True)
    return run.stdout, run.stderr, run.returncode


def scheduler(disk):
    return Path("/sys/class/block", disk, "queue/scheduler").read_text().strip()


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
