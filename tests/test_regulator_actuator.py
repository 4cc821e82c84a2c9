"""The actuator: limits are proved, noted before they are set, and always taken back.

Against the real blkio controller where this machine has one that may be written to, and
against io.max files as cgroup v2 writes them.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.groups.hierarchies import V1, V2
from elevatorlab.agent.lifecycle.journal import Journal, recover
from elevatorlab.agent.regulator import cgroups
from elevatorlab.agent.regulator.actuator import LIMITED, Actuator, LimitFailed
from elevatorlab.agent.regulator.targets import Target
from regulator_host import blkio_cgroup, loop_device, needs_blkio
from regulator_trees import Tree

LIB = Path(__file__).parent.parent / "lib"


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


KILLED = """
import random, sys
from pathlib import Path
from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.regulator import cgroups
from elevatorlab.agent.regulator.actuator import Actuator
from elevatorlab.agent.regulator.targets import Target
number, journal, seed, *folders = sys.argv[1:]
chance = random.Random(int(seed))
actuator = Actuator(cgroups.find(), lambda _: number, Journal(Path(journal)))
targets = [Target(f, f, "", Path(f), ("d",), True) for f in folders]
print("ready", flush=True)
while True:
    actuator.set(chance.choice(targets), chance.choice([None, 1 << 18, 1 << 20, 1 << 22]))
"""


@needs_blkio
def test_fifty_kills_leave_nothing(tmp_path):
    journal = tmp_path / "journal"
    environment = {**os.environ, "PYTHONPATH": str(LIB)}
    changed = 0
    with loop_device(tmp_path) as loop, blkio_cgroup("kill-a") as a, blkio_cgroup("kill-b") as b:
        number = Path(f"/sys/block/{loop}/dev").read_text().strip()
        (b / "blkio.throttle.write_bps_device").write_text(f"{number} 9000000\n")
        before = [limits_of(folder) for folder in (a, b)]
        for seed in range(50):
            command = [sys.executable, "-c", KILLED, number, journal, str(seed), a, b]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
            process.stdout.readline()
            time.sleep(random.Random(seed).uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            changed += [limits_of(folder) for folder in (a, b)] != before
            recover(journal)
            assert [limits_of(folder) for folder in (a, b)] == before
            assert list(journal.iterdir()) == []
    assert changed >= 10  # the kills did come while limits were set


@needs_blkio
def test_what_is_gone_with_its_container_needs_no_restoring(tmp_path, capsys):
    folder = tmp_path / "journal"
    folder.mkdir()
    step = ["restore_limit", "/sys/fs/cgroup/blkio/no-such/blkio.throttle.read_bps_device", "7:4 0"]
    (folder / "1.jsonl").write_text(json.dumps(step) + "\n")
    recover(folder)
    assert capsys.readouterr().err == "" and list(folder.iterdir()) == []


@pytest.fixture
def v2(tmp_path):
    tree = Tree(tmp_path, version=2)
    tree.device("sda", "8:0")
    return tree, tree.cgroup("c")


@pytest.mark.parametrize(
    "before, limits",
    [
        ("", (None, None)),
        ("8:0 rbps=max wbps=1048576 riops=max wiops=max\n", (None, 1048576)),
        (
            "8:16 rbps=5 wbps=5 riops=max wiops=max\n8:0 rbps=7 wbps=max riops=2 wiops=9\n",
            (7, None),
        ),
    ],
)
def test_limits_as_io_max_shows_them(v2, before, limits):
    tree, folder = v2
    (folder / "io.max").write_text(before)
    found = tree.hierarchy.limits(folder, "8:0", LIMITED)
    assert tuple(found[name] for name in LIMITED) == limits


@pytest.mark.parametrize(
    "limits, line",
    [
        ((None, None), "8:0 rbps=max wbps=max"),
        ((1000, 2000), "8:0 rbps=1000 wbps=2000"),
        ((None, 2000), "8:0 rbps=max wbps=2000"),
    ],
)
def test_limits_as_io_max_takes_them(v2, limits, line):
    tree, folder = v2
    wanted = dict(zip(LIMITED, limits, strict=True))
    [(file, value, reader)] = tree.hierarchy.knobs(folder, "8:0", wanted)
    assert (file, value) == (folder / "io.max", line)
    # The kernel answers with all four keys, and with nothing where all are max.
    if limits != (None, None):
        assert reader(f"8:16 rbps=1 wbps=1 riops=1 wiops=1\n{line} riops=max wiops=max\n") == line
    else:
        assert reader("") == line


def test_v2_is_journalled_with_the_limits_that_were(v2, tmp_path):
    tree, folder = v2
    (folder / "io.max").write_text("8:0 rbps=max wbps=5000 riops=max wiops=max\n")
    with Journal(tmp_path / "journal") as journal:
        actuator = Actuator(tree.hierarchy, tree.topology.number, journal)
        actuator.set(tree.target("c", "sda"), 3000)
        assert (folder / "io.max").read_text() == "8:0 rbps=3000 wbps=3000\n"
        assert journal.steps == [
            ["restore_limit", str(folder / "io.max"), "8:0 rbps=max wbps=5000"]
        ]
    assert (folder / "io.max").read_text() == "8:0 rbps=max wbps=5000\n"


MOUNTS = {
    "v1": "30 25 0:26 / /cg/blkio rw - cgroup cgroup rw,blkio\n",
    "hybrid": "31 25 0:27 / /cg/unified rw - cgroup2 cgroup2 rw\n"
    "30 25 0:26 / /cg/blkio rw,nosuid shared:7 - cgroup cgroup rw,blkio\n",
}


@pytest.mark.parametrize("text", MOUNTS.values(), ids=MOUNTS)
def test_the_blkio_hierarchy_is_found(tmp_path, text):
    (tmp_path / "mountinfo").write_text(text)
    found = cgroups.find(tmp_path / "mountinfo")
    assert (found.version, str(found.root)) == (1, "/cg/blkio")


@pytest.mark.parametrize("controllers, works", [("cpu io memory", True), ("cpu memory", False)])
def test_v2_needs_the_io_controller(tmp_path, controllers, works):
    (tmp_path / "cgroup.controllers").write_text(controllers + "\n")
    (tmp_path / "mountinfo").write_text(f"31 25 0:27 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    if works:
        assert cgroups.find(tmp_path / "mountinfo").version == 2
    else:
        with pytest.raises(Refused, match="expected the io controller .* found cpu memory; boot"):
            cgroups.find(tmp_path / "mountinfo")


def test_a_host_without_cgroups(tmp_path):
    (tmp_path / "mountinfo").write_text("1 1 254:0 / / rw - ext4 /dev/vda rw\n")
    with pytest.raises(Refused, match="found neither mounted"):
        cgroups.find(tmp_path / "mountinfo")


@pytest.mark.parametrize(
    "hierarchy, text, expected",
    [
        (V1("/cg"), "9:name=systemd:/x\n7:blkio,net:/docker/abc\n0::/\n", "/cg/docker/abc"),
        (V1("/cg"), "0::/docker/abc\n", None),
        (
            V2("/cg"),
            "0::/system.slice/docker-abc.scope\n",
            "/cg/system.slice/docker-abc.scope",
        ),
    ],
)
def test_the_cgroup_of_a_process(hierarchy, text, expected):
    found = hierarchy.path(text)
    assert found == (Path(expected) if expected else None)
