"""The block device under test: made or claimed for the trial, proved, and given back."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..lifecycle.journal import retried, undoes
from . import drive, nvme_tcp, paced_disk, protection
from .modules import load_module, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ..lifecycle.context import Context
    from ..lifecycle.proofs import Proofs

CONFIG = pathlib.Path("/sys/kernel/config/nullb")
BLOCK = pathlib.Path("/sys/class/block")
FUSE = pathlib.Path("/dev/fuse")
PACED = pathlib.Path("/run/elevatorlab/paced-disk")


def create(device: Mapping[str, Any], context: Context) -> str:
    """Make a device that a trial describes, or claim it, and return its kernel name."""
    return MAKERS[device["kind"]](device, context)


def create_backing(backing: Mapping[str, Any], context: Context) -> str:
    """Make what an NVMe/TCP target serves, or claim it, and return its kernel name.

    What the testbed offers is for the disk in front of it.
    """
    return create(backing, context._replace(site={}, agent=""))


def _create_nvme_tcp(device: Mapping[str, Any], context: Context) -> str:
    if "nvme_target" in context.site:
        return nvme_tcp.join(device, context.site["nvme_target"], context)
    backing = create_backing(device["backing"], context)
    return nvme_tcp.create(device, backing, context)


def _claim_disk(device: Mapping[str, Any], context: Context) -> str:
    return claim(device["id"], device["destroy"], context.proofs)


def _create_file_backed(device: Mapping[str, Any], context: Context) -> str:
    if context.site.get("disk"):
        return claim(context.site["disk"], True, context.proofs)
    return _create_loop(device, pathlib.Path(context.site["scratch"]), context)


def claim(stable_id: str, destroy: bool, proofs: Proofs) -> str:
    """Return the kernel name of a disk of the machine, if it may be written to."""
    name = protection.resolve(stable_id)
    before = protection.check(name, destroy)
    protection.still_the_same(name, stable_id, before)
    proofs.add(f"disk {stable_id}", "free to be overwritten", f"{name} ({before})")
    return name


def _create_loop(device: Mapping[str, Any], scratch: pathlib.Path, context: Context) -> str:
    """Attach a loop device to a new file in `scratch`, past the page cache of its disk.

    The file is allocated whole: its blocks are where they will be read.
    """
    size_bytes = device["size_mib"] << 20
    scratch.mkdir(parents=True, exist_ok=True)
    free_bytes = os.statvfs(scratch).f_bavail * os.statvfs(scratch).f_frsize
    if free_bytes < size_bytes + (64 << 20):
        raise AgentError(
            f"{scratch} has {free_bytes >> 20} MiB free; expected {(size_bytes >> 20) + 64} MiB "
            "for the file of the device under test. Free some, or choose a smaller preset"
        )
    file = tempfile.mktemp(prefix="disk-", dir=scratch)
    context.journal.will("remove_file", file)
    context.journal.will("detach_loop", file)
    with open(file, "xb") as content:
        os.posix_fallocate(content.fileno(), 0, size_bytes)
        os.fsync(content.fileno())
    return _attach_loop(file, context.proofs)


def _attach_loop(file: str | pathlib.Path, proofs: Proofs) -> str:
    """Attach a loop device, which may have partitions, to `file`, past the page cache."""
    if not pathlib.Path("/dev/loop-control").exists():
        load_module("loop")
    name = pathlib.Path(run("losetup", "--partscan", "--find", "--show", str(file))).name
    # Not an error where the file system has no direct I/O: the proof says which it is.
    subprocess.run(["losetup", "--direct-io=on", f"/dev/{name}"], capture_output=True)
    direct = (BLOCK / name / "loop/dio").read_text().strip()
    proofs.add(f"{name} backing file past the page cache", "1", direct)
    return name


@undoes("detach_loop")
def _detach_loop(file: str) -> None:
    listed = subprocess.run(
        ["losetup", "--associated", file, "--noheadings", "--output", "NAME"],
        capture_output=True,
        text=True,
    )
    for device in listed.stdout.split():
        retried(["losetup", "--detach", device])


def _create_paced(device: Mapping[str, Any], context: Context) -> str:
    """Start the server of a paced disk, and attach a loop device to its file."""
    if not FUSE.exists():
        load_module("fuse")
    if not FUSE.exists():
        raise AgentError(
            f"this machine has no {FUSE}; expected it, since a paced disk is a FUSE file. Run the "
            "agent where it is there (in a container: with --device /dev/fuse)"
        )
    model = PACED.with_suffix(".json")
    file = PACED / paced_disk.FILE
    context.journal.will("remove_file", model)
    model.write_text(json.dumps(device))
    context.journal.will("remove_folder", PACED)
    PACED.mkdir(exist_ok=True)
    context.journal.will("unmount_lazily", PACED)
    # Ended by the unmount, also after this program was killed.
    server = subprocess.Popen(
        ["python3", context.agent, "paced-disk", str(PACED), str(model)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert server.stdout
    if server.stdout.readline() != b"ready\n":
        raise AgentError(
            f"the server of the paced disk ended with status {server.wait()}; expected it to "
            f"mount a FUSE file system on {PACED} (see log.txt)"
        )
    context.journal.will("detach_loop", file)
    name = _attach_loop(file, context.proofs)
    # There is no volatile cache to flush.
    context.proofs.set(BLOCK / name / "queue/write_cache", "write through")
    return name


@undoes("unmount_lazily")
def _unmount_lazily(path: str) -> None:
    """Unmount what may still be in use, or whose server may be dead."""
    if f" {path} " in pathlib.Path("/proc/self/mounts").read_text():
        subprocess.run(["umount", "--lazy", path], check=True, capture_output=True)


def account(device: Mapping[str, Any]) -> dict[str, float] | None:
    """Return what a paced disk's server has done so far (`paced_disk.Pace.account`).

    None for other disks, and for a server that has died: its disk's requests fail, too.
    """
    if device["kind"] != "paced_disk":
        return None
    try:
        done: dict[str, float] = json.loads((PACED / paced_disk.ACCOUNT).read_text())
    except OSError:
        return None
    return done


def _create_null_blk(device: Mapping[str, Any], context: Context) -> str:
    """Create a `null_blk` device: the kernel's simulated disk.

    A request occupies one of `parallelism` slots for `service_time_us`; the device's memory
    holds what was written. Attributes: Documentation/block/null_blk.rst of the kernel.
    """
    load_module("null_blk", "nr_devices=0")
    folder = CONFIG / "elevatorlab"
    if folder.exists():
        raise AgentError(
            f"{folder} exists already; another trial runs on this machine. Wait for it to end."
        )
    context.journal.will("remove_folder", folder)
    folder.mkdir()
    context.journal.will_write(folder / "power", "0")
    timer, instant = 2, 0
    attributes = {
        "size": device["size_mib"],
        "memory_backed": 1,
        "submit_queues": 1,
        "hw_queue_depth": device["parallelism"],
        "irqmode": timer if device["service_time_us"] else instant,
        "completion_nsec": round(device["service_time_us"] * 1000),
        "mbps": device["bandwidth_mib_s"],
        "cache_size": device["write_cache_mib"],
    }
    for name, value in attributes.items():
        context.proofs.set(folder / name, value)
    context.proofs.set(folder / "power", 1)
    # Newer kernels name the disk after its folder, older ones after its index.
    names = [folder.name, "nullb" + (folder / "index").read_text().strip()]
    for name in names:
        if pathlib.Path("/dev", name).exists():
            return name
    raise AgentError(
        f"null_blk was switched on, but neither /dev/{' nor /dev/'.join(names)} is there"
    )


#: What makes each kind of device; a trial's plug-ins add theirs.
MAKERS: dict[str, Callable[..., str]] = {
    "disk": _claim_disk,
    "drive": drive.create,
    "file_backed": _create_file_backed,
    "null_blk": _create_null_blk,
    "nvme_tcp": _create_nvme_tcp,
    "paced_disk": _create_paced,
}


@contextlib.contextmanager
def expected_to_stay(name: str, patience_s: float = 2) -> Iterator[None]:
    """Fail when the disk goes away meanwhile, whatever else fails then.

    Its requests may fail a moment before the kernel takes it away.
    """
    failure = None
    try:
        yield
    except AgentError as problem:
        failure = problem
    until_s = time.monotonic() + (patience_s if failure else 0)
    while (BLOCK / name).exists():
        if time.monotonic() >= until_s:
            break
        time.sleep(0.05)
    else:
        raise AgentError(
            f"the disk under test, {name}, went away while it was measured; expected it to stay "
            "(did its target end, or the connection break?)"
        ) from failure
    if failure:
        raise failure


def disks_below(path: str | pathlib.Path) -> list[str]:
    """Return the kernel names of the disks that a file or folder lies on.

    A partition is resolved to its disk, a mapper device or RAID to its members' disks. Memory, a
    network, an overlay and some btrfs have no disk below, which is an error.
    """
    number = os.stat(path).st_dev
    node = pathlib.Path("/sys/dev/block", f"{os.major(number)}:{os.minor(number)}")
    if not node.exists():
        raise AgentError(
            f"{path} lies on no block device of this machine; expected a file system on a disk. "
            "Name another folder"
        )
    return sorted(_whole_disks(node.resolve().name))


def disks_of(
    device: str, block: pathlib.Path = BLOCK, nodes: pathlib.Path = pathlib.Path("/dev")
) -> list[str]:
    """Return the kernel names of the disks whose schedulers decide for a device as users name it.

    They name it ``sda``, ``nvme0n1`` (its paths, under multipath), ``md0`` (its members' disks), a
    partition (its disk), ``c0d0`` of an HP RAID controller (``cciss!c0d0``), ``mapper/NAME`` or
    ``VOLUME-GROUP/VOLUME`` (what lies below), ``disk/by-id/...``; with or without ``/dev/`` before
    it.
    """
    name = device[len("/dev/") :] if device.startswith("/dev/") else device
    there = sorted(path.name for path in block.glob("*"))
    link = nodes / name
    # The kernel writes a slash in a device's name as an exclamation mark.
    meant = [name.replace("/", "!"), f"cciss!{name}"]
    if link.is_symlink():
        meant.append(link.resolve().name)
    for known in meant:
        if known in there:
            return sorted(_whole_disks(known, block))
    raise AgentError(
        f"expected a block device of this machine, found {device!r}; it has: {', '.join(there)}"
    )


def _whole_disks(name: str, block: pathlib.Path = BLOCK) -> set[str]:
    folder = (block / name).resolve()
    if (folder / "partition").exists():
        folder = folder.parent
    members = [path.name for path in (folder / "slaves").glob("*")]
    below = {disk for member in members for disk in _whole_disks(member, block)}
    return below or _paths(folder.name, block) or {folder.name}


def _paths(name: str, block: pathlib.Path) -> set[str]:
    """Return the paths of an NVMe disk under native multipath: these have the schedulers.

    The disk ``nvme0n1`` itself then passes requests on to ``nvme0c0n1``, ``nvme0c1n1`` ...
    """
    subsystem, separator, namespace = name.rpartition("n")
    if not separator or not subsystem.startswith("nvme"):
        return set()
    return {path.name for path in block.glob(f"{subsystem}c[0-9]*n{namespace}")}


def read_bytes(name: str) -> int:
    """Bytes that the device has served to reads since it exists (512-byte sectors)."""
    return int((BLOCK / name / "stat").read_text().split()[2]) * 512


def written_bytes(name: str) -> int:
    """Bytes that the device has taken from writes since it exists (512-byte sectors)."""
    return int((BLOCK / name / "stat").read_text().split()[6]) * 512
