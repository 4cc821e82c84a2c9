"""The SBQ module and the one-send driver in a real kernel: their stress tests, and faults."""

import json
import re
import subprocess
import sys

import pytest

from elevatorlab.paths import ENVIRONMENTS
from elevatorlab.plugins.scheduler_folders import ZOO
from elevatorlab.testbeds import agent_archive, plugin_archive
from elevatorlab.testbeds.deterministic import image, modules
from helpers import fio_at, wait_until

KERNEL = ENVIRONMENTS / "kernel"
sys.path.insert(0, str(KERNEL / "test"))

import harness  # noqa: E402  (it boots the image; a program of its own, not part of the package)
import rig  # noqa: E402
import stress  # noqa: E402

pytestmark = [pytest.mark.image, pytest.mark.timeout(5400)]

STRESS = [test.__name__ for test in [*stress.OF_ANY, *stress.OF_SBQ]]


def in_guest(program, arguments=(), **more):
    """Run a guest program of environments/kernel/test; return its status and its lines."""
    return harness.run(
        image.FOLDER, KERNEL / "test" / program, arguments, show=lambda line: None, **more
    )


def test_an_acknowledged_write_that_is_not_on_the_disk_is_found(tmp_path):
    """What the stress tests read back after a disk went must be the last that was written."""
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(rig.Writer.size * rig.Writer.blocks))
    writer = rig.Writer(disk, first=0)
    done, blocks = writer.acknowledged, rig.Writer.blocks
    wait_until(lambda: len(done) == blocks and min(done.values()) > blocks)
    writer.ended.set()
    writer.join(60)
    assert writer.error is None and writer.check(disk) == max(done.values())
    block = min(set(done) - {writer.tried[0]})
    with open(disk, "r+b") as file:
        file.seek(block * rig.Writer.size)
        file.write(writer.content(block, done[block] - blocks))
    with pytest.raises(AssertionError):
        writer.check(disk)


@pytest.fixture(scope="module")
def sbq():
    """Build the module; return its file."""
    return modules.build(ZOO["sbq"].folder).file


@pytest.fixture(scope="module")
def stressed(sbq):
    """Run the stress tests on two processors."""
    _, lines = in_guest("stress.py", files=sbq.parent, smp=2, timeout_s=5000)
    return lines


@pytest.mark.parametrize("name", STRESS)
def test_under_stress(name, stressed):
    said = [line for line in stressed if re.match(rf"(ok|FAILED) {name} ", line)]
    assert said and said[0].startswith("ok "), "\n".join(stressed[-40:])


@pytest.fixture(scope="module")
def faults(tmp_path_factory, make_trial, sbq):
    """Break trials over NVMe/TCP in a guest, one after the other; return how each ended."""
    folder = tmp_path_factory.mktemp("beside")
    trial = make_trial(
        memory_mib=1024,
        device={
            "kind": "nvme_tcp",
            "backing": make_trial().device.model_dump(),
            "driver": "one_send",
        },
        scheduler={"name": "sbq"},
        workloads=(fio_at({"iodepth": 64}, ramp_ms=20, window_ms=1000),),
    )
    (folder / "trial.json").write_text(trial.canonical_json())
    (folder / "agent.pyz").write_bytes(agent_archive.agent_archive())
    for name, built in (("modules", {sbq.stem: sbq.read_bytes()}), ("no-modules", {})):
        (folder / f"{name}.zip").write_bytes(plugin_archive.module_archive(trial, built))
    status, lines = in_guest("faults.py", files=folder, icount=True, timeout_s=1200)
    assert status == 0, "\n".join(lines[-30:])
    found = [json.loads(line[6:]) for line in lines if line.startswith("FAULT ")]
    return {one["fault"]: one for one in found}


GONE = "the disk under test, nvme0n1, went away while it was measured; expected it to stay"

FAILED = {
    "target_is_killed": GONE,
    "connection_is_reset": GONE,
    "cable_is_down": GONE,
    "disk_of_the_target_is_gone": GONE,
    "scheduler_is_missing": "has no module sbq-iosched",
    "driver_is_missing": "has no module nvme-tcp-one-send",
    "other_driver_is_loaded": "nvme-tcp is loaded; expected nvme-tcp-one-send alone",
    "nvme_core_hides_schedulers": "Boot with nvme_core.multipath=N",
}


@pytest.mark.parametrize("name", FAILED)
def test_what_breaks_fails_the_trial_in_one_sentence(name, faults):
    fault = faults[name]
    assert (fault["status"], fault["left"]) == (3, []), fault["log"]
    assert FAILED[name] in fault["said"]
    assert fault["said"].count("\n") == 1
    assert fault["took_s"] < 30  # of the guest's time: no request hangs


def test_an_agent_that_is_terminated_leaves_nothing(faults):
    fault = faults["agent_is_terminated"]
    assert (fault["status"], fault["left"]) == (143, []), fault["log"]


def test_what_a_killed_agent_leaves_is_cleaned_up(faults):
    fault = faults["agent_is_killed"]
    assert (fault["status"], fault["left_after_clean"]) == (-9, []), fault["log"]
    # What it leaves at first shows that the other tests would see it.
    assert {"/run/netns/elevatorlab-target", "/sys/module/nvme_tcp_one_send"} <= {*fault["left"]}


def test_a_connection_outlives_the_name_of_its_namespace(faults):
    """The target's sockets keep the namespace; the trial ends as if nothing had happened."""
    fault = faults["network_namespace_loses_its_name"]
    assert (fault["status"], fault["left"]) == (0, []), fault["log"]


def test_a_kernel_without_headers_is_one_clear_failure(tmp_path):
    build = [KERNEL / "build.sh", tmp_path / "out", "6.1.0-0-none"]
    run = subprocess.run(build, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 1
    assert "do this machine's Debian sources have linux-headers-6.1.0-0-none?" in run.stderr
    assert not list((tmp_path / "out").glob("*.ko"))
