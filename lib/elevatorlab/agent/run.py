"""One trial from beginning to end."""

import contextlib
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import threading
import time

from . import cgroups, devices, filesystems, groups, journal, parts, schedulers
from .errors import TrialFailed
from .proofs import Proofs
from .regulation import Regulation
from .sampler import Sampler
from .trace import Trace
from .worker import Worker
from .workloads import KINDS

EXIT_FAILED = 3


def main(argv):
    """Run the trial named on the command line; return the exit status.

    The arguments are the trial's file, the result's folder, and, where the testbed has anything
    to say of the place, the file that says it (see `devices.create`).
    """
    trial_file, folder, *site_file = map(pathlib.Path, argv)
    if folder.exists() and any(folder.iterdir()):
        print(f"{folder} holds files already; name a folder that is new or empty", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    site = json.loads(site_file[0].read_text()) if site_file else {}
    try:
        with journal.sole_trial():
            journal.recover()
            run(json.loads(trial_file.read_text()), site, folder)
    except TrialFailed as failure:
        (folder / "failure.txt").write_text(f"{failure}\n")
        print(f"trial failed: {failure}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def run(trial, site, folder):
    """Run `trial`; write ``result.json``, ``samples.csv``, ``raw/`` and any trace to `folder`."""
    proofs = Proofs()
    raw = folder / "raw"
    raw.mkdir()
    with journal.Journal() as changes, deadline(trial["deadline_s"]):
        tree = cgroups.find()
        device, members = set_up(trial, site, tree, changes, proofs)
        with contextlib.ExitStack() as workers:
            workloads = []
            for specification in trial["workloads"]:
                group = members[specification["group"]]
                worker = Worker(group, agent_file())
                workers.callback(worker.stop)
                kind = KINDS[specification["kind"]]
                workloads.append(kind(specification, group, worker, trial["seed"], raw))
                workloads[-1].journal, workloads[-1].proofs = changes, proofs
            # Before the workers are asked to stop: after a failure they may still be busy.
            workers.push(lambda failure, *_: end_groups(members) if failure else None)
            account = functools.partial(devices.account, trial["device"])
            interval_s = trial["sample_interval_ms"] / 1000
            sampler = Sampler(device, members.values(), tree, interval_s, account)
            regulation = Regulation(trial["regulator"], device, members.values(), raw)
            trace = Trace(trial["trace"], device, changes, proofs)
            with devices.expected_to_stay(device):
                measure(trial, sampler, regulation, trace, workloads)
    sampler.write(folder / "samples.csv")
    trace.write(folder / "trace.csv", sampler.start_s)
    divided = members if trial["divided"] else {}
    result = {
        "outcome": "finished",
        "proofs": proofs.records,
        "cpu_busy_ratio": sampler.cpu_busy_ratio(),
        "device": sampler.overall(),
        "server": sampler.server(),
        "parts": {name: sampler.overall(member.device) for name, member in divided.items()},
        "regulator": regulation.figures(),
        "workloads": {workload.name: workload.figures() for workload in workloads},
    }
    (folder / "result.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


def set_up(trial, site, tree, changes, proofs):
    """Make the device, its file system and the groups, and set and prove every knob.

    Returns
    -------
    device : str
        Kernel name.
    members : dict
        Groups by name.
    """
    note("start")
    device = devices.create(trial["device"], site, agent_file(), changes, proofs)
    if trial["backing_scheduler"] and not site.get("disk"):
        for disk in devices.disks_below(site["scratch"]):
            schedulers.select(disk, {"name": trial["backing_scheduler"]}, changes, proofs)
    for disk in devices.disks_of(device):  # of a RAID, its members: it has no scheduler itself
        schedulers.select(disk, trial["scheduler"], changes, proofs)
    if trial["filesystem"]:
        filesystems.make(trial["filesystem"], device)
    for workload in trial["workloads"]:
        if workload.get("dirty_mib"):
            filesystems.limit_dirty(workload["dirty_mib"], changes, proofs)
    note(f"device {device} is ready, with {trial['scheduler']['name']}")
    names = [group["name"] for group in trial["groups"]]
    if trial["divided"]:
        of_group = parts.divide(device, names, changes, proofs)
    else:
        of_group = dict.fromkeys(names, device)
    if "rendezvous" in site:
        members = foreign_groups(site["rendezvous"], tree, device, of_group, changes)
    else:
        members = own_groups(trial, tree, device, of_group, changes)
    if trial["io_cost"]:
        tree.account_cost(device, trial["io_cost"], changes, proofs)
    number = pathlib.Path("/sys/class/block", device, "dev").read_text().strip()
    for group in trial["groups"]:
        members[group["name"]].limit(group["limits"], tree, number, proofs)
    note("groups are ready")
    return device, members


def own_groups(trial, tree, device, of_group, changes):
    """Mount the file system and make the trial's groups on it."""
    kind = trial["filesystem"]
    disk = filesystems.mount(kind, device, changes) if kind else None
    tree.prepare(changes)
    return {
        group["name"]: groups.create(
            group, tree, disk, of_group[group["name"]], changes, agent_file()
        )
        for group in trial["groups"]
    }


def foreign_groups(rendezvous, tree, device, of_group, changes):
    """Ask the testbed for a container for each group, and wait until they are there.

    Its answer is a file in the folder `rendezvous`, which both sides see.
    """
    changes.will("remove_tree", rendezvous)
    shutil.rmtree(rendezvous, ignore_errors=True)  # an earlier run's answer is not ours
    pathlib.Path(rendezvous).mkdir(parents=True)
    # The testbed reads this line of the log (testbeds/docker/testbed.py).
    note(f"containers are wanted on {json.dumps({'disk': device, 'groups': of_group})}")
    answer = pathlib.Path(rendezvous, "containers.json")
    while not answer.exists():
        time.sleep(0.05)
    containers = json.loads(answer.read_text())
    return {
        name: groups.ForeignGroup(name, tree, container, of_group[name], changes)
        for name, container in containers.items()
    }


def measure(trial, sampler, regulation, trace, workloads):
    """Prepare the workloads, and run them while the sampler watches."""
    for workload in workloads:
        workload.prepare()
    filesystems.sync()
    note("files are ready")
    sampler.start()
    try:
        for workload in workloads:
            if workload.background:
                workload.start()
        # Another seed meets the background in another phase.
        time.sleep(trial["settle_s"] * (1 + random.Random(trial["seed"]).random()))
        jobs = [workload.run for workload in workloads if not workload.background]
        with regulation, trace:
            run_together([*jobs, functools.partial(sampler.begin, trial["warm_up_s"])])
    finally:
        sampler.stop()
    note("measured")


def note(text):
    """Add a line to the log, with the machine's own time in seconds."""
    print(f"[{time.monotonic():12.6f}] {text}", file=sys.stderr)


def end_groups(members):
    """End every process of the groups, whatever it is doing."""
    for member in members.values():
        cgroups.kill(member.path)


def run_together(jobs):
    """Run `jobs` at the same time, the first one here, where the deadline interrupts it."""
    failures = []

    def guarded(job):
        try:
            job()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(job,), daemon=True) for job in jobs[1:]]
    for thread in threads:
        thread.start()
    jobs[0]()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@contextlib.contextmanager
def deadline(limit_s):
    """Fail the trial when it has not ended after `limit_s` seconds."""

    def passed(*_):
        raise TrialFailed(
            f"the trial did not end within its {limit_s} s; expected less. "
            "Raise deadline_s, or make the workload smaller"
        )

    signal.signal(signal.SIGALRM, passed)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def agent_file():
    """Return the path of the archive, or folder, that this program was started from."""
    return os.path.abspath(sys.argv[0])
