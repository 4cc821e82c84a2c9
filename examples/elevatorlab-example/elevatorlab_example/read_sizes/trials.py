"""What a user may choose, the trials that follow, and what their results come to."""

from typing import Literal

from elevatorlab.trial import (
    Count,
    Fio,
    Group,
    ProfileName,
    Record,
    Scheduler,
    SchedulerName,
    Trial,
    profile,
)

NAME = "read_sizes"
COLUMNS = (
    "trial study testbed machine accelerator preset arm device backing_scheduler scheduler "
    "size_kib seed repetition kib_s image_digest"
).split()
ORDER = ["scheduler", "size_kib", "repetition"]


class Parameters(Record):
    """What a user may choose."""

    preset: Literal["smoke", "quick", "full"] = "quick"
    schedulers: tuple[SchedulerName, ...] = ("none", "mq-deadline")
    device_profile: ProfileName = "sata_ssd"
    sizes_kib: tuple[Count, ...] = (4, 64)
    repetitions: Count


PRESETS = {
    name: {"repetitions": number} for name, number in (("smoke", 1), ("quick", 3), ("full", 10))
}


def trials(parameters):
    """Return a trial for each scheduler, size and repetition."""
    return [
        _trial(parameters, scheduler, size_kib, repetition)
        for repetition in range(1, parameters.repetitions + 1)
        for scheduler in parameters.schedulers
        for size_kib in parameters.sizes_kib
    ]


def _trial(parameters, scheduler, size_kib, repetition):
    options = {"rw": "randread", "bs": f"{size_kib}k", "direct": 1, "ioengine": "libaio"}
    options |= {"iodepth": 8, "runtime": "100ms", "time_based": 1}
    return Trial(
        study=NAME,
        preset=parameters.preset,
        labels={"arm": "host", "size": str(size_kib)},
        memory_mib=512,
        device=profile(parameters.device_profile, 64),
        scheduler=Scheduler(name=scheduler),
        filesystem=None,
        groups=(Group(name="main"),),
        workloads=(Fio(name="reader", group="main", options=options),),
        deadline_s=60,
        seed=repetition,
        repetition=repetition,
    )


def rows(trial, result):
    """Yield the one row of a trial; the columns that all studies have are added to it."""
    labels, read = trial["labels"], result["workloads"]["reader"]["read"]
    yield {"arm": labels["arm"], "size_kib": int(labels["size"]), "kib_s": read["kib_s"]}
