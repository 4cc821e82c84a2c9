"""The questions, and the trials that answer them: a few for each scheduler, all of seconds."""

from __future__ import annotations

from typing import Any

from ...plugins.schedulers import OF_THE_KERNEL
from ...trial import NullBlk, Trial, checked, profile
from ...trial.drives import drive

STUDY = "compare"

#: The kernel's schedulers, beside which one is measured.
BESIDE = OF_THE_KERNEL

#: Each with another seed: requests go to other places, and meet the load in another phase.
REPETITIONS = 3

#: How many requests are under way at once.
COST_DEPTHS, SPEED_DEPTHS = (1, 32), (1, 8, 64)

#: Requests that a scheduler may hold. The kernel gives it twice as many as the disk serves at once:
#: for these small disks too few to choose among; for an SSD of today about so many.
HELD = 256

#: Requests under way of each group of the question of fairness.
GROUP_DEPTHS = {"one": 1, "eight": 8, "many": 32}

#: A disk with an arm, held against a real one. It serves one request at a time: a drive with a
#: queue of its own would choose by itself.
DRIVE = "barracuda"

#: Four requests at once, 10,000 a second: the disk, not the processor, is what they wait for.
FOUR_SERVERS = NullBlk(profile="four_servers", size_mib=64, service_time_us=400, parallelism=4)

#: How long the programs of a trial run; a disk with an arm takes longer for each request.
WINDOW_S, ARM_WINDOW_S = 0.5, 4


def trials(schedulers: tuple[str, ...], repetitions: int = REPETITIONS) -> list[Trial]:
    """Return all trials of the comparison.

    Parameters
    ----------
    schedulers : tuple of str
    repetitions : int
    """
    return [
        _trial(question, scheduler, repetition, **fields)
        for repetition in range(1, repetitions + 1)
        for scheduler in schedulers
        for question, fields in QUESTIONS.items()
    ]


def _scheduler(name: str) -> dict[str, Any]:
    return {"name": name, "tunables": {} if name == "none" else {"nr_requests": HELD}}


def _trial(question: str, scheduler: str, repetition: int, **fields: Any) -> Trial:
    usual = {
        "study": STUDY,
        "preset": "quick",
        "labels": {"question": question},
        "memory_mib": 512,
        "scheduler": _scheduler(scheduler),
        "filesystem": None,
        "groups": ({"name": "main"},),
        "settle_s": 0.01,
        "deadline_s": 120,
        "seed": repetition,
        "repetition": repetition,
    }
    return checked(Trial, {**usual, **fields}, "trial")


def _fio(name: str, group: str = "main", **options: Any) -> dict[str, Any]:
    """Return fio for as long as the others: 4 KiB, around the page cache, at random places."""
    usual = {
        "rw": "randread",
        "bs": "4k",
        "ioengine": "libaio",
        "direct": 1,
        "time_based": 1,
        "runtime": f"{WINDOW_S * 1000:g}ms",
        "percentile_list": "50:99:100",
    }
    return {"kind": "fio", "name": name, "group": group, "options": {**usual, **options}}


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
        "workloads": (_fio("reader"), _fio("bulk", rw="read", bs="128k", iodepth=32)),
    },
    "writer": {
        "device": FOUR_SERVERS,
        "workloads": (_fio("reader"), _fio("writer", rw="randwrite", bs="64k", iodepth=32)),
    },
    "fairness": {
        "device": FOUR_SERVERS,
        "groups": tuple({"name": group} for group in GROUP_DEPTHS),
        "workloads": tuple(
            _fio(group, group, iodepth=depth) for group, depth in GROUP_DEPTHS.items()
        ),
    },
    # A crowd at one end of the disk, and somebody alone at the other.
    "order": {
        "device": drive(DRIVE),
        "trace": True,
        "workloads": (
            _fio("crowd", iodepth=32, size="40%", runtime=f"{ARM_WINDOW_S}s"),
            _fio("alone", offset="95%", size="5%", runtime=f"{ARM_WINDOW_S}s"),
        ),
    },
}
