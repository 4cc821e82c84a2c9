"""The block device under test: made for the trial, proved, and removed with it."""

import pathlib
import subprocess

from .errors import TrialFailed

CONFIG = pathlib.Path("/sys/kernel/config/nullb")


def create(device, journal, proofs):
    """Make the trial's device and return its kernel name."""
    if device["kind"] != "null_blk":
        raise TrialFailed(f"unknown kind of device {device['kind']!r}; expected 'null_blk'")
    return _create_null_blk(device, journal, proofs)


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


def read_bytes(name):
    """Bytes that the device has served to reads since it exists (512-byte sectors)."""
    return int(pathlib.Path("/sys/block", name, "stat").read_text().split()[2]) * 512
