# SPDX-License-Identifier: GPL-2.0-only
"""A scheduler over NVMe/TCP: data, controllers that go; SBQ with both drivers, and passthrough."""

import contextlib
import ctypes
import fcntl
import os
import time

from rig import (
    UNDER_TEST,
    NullBlk,
    NvmeTcp,
    Writers,
    endless,
    fio,
    of_the_kernel,
    said_by,
    start,
    verified,
)
from stress_changes import switch_under_load
from stress_data import storm


@contextlib.contextmanager
def nvme_tcp(driver, **backing):
    with NullBlk(size=64, **{"irqmode": 2, "completion_nsec": 50000, **backing}) as backing:
        with NvmeTcp(backing.device, driver) as disk:
            disk.select()
            yield disk


def an_nvme_controller_is_deleted_under_load(times=3):
    acknowledged = []
    for driver in NvmeTcp.drivers():
        with nvme_tcp(driver) as disk:
            for number in range(times):
                disk.select()
                disk.hold_for([50, 100000][number % 2])
                depth = [64, 3][number % 2]
                job = start(disk.device, **endless(iodepth=depth, size="48m"))
                disk.wait_for_requests()
                writers = Writers(disk.device, number=[24, 3][number % 2])
                writers.wait_for_writes()
                disk.delete()
                said_by(job)
                assert job.returncode != 0
                disk.connect()
                acknowledged.append(writers.check(disk.device, fail=True))
    return acknowledged


def an_nvme_controller_is_reset_under_load(times=3):
    found = {}
    for driver in NvmeTcp.drivers():
        with nvme_tcp(driver) as disk:
            jobs = {"numjobs": 2, "size": "4m", "offset_increment": "32m", "loops": 999}
            job = start(disk.device, **verified(**jobs))
            writers = Writers(disk.device)
            for _ in range(times):
                writers.wait_for_writes()
                assert job.poll() is None, said_by(job)[-1000:]
                disk.reset()
            writers.wait_for_writes()
            acknowledged = writers.check(disk.device, fail=False)
            job.terminate()
            said = said_by(job)
            assert "verify" not in said.split("{", 1)[0], said[:1500]
            fio(disk.device, **verified(size="4m"))
            found[driver] = acknowledged, disk.check_counters()
    return found


def switches_over_nvme_tcp_lose_nothing(times=100):
    found = {}
    for driver in NvmeTcp.drivers():
        with nvme_tcp(driver) as disk:
            found[driver] = switch_under_load(disk, times, size="2m")
    return found


def flush_and_fua_storms_end_over_nvme_tcp():
    """Each flush goes on to the target's disk, which has a cache too."""
    found = {}
    for driver in NvmeTcp.drivers():
        with nvme_tcp(driver, cache_size=8) as disk:
            found[driver] = storm(disk)
    return found


def data_survive_nvme_over_tcp():
    """Each driver, small and full batches, writes inside the command and after it."""
    found = {}
    for driver in NvmeTcp.drivers():
        with nvme_tcp(driver) as disk:
            for scheduler in UNDER_TEST.name, *of_the_kernel():
                disk.select(scheduler)
                jobs = {"numjobs": 2, "size": "2m", "offset_increment": "32m", "iodepth": 48}
                fio(disk.device, **verified(**jobs, bssplit="4k/60:8k/20:64k/20"))
                fio(disk.device, **verified(**jobs, iodepth_batch_submit=16, bs="4k"))
                if scheduler == UNDER_TEST.name:
                    found[driver] = disk.check_counters()
    return found


class NvmePassthrough(ctypes.Structure):
    """struct nvme_passthru_cmd of linux/nvme_ioctl.h."""

    _fields_ = [
        ("opcode", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("rsvd1", ctypes.c_uint16),
        ("nsid", ctypes.c_uint32),
        ("rest", ctypes.c_uint8 * 64),
    ]


def passthrough_commands_go_past_the_hold():
    io_command = 0xC0484E43  # NVME_IOCTL_IO_CMD
    assert ctypes.sizeof(NvmePassthrough) == 72
    with nvme_tcp("stock") as disk:
        disk.set("batch_timeout_us", 100000)
        device = os.open(disk.device, os.O_RDWR)
        before = disk.counters()
        took = []
        for _ in range(50):
            flush = NvmePassthrough(opcode=0, nsid=1)
            began = time.monotonic()
            assert fcntl.ioctl(device, io_command, flush) == 0
            took.append(time.monotonic() - began)
        assert disk.counters() == before, "a passthrough command was held"
        assert min(took) < 0.1, took
        os.close(device)
