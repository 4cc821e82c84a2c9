# SPDX-License-Identifier: GPL-2.0-only
"""The stress tests of the SBQ module, run inside the test guest; prints one line a test."""

import contextlib
import ctypes
import errno
import fcntl
import os
import random
import subprocess
import sys
import time
import traceback

from rig import NullBlk, NvmeTcp, Queue, finish, fio, load, start, trouble, verified, write

MODULE = "/kernel-test/sbq-iosched.ko"
CPUS = os.cpu_count()


def knobs_have_defaults_and_refuse_what_is_out_of_range():
    with NullBlk() as disk:
        disk.select("sbq")
        defaults = {"batch_nr": 16, "batch_bytes": 65536, "batch_timeout_us": 50}
        assert {knob: disk.get(knob) for knob in defaults} == defaults
        for knob, most in (
            ("batch_nr", 1024),
            ("batch_bytes", 16 << 20),
            ("batch_timeout_us", 10**5),
        ):
            for bad, expected in (0, errno.ERANGE), (most + 1, errno.ERANGE), ("x", errno.EINVAL):
                try:
                    disk.set(knob, bad)
                except OSError as error:
                    assert error.errno == expected, (knob, bad, error)
                else:
                    raise AssertionError(f"{knob} took {bad}")
            assert disk.get(knob) == defaults[knob]
            disk.set(knob, most)
            assert disk.get(knob) == most


def each_cause_of_release_is_counted():
    with NullBlk() as disk:
        disk.select("sbq")
        fio(disk.device, rw="randread", iodepth=1, number_ios=200, size="4m")
        one_by_one = disk.check_counters()
        assert one_by_one["released_by_timeout"] == 200 == one_by_one["held"], one_by_one

        disk.select("none"), disk.select("sbq")
        disk.set("batch_timeout_us", 100000)
        fio(disk.device, rw="randread", iodepth=64, iodepth_batch=32, number_ios=3200, size="32m")
        full = disk.check_counters()
        assert full["released_by_nr"] >= 190, full

        disk.select("none"), disk.select("sbq")
        disk.set("batch_timeout_us", 100000)
        fio(disk.device, rw="randwrite", bs="32k", iodepth=8, number_ios=400, size="32m")
        bytes_ = disk.check_counters()
        assert bytes_["released_by_bytes"] >= 190 and bytes_["released_by_nr"] == 0, bytes_
        return one_by_one, full, bytes_


def a_bio_is_merged_into_a_held_request():
    with NullBlk() as disk:
        disk.select("sbq")
        disk.set("batch_timeout_us", 20000)
        for pattern in "write", "read":
            fio(disk.device, **verified(rw=pattern, iodepth=8, size="8m"))
        found = disk.check_counters()
        assert found["merged"] > 100, found
        return found


def data_survive_every_kind_of_completion_size_and_queue():
    kinds = [
        {"irqmode": 0},
        {"irqmode": 1, "submit_queues": CPUS},
        {"irqmode": 2, "completion_nsec": 30000},
        {"irqmode": 2, "completion_nsec": 30000, "hw_queue_depth": 3},
        {"irqmode": 0, "blocking": 1},
        {"irqmode": 1, "submit_queues": CPUS, "hw_queue_depth": 5, "blocking": 1},
    ]
    found = []
    for kind in kinds:
        with NullBlk(**kind) as disk:
            disk.select("sbq")
            mixed = "512/10:4k/50:8k/10:16k/10:64k/10:256k/10"
            jobs = {"numjobs": 2, "size": "16m", "offset_increment": "32m"}
            fio(disk.device, **verified(**jobs, bssplit=mixed, blockalign="512", bs_unaligned=1))
            found.append(disk.check_counters())
    return found


def flush_and_fua_storms_end():
    with NullBlk(cache_size=8, irqmode=1) as disk:
        disk.select("sbq")
        fua = (disk.folder / "fua").read_text().strip()
        cache = (disk.folder / "write_cache").read_text().strip()
        assert (cache, fua) == ("write back", "1"), (cache, fua)
        fio(disk.device, **verified(fsync=1, size="2m", numjobs=2, offset_increment="32m"))
        fio(disk.device, **verified(sync="dsync", size="4m", numjobs=2, offset_increment="32m"))
        fio(disk.device, **verified(fdatasync=3, sync="sync", size="2m", bs="16k"))
        return disk.check_counters()


def a_thousand_switches_under_load_lose_nothing(switches=1000):
    choice = random.Random(1)
    with NullBlk(irqmode=2, completion_nsec=20000, submit_queues=CPUS) as disk:
        load("mq-deadline"), load("kyber-iosched"), load("bfq")
        jobs = {"numjobs": 2, "size": "8m", "offset_increment": "32m", "loops": 10000}
        job = start(disk.device, **verified(**jobs, bssplit="4k/70:32k/30"))
        others = ["none", "mq-deadline", "kyber", "bfq"]
        for number in range(switches // 2):
            assert job.poll() is None, job.communicate()[0][-1000:]
            disk.select("sbq")
            if number % 8 == 0:
                time.sleep(0.02)
            if number % 50 == 0:
                disk.set("batch_timeout_us", choice.choice([1, 50, 5000, 100000]))
            disk.select(choice.choice(others))
        disk.select("sbq")
        job.terminate()
        said = job.communicate(timeout=60)[0]
        assert "verify" not in said.split("{", 1)[0], said[:1500]
        fio(disk.device, **verified(size="8m"))
        return disk.check_counters()


def knobs_and_depth_change_under_load():
    choice = random.Random(2)
    with NullBlk(irqmode=1) as disk:
        disk.select("sbq")
        job = start(disk.device, **verified(size="32m", loops=2, bssplit="4k/70:32k/30"))
        while job.poll() is None:
            disk.set("batch_nr", choice.choice([1, 2, 16, 1024]))
            disk.set("batch_bytes", choice.choice([1, 4096, 65536, 1 << 24]))
            disk.set("batch_timeout_us", choice.choice([1, 50, 2000]))
            write(disk.folder / "nr_requests", choice.choice([4, 16, 64, 256]))
            disk.counters()
            time.sleep(0.01)
        finish(job)
        return disk.check_counters()


def a_device_goes_away_under_load(times=10):
    for number in range(times):
        with NullBlk(irqmode=2, completion_nsec=50000, submit_queues=CPUS) as disk:
            disk.select("sbq")
            disk.set("batch_timeout_us", [50, 100000][number % 2])
            depth = [64, 3][number % 2]  # three requests never fill a batch
            job = start(
                disk.device, rw="randrw", iodepth=depth, numjobs=2, time_based=1, runtime=60
            )
            time.sleep(1.5)
            disk.power_off()
            job.communicate(timeout=60)
            assert job.returncode != 0


@contextlib.contextmanager
def nvme_tcp(driver):
    with NullBlk(size=64, irqmode=2, completion_nsec=50000) as backing:
        with NvmeTcp(backing.device, driver) as disk:
            disk.select("sbq")
            yield disk


def an_nvme_controller_is_deleted_under_load(times=5):
    for driver in NvmeTcp.drivers:
        with nvme_tcp(driver) as disk:
            for number in range(times):
                disk.select("sbq")
                disk.set("batch_timeout_us", [50, 100000][number % 2])
                depth = [64, 3][number % 2]
                load_ = {"rw": "randrw", "numjobs": 2, "time_based": 1, "runtime": 60}
                job = start(disk.device, **load_, iodepth=depth)
                time.sleep(1.5)
                disk.delete()
                job.communicate(timeout=60)
                assert job.returncode != 0
                disk.connect()


def an_nvme_controller_is_reset_under_load(times=5):
    found = {}
    for driver in NvmeTcp.drivers:
        with nvme_tcp(driver) as disk:
            jobs = {"numjobs": 2, "size": "4m", "offset_increment": "32m", "loops": 999}
            job = start(disk.device, **verified(**jobs))
            for _ in range(times):
                time.sleep(1)
                assert job.poll() is None, job.communicate()[0][-1000:]
                disk.reset()
            time.sleep(1)
            job.terminate()
            said = job.communicate(timeout=60)[0]
            assert "verify" not in said.split("{", 1)[0], said[:1500]
            fio(disk.device, **verified(size="4m"))
            found[driver] = disk.check_counters()
    return found


def data_survive_nvme_over_tcp():
    """Each driver, small and full batches, writes inside the command and after it."""
    found = {}
    for driver in NvmeTcp.drivers:
        with nvme_tcp(driver) as disk:
            for scheduler in "sbq", "none", "mq-deadline", "kyber":
                disk.select(scheduler)
                jobs = {"numjobs": 2, "size": "4m", "offset_increment": "32m", "iodepth": 48}
                fio(disk.device, **verified(**jobs, bssplit="4k/60:8k/20:64k/20"))
                fio(disk.device, **verified(**jobs, iodepth_batch_submit=16, bs="4k"))
                if scheduler == "sbq":
                    found[driver] = disk.check_counters()
    return found


def a_request_that_is_inserted_again_is_not_held_again():
    short_transfer = 0x100  # scsi_debug reads half; the rest is inserted at the head
    load("sd_mod")
    load("scsi_debug", "dev_size_mb=64", "delay=0", "every_nth=20", f"opts={short_transfer}")
    disk = Queue("sda")
    until = time.monotonic() + 20
    while not disk.folder.exists() or not os.path.exists(disk.device):
        assert time.monotonic() < until, "scsi_debug shows no disk"
        time.sleep(0.05)
    disk.select("sbq")
    fio(disk.device, **verified(size="16m", bs="16k", iodepth=24))
    found = disk.check_counters()
    disk.select("none")
    subprocess.run(["rmmod", "scsi_debug"], check=True)
    assert found["bypassed"] > 10, found
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
        began = time.monotonic()
        for _ in range(50):
            flush = NvmePassthrough(opcode=0, nsid=1)
            assert fcntl.ioctl(device, io_command, flush) == 0
        passed = time.monotonic() - began
        assert disk.counters() == before, "a passthrough command was held"
        assert passed < 50 * 0.1, passed
        os.close(device)


def the_module_unloads_only_when_unused(times=30):
    with NullBlk(irqmode=1) as disk:
        job = start(disk.device, **verified(size="8m", loops=10000))
        for _ in range(times):
            disk.select("sbq")
            refused = subprocess.run(["rmmod", "sbq_iosched"], capture_output=True)
            assert refused.returncode != 0
            disk.select("none")
            subprocess.run(["rmmod", "sbq_iosched"], check=True)
            assert "sbq" not in (disk.folder / "scheduler").read_text()
            subprocess.run(["insmod", MODULE], check=True)
        job.terminate()
        job.communicate(timeout=60)


def a_processor_goes_and_comes_under_load(times=15):
    if CPUS < 2:
        return "one processor only"
    for per_cpu in 0, 1:
        write("/sys/module/sbq_iosched/parameters/hold_per_cpu", per_cpu)
        with NullBlk(irqmode=2, completion_nsec=30000, submit_queues=2) as disk:
            disk.select("sbq")
            job = start(
                disk.device, **verified(size="8m", numjobs=2, offset_increment="32m", loops=999)
            )
            for _ in range(times):
                for online in 0, 1:
                    write("/sys/devices/system/cpu/cpu1/online", online)
                    time.sleep(0.1)
            assert job.poll() is None, job.communicate()[0][-1000:]
            job.terminate()
            job.communicate(timeout=60)
            fio(disk.device, **verified(size="4m", numjobs=2, offset_increment="32m"))
            disk.check_counters()
    write("/sys/module/sbq_iosched/parameters/hold_per_cpu", 0)


def holds_per_cpu_lose_nothing():
    write("/sys/module/sbq_iosched/parameters/hold_per_cpu", 1)
    data_survive_every_kind_of_completion_size_and_queue()
    a_thousand_switches_under_load_lose_nothing(switches=100)
    a_device_goes_away_under_load(times=2)
    write("/sys/module/sbq_iosched/parameters/hold_per_cpu", 0)


TESTS = [
    knobs_have_defaults_and_refuse_what_is_out_of_range,
    each_cause_of_release_is_counted,
    a_bio_is_merged_into_a_held_request,
    data_survive_every_kind_of_completion_size_and_queue,
    flush_and_fua_storms_end,
    knobs_and_depth_change_under_load,
    a_device_goes_away_under_load,
    an_nvme_controller_is_deleted_under_load,
    an_nvme_controller_is_reset_under_load,
    a_request_that_is_inserted_again_is_not_held_again,
    data_survive_nvme_over_tcp,
    passthrough_commands_go_past_the_hold,
    the_module_unloads_only_when_unused,
    a_processor_goes_and_comes_under_load,
    holds_per_cpu_lose_nothing,
    a_thousand_switches_under_load_lose_nothing,
]


def main():
    write("/proc/sys/kernel/hung_task_timeout_secs", 20)
    load("null_blk", "nr_devices=0")
    subprocess.run(["insmod", MODULE], check=True)
    trouble()
    failed = 0
    for test in TESTS:
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        began = time.monotonic()
        try:
            said = test()
            outcome = "ok"
        except Exception:
            said, outcome = traceback.format_exc(), "FAILED"
        complaints = trouble()
        # A device that is taken away under load fails what was in flight: that is no trouble.
        if "goes_away" in test.__name__ or "deleted" in test.__name__ or "holds" in test.__name__:
            complaints = [line for line in complaints if "I/O error" not in line]
        if complaints:
            outcome, said = "FAILED", (said, complaints[:20])
        failed += outcome != "ok"
        print(f"{outcome} {test.__name__} ({time.monotonic() - began:.1f} s)", said or "")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
