"""One trial from beginning to end."""

from __future__ import annotations

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
from typing import TYPE_CHECKING

from ..devices import block_device, filesystems, partitions, schedulers
from ..errors import AgentError
from ..groups import cgroups, isolation
from ..groups.connection import Worker
from ..groups.virtual_machine import VirtualMachineGroup
from ..observe.sampler import Sampler
from ..observe.trace import Trace
from ..workloads import KINDS
from ..workloads.base import do
from . import journal, plugin_archive, recovery
from .context import Context
from .proofs import Proofs
from .regulation import Regulation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ..groups.cgroups import Tree
    from ..groups.isolation import Group
    from ..workloads.base import Workload

EXIT_FAILED = 3

#: Of ``result.json`` and ``samples.csv``; `elevatorlab.results.models` says what is in them.
SCHEMA_VERSION = 2

#: In a run's folder: the containers that the agent wants for its trial, as JSON.
REQUEST = "containers.json"


def main(argv: list[str]) -> int:
    """Run the trial named on the command line; return the exit status.

    The arguments are the trial's file, the result's folder, and, where the testbed has anything
    to say of the place, the file that says it (`Context.site`).
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
            recovery.recover()
            trial = json.loads(trial_file.read_text())
            archive = trial_file.with_name(plugin_archive.ARCHIVE) if trial.get("plugins") else None
            if archive:
                plugin_archive.load(archive)
            if trial.get("modules"):
                plugin_archive.load_modules(trial_file.with_name(plugin_archive.MODULES))
            run(trial, site, folder, archive)
    except AgentError as failure:
        (folder / "failure.txt").write_text(f"{failure}\n")
        print(f"trial failed: {failure}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def run(
    trial: Mapping[str, Any],
    site: Mapping[str, Any],
    folder: pathlib.Path,
    archive: pathlib.Path | None = None,
) -> None:
    """Run `trial`; write ``result.json``, ``samples.csv``, ``raw/`` and any trace to `folder`."""
    proofs = Proofs()
    raw = folder / "raw"
    raw.mkdir()
    with journal.Journal() as changes, deadline(trial["deadline_s"]):
        tree = cgroups.find()
        context = Context(changes, proofs, site, agent_file())
        device, members = set_up(trial, tree, context)
        with contextlib.ExitStack() as workers:
            workloads = []
            for specification in trial["workloads"]:
                group = members[specification["group"]]
                worker = Worker(group.name, group.connect())
                workers.callback(worker.stop)
                kind = KINDS[specification["kind"]]
                workloads.append(kind(specification, group, worker, trial["seed"], raw))
                workloads[-1].context = context
            # Before the workers are asked to stop: after a failure they may still be busy.
            workers.push(lambda failure, *_: end_groups(members) if failure else None)
            account = functools.partial(block_device.account, trial["device"])
            interval_s = trial["sample_interval_ms"] / 1000
            sampler = Sampler(device, members.values(), tree, interval_s, account)
            regulation = Regulation(trial["regulator"], device, members.values(), raw, archive)
            trace = Trace(trial["trace"], device, context)
            with block_device.expected_to_stay(device):
                measure(trial, sampler, regulation, trace, workloads, raw)
    sampler.write(folder / "samples.csv")
    trace.write(folder, sampler.start_s)
    divided = members if trial["divided"] else {}
    result = {
        "schema_version": SCHEMA_VERSION,
        "outcome": "finished",
        "proofs": proofs.records,
        "cpu_busy_ratio": sampler.cpu_busy_ratio(),
        "device": sampler.overall(),
        "server": sampler.server(),
        "partitions": {name: sampler.overall(member.device) for name, member in divided.items()},
        "regulator": regulation.events(),
        "workloads": {workload.name: do(workload, "measurements") for workload in workloads},
    }
    (folder / "result.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


def set_up(trial: Mapping[str, Any], tree: Tree, context: Context) -> tuple[str, dict[str, Group]]:
    """Make the device, its file system and the groups, and set and prove every knob.

    Returns the kernel name of the device, and the groups by name.
    """
    note("start")
    site, changes, proofs = context.site, context.journal, context.proofs
    device = block_device.create(trial["device"], context)
    if trial["backing_scheduler"] and not site.get("disk"):
        for disk in block_device.disks_below(site["scratch"]):
            schedulers.select(disk, {"name": trial["backing_scheduler"]}, changes, proofs)
    for disk in block_device.disks_of(device):  # of a RAID, its members: it has no scheduler itself
        schedulers.select(disk, trial["scheduler"], changes, proofs)
    if trial["filesystem"]:
        filesystems.make(trial["filesystem"], device)
    for workload in trial["workloads"]:
        if workload.get("dirty_mib"):
            filesystems.limit_dirty(workload["dirty_mib"], context)
    note(f"device {device} is ready, with {trial['scheduler']['name']}")
    names = [group["name"] for group in trial["groups"]]
    if trial["divided"]:
        of_group = partitions.divide(device, names, context)
    else:
        of_group = dict.fromkeys(names, device)
    if "rendezvous" in site:
        members = foreign_groups(site["rendezvous"], tree, device, of_group, context)
    else:
        members = own_groups(trial, tree, device, of_group, context)
    if trial["io_cost"]:
        tree.account_cost(device, trial["io_cost"], context)
    number = pathlib.Path("/sys/class/block", device, "dev").read_text().strip()
    for group in trial["groups"]:
        members[group["name"]].limit(group["limits"], tree, number, proofs)
    note("groups are ready")
    return device, members


def own_groups(
    trial: Mapping[str, Any],
    tree: Tree,
    device: str,
    of_group: Mapping[str, str],
    context: Context,
) -> dict[str, Group]:
    """Mount the file system and make the trial's groups on it.

    A virtual machine has the disk to itself, and mounts it.
    """
    kind = trial["filesystem"]
    first = trial["groups"][0]
    if first["isolation"] == "virtual_machine":
        tree.prepare(context.journal)
        machine = VirtualMachineGroup(first, tree, kind, device, context)
        return {first["name"]: machine}
    disk = filesystems.mount(kind, device, context.journal) if kind else None
    tree.prepare(context.journal)
    return {
        group["name"]: isolation.create(group, tree, disk, of_group[group["name"]], context)
        for group in trial["groups"]
    }


def foreign_groups(
    rendezvous: str, tree: Tree, device: str, of_group: Mapping[str, str], context: Context
) -> dict[str, Group]:
    """Ask the testbed for a container for each group, and wait until they are there.

    The request is a file in the run's own folder, where the agent works: who follows the run is
    told of it (`supervisor.follow`). The answer is one in the folder `rendezvous`, which both
    sides see.
    """
    context.journal.will("remove_tree", rendezvous)
    shutil.rmtree(rendezvous, ignore_errors=True)  # an earlier run's answer is not ours
    pathlib.Path(rendezvous).mkdir(parents=True)
    part = pathlib.Path(REQUEST).with_suffix(".part")
    part.write_text(json.dumps({"disk": device, "groups": of_group}))
    part.rename(REQUEST)
    note(f"containers are wanted on {device}")
    answer = pathlib.Path(rendezvous, "containers.json")
    while not answer.exists():
        time.sleep(0.05)
    containers = json.loads(answer.read_text())
    return {
        name: isolation.ForeignGroup(name, tree, container, of_group[name], context)
        for name, container in containers.items()
    }


def measure(
    trial: Mapping[str, Any],
    sampler: Sampler,
    regulation: Regulation,
    trace: Trace,
    workloads: Sequence[Workload],
    raw: pathlib.Path,
) -> None:
    """Prepare the workloads, and run them while the sampler watches."""
    for workload in workloads:
        do(workload, "prepare")
    for workload in workloads:
        workload.group.write_out()
    filesystems.sync()
    note("files are ready")
    sampler.start()
    try:
        for workload in workloads:
            if workload.background:
                do(workload, "start")
        # Another seed meets the background in another phase.
        time.sleep(trial["settle_s"] * (1 + random.Random(trial["seed"]).random()))
        foreground = [workload for workload in workloads if not workload.background]
        jobs = [functools.partial(do, workload, "run") for workload in foreground]
        groups = dict.fromkeys(workload.group for workload in workloads)
        with regulation, trace, exits_counted(groups, raw):
            run_together([*jobs, functools.partial(sampler.begin, trial["warm_up_s"])])
    finally:
        sampler.stop()
    note("measured")


@contextlib.contextmanager
def exits_counted(groups: Iterable[Group], raw: pathlib.Path) -> Iterator[None]:
    """Count how often virtual machines are left meanwhile; write it to ``raw/NAME.exits.json``."""
    before = {group: group.exits() for group in groups}
    yield
    for group, then in before.items():
        if now := group.exits():
            counts = {name: now[name] - then[name] for name in now}
            (raw / f"{group.name}.exits.json").write_text(json.dumps(counts, indent=1) + "\n")


def note(text: str) -> None:
    """Add a line to the log, with the machine's own time in seconds."""
    print(f"[{time.monotonic():12.6f}] {text}", file=sys.stderr)


def end_groups(members: Mapping[str, Group]) -> None:
    """End every process of the groups, whatever it is doing."""
    for member in members.values():
        cgroups.kill(member.path)


def run_together(jobs: Sequence[Callable[[], None]]) -> None:
    """Run `jobs` at the same time, the first one here, where the deadline interrupts it."""
    failures = []

    def guarded(job: Callable[[], None]) -> None:
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
def deadline(limit_s: float) -> Iterator[None]:
    """Fail the trial when it has not ended after `limit_s` seconds."""

    def passed(*_: object) -> None:
        raise AgentError(
            f"the trial did not end within its {limit_s} s; expected less. "
            "Raise deadline_s, or make the workload smaller"
        )

    signal.signal(signal.SIGALRM, passed)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def agent_file() -> str:
    """Return the path of the archive, or folder, that this program was started from."""
    return os.path.abspath(sys.argv[0])
