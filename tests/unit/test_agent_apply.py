"""A scheduler made permanent: the rule, real udev that applies it, and nothing left on failure."""

import os

import pytest

from elevatorlab.agent.devices import udev_rule
from elevatorlab.agent.errors import AgentError
from helpers import cli


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
