"""Real containers and services in real cgroups: found by class, limited and released."""

import contextlib
import json
import re
import socket
import urllib.request

import pytest
import yaml

from helpers import start_cli, wait_until
from regulator_containers import NORMAL, OVERLOAD
from regulator_disk import single_server_disk
from regulator_host import BLKIO, BLKIO_MARKS, loop_devices
from regulator_runtimes import OTHER_PARENT, PARENT, kubernetes, podman, systemd

pytestmark = BLKIO_MARKS

NORMALS, BATCH = ("web-1", "web-2"), "batch"
LOADS = {
    **dict.fromkeys(NORMALS, ["perl", "-e", NORMAL]),
    BATCH: ["sh", "-c", OVERLOAD],
}

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


def limits(cgroup):
    """Return the limits that the kernel holds for a cgroup: those of reads, those of writes."""
    files = ("read_bps_device", "write_bps_device")
    return [(BLKIO / cgroup / f"blkio.throttle.{file}").read_text().strip() for file in files]


def events(log, event="decision"):
    found = log.read_text().splitlines() if log.exists() else []
    return [line for line in map(json.loads, found) if line["event"] == event]


@contextlib.contextmanager
def regulating(tmp_path, classes):
    """Run the command over a YAML file; yield the process, its log, and what it shows."""
    file, log = tmp_path / "regulator.yaml", tmp_path / "log.jsonl"
    file.write_text(yaml.safe_dump({"classes": classes}))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
        wait_until(lambda: all(limits(cgroups[BATCH])))
        assert [limits(cgroups[name]) for name in NORMALS] == [["", ""]] * 2

        def within_its_limit():
            written, limit = shown("write", names[BATCH]), shown("limit", names[BATCH])
            return written and limit and 0 < written < 1.2 * limit

        assert first["numbers"]["bytes_s"] > 1.2 * first["limit_bytes_s"]
        wait_until(within_its_limit)
        process.terminate()
        assert process.wait(300) == 0 and process.stderr.read() == ""
        assert [limits(cgroup) for cgroup in cgroups.values()] == [["", ""]] * 3
        [end] = events(log, "stop")
        assert end["restored"] == [names[BATCH]]
