"""The questions, and the trials that answer them: a few for each scheduler, each of seconds."""

from __future__ import annotations

from typing import Any

from ...plugins.schedulers import OF_THE_KERNEL, room_for
from ...trial import NullBlk, Trial, checked, profile
from ...trial.drives import drive
from ..check.in_guest.cases.orders import SERVICE_NS, WAITS_AT_MOST_S

STUDY = "compare"

#: The kernel's schedulers, with which a scheduler is compared.
BESIDE = OF_THE_KERNEL

#: Repetitions, each with another seed: requests go to other places, and meet the load in another
#: phase.
REPETITIONS = 3

#: Queue depths of the questions of cost and of speed.
COST_DEPTHS, SPEED_DEPTHS = (1, 32), (1, 8, 64)

#: Requests that a scheduler may hold. By default the kernel allows twice as many as the disk serves
#: at once. For these small disks that is too few to choose among; for today's SSDs it is about 256.
HELD = 256

#: Queue depth of each group in the question of fairness.
GROUP_DEPTHS = {"one": 1, "eight": 8, "many": 32}

#: A hard disk whose model was compared with the real drive. It serves one request at a time,
#: because a drive with a queue of its own would choose the order itself.
DRIVE = "barracuda"

#: A disk that serves four requests at once, 10,000 per second. So requests wait for the disk, not
#: for the processor.
FOUR_SERVERS = NullBlk(profile="four_servers", size_mib=64, service_time_us=400, parallelism=4)

#: A disk that serves one request after the other, as in the check's case `starves_nobody`.
ONE_SERVER = NullBlk(
    profile="one_server", size_mib=64, service_time_us=SERVICE_NS // 1000, parallelism=1
)

#: Programs in the question of starvation, as many as in the check.
PROGRAMS = 16

#: How long the programs of a trial run. The long window is for rare latencies, which need many
#: requests, and for the hard disk, which takes long for each request. In the window for starvation,
#: a request that starves can wait longer than the bound.
WINDOW_S, LONG_WINDOW_S = 0.5, 4
STARVATION_WINDOW_S = 1.5 * WAITS_AT_MOST_S

#: Percentiles of a latency that are measured; the last one is the longest latency.
PERCENTILES = (50, 95, 99, 99.9, 100)


def trials(schedulers: tuple[str, ...], repetitions: int = REPETITIONS) -> list[Trial]:
    """Return all trials of the comparison."""
    return [
        _trial(question, scheduler, repetition, **fields)
        for repetition in range(1, repetitions + 1)
        for scheduler in schedulers
        for question, fields in QUESTIONS.items()
    ]


def _trial(question: str, scheduler: str, repetition: int, **fields: Any) -> Trial:
    usual = {
        "study": STUDY,
        "preset": "quick",
        "labels": {"question": question},
        "memory_mib": 512,
        "scheduler": {"name": scheduler, "tunables": room_for(scheduler, HELD)},
        "filesystem": None,
        "groups": ({"name": "main"},),
        "settle_s": 0.01,
        "deadline_s": 120,
        "seed": repetition,
        "repetition": repetition,
    }
    return checked(Trial, {**usual, **fields}, "trial")


def _fio(name: str, group: str = "main", **options: Any) -> dict[str, Any]:
    """Return a fio workload of `WINDOW_S`: random reads of 4 KiB that bypass the page cache."""
    usual = {
        "rw": "randread",
        "bs": "4k",
        "ioengine": "libaio",
        "direct": 1,
        "time_based": 1,
        "runtime": f"{WINDOW_S * 1000:g}ms",
        "percentile_list": ":".join(f"{one:g}" for one in PERCENTILES),
    }
    return {"kind": "fio", "name": name, "group": group, "options": {**usual, **options}}


def _reader(**options: Any) -> dict[str, Any]:
    """Return a fio workload that makes one read after the other, for `LONG_WINDOW_S`.

    Its calls are synchronous: with libaio, fio would leave out the time that a program waits until
    the kernel takes its request.
    """
    usual = {"ioengine": "psync", "runtime": f"{LONG_WINDOW_S * 1000:g}ms"}
    return _fio(options.pop("name", "reader"), **{**usual, **options})


def _beside(name: str, **options: Any) -> dict[str, Any]:
    """Return a fio workload that runs as long as a reader, with 32 requests in flight."""
    return _fio(name, runtime=f"{LONG_WINDOW_S * 1000:g}ms", iodepth=32, **options)


def _points(depths: tuple[int, ...]) -> dict[str, Any]:
    options = {"rw": "randread", "bs": "4k", "ioengine": "libaio", "direct": 1, "thread": 1}
    return {
        "kind": "fio_points",
        "name": "reader",
        "group": "main",
        "options": options,
        "points": tuple({"iodepth": depth} for depth in depths),
        "ramp_ms": 20,
        "counted_ms": 40,
        "window_ms": 100,
    }


QUESTIONS: dict[str, dict[str, Any]] = {
    "cost": {"device": profile("ram_disk", 64), "workloads": (_points(COST_DEPTHS),)},
    "speed": {"device": FOUR_SERVERS, "workloads": (_points(SPEED_DEPTHS),)},
    "bulk": {
        "device": FOUR_SERVERS,
        "workloads": (_reader(), _beside("bulk", rw="read", bs="128k")),
    },
    "writer": {
        "device": FOUR_SERVERS,
        "workloads": (_reader(), _beside("writer", rw="randwrite", bs="64k")),
    },
    "fairness": {
        "device": FOUR_SERVERS,
        "groups": tuple({"name": group} for group in GROUP_DEPTHS),
        "workloads": tuple(
            _fio(group, group, iodepth=depth) for group, depth in GROUP_DEPTHS.items()
        ),
    },
    # Programs with parts of the disk of their own, each with one request at a time.
    "starvation": {
        "device": ONE_SERVER,
        "workloads": (
            _fio(
                "programs",
                rw="randrw",
                ioengine="psync",
                thread=1,
                numjobs=PROGRAMS,
                group_reporting=1,
                size="256k",
                offset_increment=f"{ONE_SERVER.size_mib // PROGRAMS}m",
                runtime=f"{STARVATION_WINDOW_S * 1000:g}ms",
            ),
        ),
    },
    # A crowd at one end of the disk, and somebody alone at the other.
    "order": {
        "device": drive(DRIVE),
        "trace": True,
        "workloads": (
            _beside("crowd", size="40%"),
            _reader(name="alone", offset="95%", size="5%"),
        ),
    },
}
