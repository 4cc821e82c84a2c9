# SPDX-License-Identifier: GPL-2.0-only
"""What SBQ holds, releases and merges; that no scheduler loses a byte: on disks that stay."""

import errno
import os
import subprocess

from rig import NullBlk, Queue, fio, holds_batches, load, verified

CPUS = os.cpu_count()


def knobs_have_defaults_and_refuse_what_is_out_of_range():
    with NullBlk() as disk:
        disk.select()
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
        disk.select()
        fio(disk.device, rw="randread", iodepth=1, number_ios=200, size="4m")
        one_by_one = disk.check_counters()
        assert one_by_one["released_by_timeout"] == 200 == one_by_one["held"], one_by_one

        disk.select("none"), disk.select()
        disk.set("batch_timeout_us", 100000)
        fio(disk.device, rw="randread", iodepth=64, iodepth_batch=32, number_ios=3200, size="32m")
        full = disk.check_counters()
        assert full["released_by_nr"] >= 190, full

        disk.select("none"), disk.select()
        disk.set("batch_timeout_us", 100000)
        fio(disk.device, rw="randwrite", bs="32k", iodepth=8, number_ios=400, size="32m")
        bytes_ = disk.check_counters()
        assert bytes_["released_by_bytes"] >= 190 and bytes_["released_by_nr"] == 0, bytes_
        return one_by_one, full, bytes_


def a_bio_is_merged_into_a_held_request():
    with NullBlk() as disk:
        disk.select()
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
            disk.select()
            mixed = "512/10:4k/50:8k/10:16k/10:64k/10:256k/10"
            jobs = {"numjobs": 2, "size": "8m", "offset_increment": "32m"}
            fio(disk.device, **verified(**jobs, bssplit=mixed, blockalign="512", bs_unaligned=1))
            found.append(disk.check_counters())
    return found


def storm(disk):
    """Make many flushes and writes with FUA; return the counters."""
    disk.select()
    fua = (disk.folder / "fua").read_text().strip()
    cache = (disk.folder / "write_cache").read_text().strip()
    assert (cache, fua) == ("write back", "1"), (cache, fua)
    fio(disk.device, **verified(fsync=1, size="2m", numjobs=2, offset_increment="32m"))
    fio(disk.device, **verified(sync="dsync", size="4m", numjobs=2, offset_increment="32m"))
    fio(disk.device, **verified(fdatasync=3, sync="sync", size="2m", bs="16k"))
    return disk.check_counters()


def flush_and_fua_storms_end():
    with NullBlk(cache_size=8, irqmode=1) as disk:
        return storm(disk)


def a_request_that_is_inserted_again_is_served():
    short_transfer = 0x100  # scsi_debug reads half; the rest is inserted at the head
    load("sd_mod")
    load("scsi_debug", "dev_size_mb=64", "delay=0", "every_nth=20", f"opts={short_transfer}")
    disk = Queue("sda")
    disk.wait_for_disk()
    disk.select()
    fio(disk.device, **verified(size="16m", bs="16k", iodepth=24))
    found = disk.check_counters()
    disk.select("none")
    subprocess.run(["rmmod", "scsi_debug"], check=True)
    if holds_batches():  # which does not hold them again
        assert found["bypassed"] > 10, found
    return found
