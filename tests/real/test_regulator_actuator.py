"""The actuator: limits are proved, noted before they are set, and always taken back.

Against the real blkio controller where this machine has one that may be written to, and
against io.max files as cgroup v2 writes them.
"""

import json
import subprocess
import time
from pathlib import Path

import pytest

from elevatorlab.agent.lifecycle.journal import Journal, recover
from elevatorlab.agent.regulator import cgroups
from elevatorlab.agent.regulator.actuator import Actuator, LimitFailed
from elevatorlab.agent.regulator.targets import Target
from regulator_host import blkio_cgroup, loop_device, needs_blkio


@pytest.fixture
def real(tmp_path):
    """Return a cgroup of the real v1 hierarchy with a loop device, and who limits it."""
    with loop_device(tmp_path) as loop, blkio_cgroup("actuator") as folder:
        number = Path(f"/sys/block/{loop}/dev").read_text().strip()
        target = Target("c", "c", "", folder, (loop,), True)
        with Journal(tmp_path / "journal") as journal:
            yield Actuator(cgroups.find(), lambda _: number, journal), target, number


def limits_of(folder):
    names = ("read_bps_device", "write_bps_device")
    return [(folder / f"blkio.throttle.{name}").read_text().strip() for name in names]


@needs_blkio
def test_a_limit_is_set_read_back_and_taken_back(real):
    actuator, target, number = real
    records = actuator.set(target, 1 << 20)
    assert limits_of(target.folder) == [f"{number} 1048576"] * 2
    assert [record["read"] for record in records] == [f"{number} 1048576"] * 2
    actuator.set(target, None)
    assert limits_of(target.folder) == ["", ""]


@needs_blkio
def test_a_limit_bites_and_its_end_too(real):
    actuator, target, _ = real
    command = f"echo $$ >{target.folder}/cgroup.procs; dd if=/dev/zero of=/dev/{target.devices[0]} "
    command += "bs=64k count=16 oflag=direct status=none"

    def seconds():
        start_s = time.monotonic()
        subprocess.run(["sh", "-c", command], check=True)
        return time.monotonic() - start_s

    actuator.set(target, 1 << 20)
    # The quickest of some, since other work can only make them slower.
    assert 0.7 < min(seconds() for _ in range(3)) < 3  # 1 MiB at 1 MiB/s
    actuator.set(target, None)
    assert min(seconds() for _ in range(5)) < 0.5


@needs_blkio
def test_the_stricter_limit_of_somebody_else_stays_and_returns(real):
    actuator, target, number = real
    (target.folder / "blkio.throttle.read_bps_device").write_text(f"{number} 500000\n")
    actuator.set(target, 1 << 20)
    assert limits_of(target.folder) == [f"{number} 500000", f"{number} 1048576"]
    actuator.set(target, None)
    assert limits_of(target.folder) == [f"{number} 500000", ""]


@needs_blkio
def test_leaving_restores_what_was(tmp_path):
    with loop_device(tmp_path) as loop, blkio_cgroup("leaving") as folder:
        number = Path(f"/sys/block/{loop}/dev").read_text().strip()
        (folder / "blkio.throttle.write_bps_device").write_text(f"{number} 700000\n")
        target = Target("c", "c", "", folder, (loop,), True)
        with pytest.raises(RuntimeError), Journal(tmp_path / "journal") as journal:
            Actuator(cgroups.find(), lambda _: number, journal).set(target, 1 << 18)
            assert limits_of(folder) == [f"{number} 262144"] * 2
            raise RuntimeError
        assert limits_of(folder) == ["", f"{number} 700000"]


@needs_blkio
def test_counters_of_cgroup_v1_start_without_limiting_anything(real):
    actuator, target, number = real
    actuator.start_counters(target)
    assert limits_of(target.folder) == ["", ""]
    write = f"echo $$ >{target.folder}/cgroup.procs; dd if=/dev/zero of=/dev/{target.devices[0]} "
    write += "bs=4k count=5 oflag=direct status=none"
    subprocess.run(["sh", "-c", write], check=True)
    assert actuator.hierarchy.counters(target.folder)[number][1::2] == [5, 5 * 4096]


@needs_blkio
def test_a_container_that_ends_before_its_limit_is_told(real):
    actuator, target, _ = real
    target.folder.rmdir()
    with pytest.raises(LimitFailed, match="container c ended, or lost its device"):
        actuator.set(target, 1 << 20)
    target.folder.mkdir()


@needs_blkio
def test_what_is_gone_with_its_container_needs_no_restoring(tmp_path, capsys):
    folder = tmp_path / "journal"
    folder.mkdir()
    step = ["restore_limit", "/sys/fs/cgroup/blkio/no-such/blkio.throttle.read_bps_device", "7:4 0"]
    (folder / "1.jsonl").write_text(json.dumps(step) + "\n")
    recover(folder)
    assert capsys.readouterr().err == "" and list(folder.iterdir()) == []
