"""Real containers and services in real cgroups: found, limited, released, also after kills."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import yaml

from elevatorlab.agent.lifecycle.recovery import recover
from elevatorlab.paths import PROJECT
from helpers import start_cli, wait_until
from regulator_host import (
    BLKIO,
    BLKIO_MARKS,
    NORMAL,
    OVERLOAD,
    blkio_cgroup,
    events,
    limits_of,
    loop_device,
    loop_devices,
    single_server_disk,
)
from regulator_runtimes import OTHER_PARENT, PARENT, kubernetes, podman, systemd
from sshd import free_port

pytestmark = BLKIO_MARKS

NORMALS, BATCH = ("web-1", "web-2"), "batch"
LOADS = {**dict.fromkeys(NORMALS, ["perl", "-e", NORMAL]), BATCH: ["sh", "-c", OVERLOAD]}

#: What runs the loads, and the pattern of each class.
LAYOUTS = {
    "podman": (podman, {"web": f"{PARENT}/libpod-*", BATCH: f"{OTHER_PARENT}/libpod-*"}),
    "kubernetes-cgroupfs": (
        kubernetes("cgroupfs"),
        {
            "web": "kubepods/pod*/*",
            "burstable": "kubepods/burstable/pod*/*",
            BATCH: "kubepods/besteffort/pod*/*",
        },
    ),
    "kubernetes-systemd": (
        kubernetes("systemd"),
        {
            "web": "kubepods.slice/kubepods-pod*.slice/cri-containerd-*.scope",
            "burstable": "kubepods.slice/kubepods-burstable.slice/*/cri-containerd-*.scope",
            BATCH: "kubepods.slice/kubepods-besteffort.slice/*/cri-containerd-*.scope",
        },
    ),
    "systemd": (
        systemd,
        {
            "web": f"{PARENT}/libpod-*/system.slice/web-*.service",
            BATCH: f"{PARENT}/libpod-*/system.slice/batch.service",
        },
    ),
}
PROGRAMS = {"podman": ("podman", "runc"), "systemd": ("podman", "runc", "systemd")}


@contextlib.contextmanager
def regulating(tmp_path, classes):
    """Run the command over a YAML file; yield the process, its log, and what it shows."""
    file, log = tmp_path / "regulator.yaml", tmp_path / "log.jsonl"
    file.write_text(yaml.safe_dump({"classes": classes}))
    port = free_port()
    options = ["--policy", "slae", "--sla-wait-ms", "5", "--metrics-port", port]
    options += ["--config", file, "--log", log, "--state", tmp_path / "state"]
    process = start_cli("regulate", *options)

    def shown(what, container):
        """Return what the page of metrics has of a container's bytes a second."""
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        name = f'container_{what}_bytes_per_second{{container="{container}"}}'
        found = re.search(re.escape(name) + r" (\S+)", page)
        return found and float(found[1])

    try:
        yield process, log, shown
    finally:
        process.terminate()
        process.wait(300)
        process.stdout.close()
        process.stderr.close()


def each_layout(test):
    """Run a test for each layout whose programs are here."""
    layouts = [
        pytest.param(*layout, marks=pytest.mark.programs(*PROGRAMS.get(name, ("runc",))), id=name)
        for name, layout in LAYOUTS.items()
    ]
    return pytest.mark.parametrize("running, patterns", layouts)(test)


@each_layout
def test_an_overload_is_found_by_its_class_limited_and_released(tmp_path, running, patterns):
    with contextlib.ExitStack() as undo:
        [loop] = undo.enter_context(loop_devices(1))
        undo.enter_context(single_server_disk(tmp_path, [loop], 0.05, 6000))
        cgroups = undo.enter_context(running(tmp_path, loop, LOADS))
        names = {load: cgroup.rpartition("/")[2] for load, cgroup in cgroups.items()}
        wait_until(lambda: all((BLKIO / cgroup).is_dir() for cgroup in cgroups.values()))
        classes = {
            name: {"cgroups": [pattern], "devices": [loop]} for name, pattern in patterns.items()
        }
        classes[BATCH]["sla"] = "none"
        process, log, shown = undo.enter_context(regulating(tmp_path, classes))
        first = wait_until(lambda: events(log))[0]
        assert {event["container"] for event in events(log, "container")} == set(names.values())
        assert (first["container"], first["action"]) == (names[BATCH], "throttle")
        assert first["cause"].startswith("wait_ms of ") and first["numbers"]["wait_ms"] > 5
        wait_until(lambda: all(limits_of(BLKIO / cgroups[BATCH])))
        assert [limits_of(BLKIO / cgroups[name]) for name in NORMALS] == [["", ""]] * 2

        def within_its_limit():
            written, limit = shown("write", names[BATCH]), shown("limit", names[BATCH])
            return written and limit and 0 < written < 1.2 * limit

        assert first["numbers"]["bytes_s"] > 1.2 * first["limit_bytes_s"]
        wait_until(within_its_limit)
        process.terminate()
        assert process.wait(300) == 0 and process.stderr.read() == ""
        assert [limits_of(BLKIO / cgroup) for cgroup in cgroups.values()] == [["", ""]] * 3
        [end] = events(log, "stop")
        assert end["restored"] == [names[BATCH]]


LIB = PROJECT / "lib"


KILLED = """
import random, sys
from pathlib import Path
from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.regulator.topology import find_cgroups
from elevatorlab.agent.regulator.actuator import Actuator
from elevatorlab.agent.regulator.targets import Target
number, journal, seed, *folders = sys.argv[1:]
chance = random.Random(int(seed))
actuator = Actuator(find_cgroups(), lambda _: number, Journal(Path(journal)))
targets = [Target(f, f, "", Path(f), ("d",), True) for f in folders]
print("ready", flush=True)
while True:
    actuator.set(chance.choice(targets), chance.choice([None, 1 << 18, 1 << 20, 1 << 22]))
"""


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
