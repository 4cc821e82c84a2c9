"""Process 1 of the machine: prepare it, stop so that its state is saved, then run a job's cases."""

import ctypes
import fcntl
import io
import json
import os
import subprocess
import sys
import tarfile
import time
import traceback
import tty
from pathlib import Path

from . import atomic, late, memory, ports, supervisor, trace
from .cases import ALL
from .failure import Broken
from .scheduler import Scheduler

EXCHANGE = "/dev/pmem1"
MAGIC = b"ELINPUT1"
BLKFLSBUF = 0x1261  # linux/fs.h: forget what is cached of a block device
JOB = Path("/run/job")

MOUNTS = {
    "/proc": "proc",
    "/sys": "sysfs",
    "/run": "tmpfs",
    "/tmp": "tmpfs",
    "/sys/kernel/config": "configfs",
    "/sys/kernel/debug": "debugfs",
    "/sys/kernel/tracing": "tracefs",
}

SETTINGS = {
    "kernel/panic_on_warn": 1,
    "kernel/unknown_nmi_panic": 1,  # such as the watchdog's interrupt
    "kernel/hung_task_timeout_secs": 0,  # the supervisor sees a hung request, and names it
    "kernel/printk": "5 4 1 7",
}

#: How long a thread of a load may run while another one waits; Python's default is 5 ms.
SWITCH_INTERVAL_S = 1e-4

#: Loaded before the stop, so that no check has to fetch them from the root.
MODULES = (["null_blk", "nr_devices=0"], ["nbd", "nbds_max=1"], ["scsi_mod"], ["sd_mod"])


def prepare() -> None:
    """Mount file systems, set what the kernel takes for a failure, load drivers, start tracing."""
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LC_ALL="C.UTF-8")
    subprocess.run(["modprobe", "configfs"], check=True)
    libc = ctypes.CDLL(None, use_errno=True)
    for target, kind in MOUNTS.items():
        os.makedirs(target, exist_ok=True)
        if libc.mount(kind.encode(), target.encode(), kind.encode(), 0, None) != 0:
            raise OSError(ctypes.get_errno(), f"mounting {kind} on {target}")
    for name, value in SETTINGS.items():
        Path("/proc/sys", name).write_text(f"{value}\n")
    for module in MODULES:
        subprocess.run(["modprobe", *module], check=True)
    trace.begin()
    atomic.begin()
    late.begin()
    tty.setraw(os.open("/dev/ttyS1", os.O_RDWR | os.O_NOCTTY))
    # Forget what was read from the exchange so far, such as a partition table.
    exchange = os.open(EXCHANGE, os.O_RDWR)
    fcntl.ioctl(exchange, BLKFLSBUF)
    os.close(exchange)


def receive() -> None:
    """Unpack the job: the module, and job.json. Keep the key of the messages in mind only."""
    JOB.mkdir()
    with open(EXCHANGE, "r+b", buffering=0) as exchange:
        magic = exchange.read(len(MAGIC))
        if magic != MAGIC:
            raise RuntimeError(f"nothing in {EXCHANGE}: expected {MAGIC!r}, found {magic!r}")
        length = int.from_bytes(exchange.read(8), "big")
        content = exchange.read(length)
        exchange.seek(0)
        exchange.write(bytes(length + 16))
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        tar.extractall(JOB)
    ports.Line.key = (JOB / "key").read_bytes()
    (JOB / "key").unlink()


def run_cases() -> None:
    """Run the cases of the job until one fails, and report each to the host."""
    job = json.loads((JOB / "job.json").read_text())
    files = tuple(job["files"])
    scheduler = Scheduler(job["name"], JOB / job["module"], files, job["others"], memory.snapshot())
    for number, name in enumerate(job["cases"]):
        began_s = time.monotonic()
        ports.tell(case=name, event="began")
        try:
            if number == 0:
                scheduler.load()
            said = supervisor.run(ALL[name], scheduler)
        except Broken as broken:
            ports.tell(case=name, event="failed", said=str(broken), hangs=broken.hangs)
            return
        except supervisor.KernelComplained:
            ports.tell(case=name, event="complained")
            return
        took_ms = round(1000 * (time.monotonic() - began_s))
        ports.tell(case=name, event="passed", said=said, took_ms=took_ms)


def main() -> None:
    """Receive the scheduler, run all cases, and then shut the machine down."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    prepare()
    ports.write(ports.PAUSE, 1)
    # ---- a check starts here ----
    subprocess.Popen(["python3", "-m", "in_guest.watchdog"])
    try:
        receive()
        run_cases()
    except Exception:
        ports.tell(event="broke", said=traceback.format_exc())
    ports.tell(event="ended")
    ports.write(ports.EXIT, ports.EXIT_VALUE)


main()
