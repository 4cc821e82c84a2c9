"""The order in which a scheduler serves processes, from a traced trial."""

import json

import pytest

from elevatorlab.results import trace
from helpers import fio, null_disk, run_into

SERVICE_MS, TICK_MS = 2, 4

SLOW = null_disk(SERVICE_MS * 1000, "one_server")


def lasting(runtime):
    return {"runtime": runtime, "time_based": 1}


def reader(name, at_mib, **options):
    """Return a process that reads one block after the other from its place on."""
    usual = {"rw": "read", "ioengine": "psync", "offset": f"{at_mib}m", "size": "12m"}
    return fio(name, **{**usual, **options})


def served(folder, **places_mib):
    """Return the requests of a trial in the order of issue, with the process that asked for them.

    `places_mib` tell where the place of each process begins.
    """
    found = trace.requests(trace.read(folder))
    begins = sorted((place << 11, name) for name, place in places_mib.items())
    names = [max(one for one in begins if one[0] <= sector)[1] for sector in found["sector"]]
    return found.assign(process=names)


def turns(requests):
    """Return the requests in groups: who was served without anybody between, and from when."""
    group = (requests["process"] != requests["process"].shift()).cumsum()
    return requests.groupby(group).agg(
        process=("process", "first"),
        requests=("sector", "size"),
        begin_s=("issued_s", "first"),
        end_s=("completed_s", "last"),
    )


def idle_over_waiting_ms(requests):
    """Return for how long the disk had nothing to do while some request waited, before each."""
    somebody_waits_s = requests["inserted_s"][::-1].cummin()[::-1]
    since_s = requests["completed_s"].shift().combine(somebody_waits_s, max)
    return 1000 * (requests["issued_s"] - since_s)[1:]


@pytest.fixture(scope="module")
def ran(testbed, make_trial, tmp_path_factory):
    """Return the result's folder of a traced trial on a scheduler; each runs once."""
    folders = {}

    def run(name, workloads, device=SLOW, **tunables):
        what = json.dumps([name, workloads, device, tunables])
        if what not in folders:
            trial = make_trial(
                device=device,
                scheduler={"name": name, "tunables": {"nr_requests": 128, **tunables}},
                workloads=workloads,
                trace=True,
                # A sample is work for the one processor: while it is taken, a disk may stay idle.
                sample_interval_ms=10_000,
            )
            folders[what] = run_into(tmp_path_factory.mktemp(name) / "result", testbed, trial)
        return folders[what]

    return run
