"""Trials on machines with some number of processors, as the benchmarks make them."""

import json

from elevatorlab import testbeds
from elevatorlab.trial import Trial, checked

from . import KnownTruths, ManyQueues


def trial(workload, device, scheduler="none", deadline_s=60, **more):
    """Return a trial of one workload on a bare device."""
    content = {
        **{"study": "benchmark", "preset": "smoke", "memory_mib": 512, "filesystem": None},
        **{"device": device, "scheduler": {"name": scheduler}, "groups": ({"name": "main"},)},
        **{"workloads": ({"name": "one", "group": "main", **workload},), "settle_s": 0},
        **{"sample_interval_ms": 1000, "deadline_s": deadline_s, "seed": 1, **more},
    }
    return checked(Trial, content, "trial")


def truths(*experiments):
    """Return a trial of experiments of the module `truths`."""
    spelled = tuple(" ".join(map(str, one)) for one in experiments)
    return trial({"kind": "truths", "experiments": spelled}, KnownTruths(size_mib=1024))


def many_jobs(scheduler, jobs, runtime_ms=30):
    """Return a trial of random reads at a queue depth of 16 a job, a job a processor.

    Each job submits many requests at a time and takes many back. One at a time costs a switch to
    another thread for each, where a scheduler is; that would hide its locks.
    """
    options = {
        **{"rw": "randread", "bs": "4k", "ioengine": "libaio", "iodepth": 16, "direct": 1},
        **{"iodepth_batch_submit": 16, "iodepth_batch_complete_min": 8},
        **{"numjobs": jobs, "group_reporting": 1, "time_based": 1, "runtime": f"{runtime_ms}ms"},
        **{"ramp_time": "10ms", "norandommap": 1, "randrepeat": 1, "thread": 1},
        **{"cpus_allowed": f"0-{jobs - 1}", "cpus_allowed_policy": "split"},
    }
    return trial({"kind": "fio", "options": options}, ManyQueues(size_mib=1024), scheduler)


def address(cpus, slot=1000, transfer=0):
    """Return the testbed's address."""
    return f"deterministic?cpus={cpus}&slot={slot}&transfer={transfer}"


def measured(where, *trials):
    """Run trials of one workload on a testbed; yield what the workload of each measured."""
    testbed = testbeds.get(where, say=lambda text: None)
    testbed.prepare(list(trials))
    for one in trials:
        result = json.loads(testbed.run(one).files["result.json"])
        (found,) = result["workloads"].values()
        yield found
