"""The block device under test: made or claimed for the trial, proved, and given back."""

import os
import pathlib
import subprocess
import tempfile

from . import guard
from .errors import TrialFailed

CONFIG = pathlib.Path("/sys/kernel/config/nullb")
BLOCK = pathlib.Path("/sys/class/block")


def create(device, site, journal, proofs):
    """Make the trial's device, or claim it, and return its kernel name.

    Parameters
    ----------
    device : dict
        As the trial describes it.
    site : dict
        What the testbed offers here: ``scratch``, a folder for the file of a file-backed
        device; ``disk``, the id of the disk that the testbed made for this purpose.
    """
    if device["kind"] == "null_blk":
        return _create_null_blk(device, journal, proofs)
    if device["kind"] == "disk":
        return claim(device["id"], device["destroy"], proofs)
    if site.get("disk"):
        return claim(site["disk"], True, proofs)
    return _create_loop(device, pathlib.Path(site["scratch"]), journal, proofs)


def claim(stable_id, destroy, proofs):
    """Return the kernel name of a disk of the machine, if the guard lets it be written to."""
    name = guard.resolve(stable_id)
    before = guard.check(name, destroy)
    guard.still_the_same(name, stable_id, before)
    proofs.add(f"disk {stable_id}", "free to be overwritten", f"{name} ({before})")
    return name


def _create_loop(device, scratch, journal, proofs):
    """Attach a loop device to a new file in `scratch`, past the page cache of its disk.

    The file is allocated whole: its blocks are where they will be read.
    """
    size_bytes = device["size_mib"] << 20
    scratch.mkdir(parents=True, exist_ok=True)
    free_bytes = os.statvfs(scratch).f_bavail * os.statvfs(scratch).f_frsize
    if free_bytes < size_bytes + (64 << 20):
        raise TrialFailed(
            f"{scratch} has {free_bytes >> 20} MiB free; expected {(size_bytes >> 20) + 64} MiB "
            "for the file of the device under test. Free some, or choose a smaller preset"
        )
    file = tempfile.mktemp(prefix="disk-", dir=scratch)
    journal.will("remove_file", file)
    journal.will("detach_loop", file)
    with open(file, "xb") as content:
        os.posix_fallocate(content.fileno(), 0, size_bytes)
        os.fsync(content.fileno())
    name = pathlib.Path(_run(["losetup", "--find", "--show", file])).name
    # Not an error where the file system has no direct I/O: the proof says which it is.
    subprocess.run(["losetup", "--direct-io=on", f"/dev/{name}"], capture_output=True)
    direct = (BLOCK / name / "loop/dio").read_text().strip()
    proofs.add(f"{name} backing file past the page cache", "1", direct)
    return name


def _create_null_blk(device, journal, proofs):
    """Create a `null_blk` device: the kernel's simulated disk.

    A request occupies one of `parallelism` slots for `service_time_us`; the device's memory
    holds what was written. Attributes: Documentation/block/null_blk.rst of the kernel.
    """
    load_module("null_blk", "nr_devices=0")
    folder = CONFIG / "elevatorlab"
    if folder.exists():
        raise TrialFailed(
            f"{folder} exists already; another trial runs on this machine. Wait for it to end."
        )
    journal.will("remove_folder", folder)
    folder.mkdir()
    journal.will_write(folder / "power", "0")
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
        proofs.set(folder / name, value)
    proofs.set(folder / "power", 1)
    # Newer kernels name the disk after its folder, older ones after its index.
    names = [folder.name, "nullb" + (folder / "index").read_text().strip()]
    for name in names:
        if pathlib.Path("/dev", name).exists():
            return name
    raise TrialFailed(
        f"null_blk was switched on, but neither /dev/{' nor /dev/'.join(names)} is there"
    )


def load_module(name, *options):
    """Load a kernel module; say so in one sentence if the kernel has none of that name."""
    run = subprocess.run(["modprobe", name, *options], capture_output=True, text=True)
    if run.returncode:
        kernel = pathlib.Path("/proc/sys/kernel/osrelease").read_text().strip()
        raise TrialFailed(
            f"kernel {kernel} has no module {name} ({run.stderr.strip()}); "
            "use a kernel that has it, or leave it out of the trial"
        )


def disks_below(path):
    """Return the kernel names of the disks that a file or folder lies on.

    A partition is resolved to its disk, a mapper device or RAID to its members' disks.

    Raises
    ------
    TrialFailed
        When there is no block device below (memory, network, overlay, some btrfs).
    """
    number = os.stat(path).st_dev
    node = pathlib.Path("/sys/dev/block", f"{os.major(number)}:{os.minor(number)}")
    if not node.exists():
        raise TrialFailed(
            f"{path} lies on no block device of this machine; expected a file system on a disk. "
            "Name another folder"
        )
    return sorted(_whole_disks(node.resolve().name))


def _whole_disks(name):
    folder = (BLOCK / name).resolve()
    if (folder / "partition").exists():
        folder = folder.parent
    members = [path.name for path in (folder / "slaves").glob("*")]
    return {disk for member in members for disk in _whole_disks(member)} or {folder.name}


def _run(argv):
    run = subprocess.run(argv, capture_output=True, text=True)
    if run.returncode:
        raise TrialFailed(f"{' '.join(argv)} failed: {run.stderr.strip()}")
    return run.stdout.strip()


def read_bytes(name):
    """Bytes that the device has served to reads since it exists (512-byte sectors)."""
    return int((BLOCK / name / "stat").read_text().split()[2]) * 512
