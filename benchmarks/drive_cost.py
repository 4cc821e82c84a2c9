"""What a disk with an arm costs: guest instructions a request, and wall time a guest minute.

    .venv/bin/python benchmarks/drive_cost.py [--requests 5000]

Random reads, then random writes, of 4 KiB go one after the other to a drive whose arm and platter
take next to no time, and to the kernel's null_blk, likewise, with memory behind it. Then 32 random
reads wait at a time, and the drive's own queue compares all of them whenever one ends. An
instruction takes a nanosecond of the guest's time. The mean latency over the number of waiting
requests is the time per request, so the difference of these times is the driver's instructions. It
depends on fio's engine: psync waits for each request and sleeps, so it stands at depth 1, and
libaio where several wait. Wall time is measured on a drive that does take its time.
"""

import argparse
import json
import time

from elevatorlab.testbeds.deterministic import DeterministicTestbed
from elevatorlab.trial import NullBlk, Trial, checked
from elevatorlab.trial.drive_records import Overheads, Queue
from elevatorlab.trial.drives import drive

SIZE_MIB = 256
NULL_BLK = NullBlk(profile="x", size_mib=SIZE_MIB, service_time_us=0.01, parallelism=1)


def quick(depth):
    """Return a drive whose arm is at a sector within some ten nanoseconds; `depth` may wait."""
    like = drive("barracuda")
    curve = tuple(point._replace(time_ms=1e-6) for point in like.drive.seek_curve_ms_by_cylinders)
    changes = {
        **{"rotation_rpm": 6e9, "head_switch_ms": 0, "write_settle_ms": 0},
        **{"seek_curve_ms_by_cylinders": curve, "bus_ms_per_sector": 0},
        "overheads_ms": Overheads(),
        "queue": Queue(depth=depth, order="shortest_positioning_time" if depth > 1 else "in_order"),
        "buffer": like.drive.buffer.model_copy(update={"caching": False, "fast_write": 0}),
    }
    return like.model_copy(update={"drive": like.drive.model_copy(update=changes)})


def measured(device, rw, requests, depth=1):
    """Return the time per request in ns, and wall time over guest time."""
    engine = "libaio" if depth > 1 else "psync"
    options = {"rw": rw, "ioengine": engine, "number_ios": requests, "size": f"{SIZE_MIB}m"}
    options |= {"bs": "4k", "direct": 1, "iodepth": depth}
    trial = checked(
        Trial,
        {
            **{"study": "benchmark", "preset": "smoke", "memory_mib": 768, "filesystem": None},
            **{"device": device, "scheduler": {"name": "none"}, "groups": ({"name": "main"},)},
            "workloads": ({"kind": "fio", "name": "fio", "group": "main", "options": options},),
            **{"settle_s": 0, "sample_interval_ms": 1000, "deadline_s": 3600, "seed": 1},
        },
        "trial",
    )
    testbed = DeterministicTestbed(say=lambda _: None)
    testbed.prepare([trial])
    start_s = time.monotonic()
    result = json.loads(testbed.run(trial).files["result.json"])
    wall_s = time.monotonic() - start_s
    served = result["workloads"]["fio"][rw.removeprefix("rand")]
    return served["latency_mean_ns"] / depth, wall_s * served["iops"] / served["requests"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=5000)
    requests = parser.parse_args().requests
    for rw, depth in (("randread", 1), ("randwrite", 1), ("randread", 32)):
        ours_ns, theirs_ns = (
            measured(device, rw, requests, depth)[0] for device in (quick(depth), NULL_BLK)
        )
        found = f"{ours_ns - theirs_ns:8.0f} instructions a request more than null_blk"
        print(f"{rw:10} depth {depth:2} {found}", flush=True)
    # Long enough that the machine's start does not count.
    minute_s = 60 * measured(drive("barracuda"), "randread", 10 * requests)[1]
    print(f"{'randread':10} depth  1 {minute_s:8.1f} s of wall time a guest minute", flush=True)


if __name__ == "__main__":
    main()
