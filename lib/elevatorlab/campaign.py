"""Many trials, on one testbed or several; what is finished is never run twice."""

import random
import shutil
from concurrent.futures import as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import store
from .errors import ElevatorLabError, NotReady, TrialFailed
from .pools.here import Here

MIB_PER_RESULT = 1


@dataclass
class Share:
    """What one testbed does of a campaign.

    Attributes
    ----------
    testbed : Testbed
    trials : list of Trial
        Each once, in no particular order.
    """

    testbed: Any
    trials: list

    def todo(self, results):
        """Return the trials that have no result yet."""
        place = store.folder(results, self.testbed)
        return [trial for trial in self.trials if not store.finished(place / trial.hash)]


@dataclass
class Plan:
    """What a campaign would do: for each testbed the trials to run, and how many are finished."""

    todo: list
    finished: int

    def __str__(self):
        return f"{len(self.todo)} trials to run, {self.finished} finished already"


def divide(expanded):
    """Give each testbed the trials that it takes.

    Parameters
    ----------
    expanded : list of (Testbed, list of Trial)

    Returns
    -------
    list of Share

    Raises
    ------
    NotReady
        When a trial is taken by none.
    """
    shares, taken, all_trials = [], set(), {}
    for testbed, trials in expanded:
        unique = {trial.hash: trial for trial in trials}
        all_trials |= unique
        mine = {name: trial for name, trial in unique.items() if testbed.takes(trial)}
        shares.append(Share(testbed, list(mine.values())))
        taken |= mine.keys()
    if left := [trial for name, trial in all_trials.items() if name not in taken]:
        names = ", ".join(testbed.name for testbed, _ in expanded)
        raise NotReady(
            f"{len(left)} of {len(all_trials)} trials belong on another testbed than {names} (the "
            f"first: {_labels(left[0])}). Expected plain processes on `host` or ssh://..., "
            "containers on `docker`, a virtual machine on `vagrant`; several may be named, with "
            "commas between"
        )
    return shares


def plan(shares, results):
    """Divide the trials of `shares` into those that are finished in `results` and those to run."""
    todo = [(share.testbed, trial) for share in shares for trial in share.todo(results)]
    return Plan(todo, sum(len(share.trials) for share in shares) - len(todo))


def run(shares, results, workers=None, progress=None, note=None, cluster=None):
    """Run what is not finished yet.

    Testbeds on different machines work at the same time; those on the same one take turns, in
    blocks of one repetition, each in random order, so that no arm has the quieter hours.

    Trials that are the same anywhere (`Testbed.anywhere`) run on Dask's workers wherever several
    may run at the same time; all others run in this process.

    Parameters
    ----------
    shares : list of Share
    results : path
    workers : int, optional
        Trials at the same time on a testbed that allows several; by default as many as it allows.
    progress : callable, optional
        Called as ``progress(done, total, trial)`` before the first trial and after each.
    note : callable, optional
        Called with a line of text now and then while a long trial runs.
    cluster : str, optional
        Address of the scheduler of a running Dask cluster; by default one is started here, with
        as many workers as trials may run at the same time.

    Raises
    ------
    NotReady
        Before anything starts, when a testbed cannot run its trials, or a worker has another image.
    TrialFailed
        After all others have ended, when some failed; the message has each one's sentence.
    """
    if cluster and workers:
        raise ElevatorLabError(
            "--workers and --cluster: expected one of them; found both. A running cluster has as "
            "many workers as it has"
        )
    folders = [share.testbed.folder_name() for share in shares]
    if len(set(folders)) < len(folders):
        raise ElevatorLabError(
            f"testbed: expected each machine once; found {', '.join(sorted(folders))}. Name it once"
        )
    busy = [(share, todo) for share in shares if (todo := share.todo(results))]
    with ExitStack() as stack:
        for share in shares:
            store.check(results, share.testbed)
            stack.enter_context(store.sole_writer(results, share.testbed))
        if not busy:
            return
        _check_disk(results, sum(len(todo) for _, todo in busy))
        for share, todo in busy:
            stack.callback(share.testbed.close)
            share.testbed.prepare(todo)
            store.check(results, share.testbed)
            for leftover in store.folder(results, share.testbed).glob("*.part"):
                shutil.rmtree(leftover)
        _run_all(busy, results, workers, cluster, progress, note or (lambda text: None))


def _run_all(busy, results, workers, cluster, progress, note):
    """Run every trial; a pool for each machine, so that machines do not wait for each other."""
    failures, running = [], {}
    with ExitStack() as stack:
        pools = {}
        for machine, todo in _by_machine(busy).items():
            pools[machine] = stack.enter_context(_pool(todo, workers, cluster, note))
        for testbed, trial in _in_blocks(busy):
            told = partial(_tell, note, testbed, trial)
            running[pools[testbed.machine()].submit(testbed, trial, told)] = (testbed, trial)
        total = len(running)
        try:
            if progress:
                progress(0, total, None)
            for done, future in enumerate(as_completed(list(running)), start=1):
                testbed, trial = running.pop(future)
                try:
                    store.keep(results, testbed, trial, *future.result())
                except TrialFailed as failure:
                    where = f"{testbed.name}, {_labels(trial)}"
                    failures.append(f"trial {trial.hash} ({where}): {failure}")
                if progress:
                    progress(done, total, trial)
        except BaseException:  # Ctrl-C, SIGTERM: end what runs, keep what is finished
            for pool in pools.values():
                pool.stop()
            for future, (testbed, trial) in running.items():
                if future.done() and not (future.cancelled() or future.exception()):
                    store.keep(results, testbed, trial, *future.result())
            raise
    if failures:
        shown = "\n".join(failures[:5])
        raise TrialFailed(f"{len(failures)} of {total} trials failed:\n{shown}")


def _by_machine(busy):
    """Return what each physical machine has to do: a list of (testbed, trials)."""
    machines = {}
    for share, todo in busy:
        machines.setdefault(share.testbed.machine(), []).append((share.testbed, todo))
    return machines


def _pool(todo, workers, cluster, note):
    """Return the pool for what one machine has to do."""
    testbeds = [testbed for testbed, _ in todo]
    anywhere = all(testbed.anywhere for testbed in testbeds)
    # Dask takes half a second to import, so it is imported where it is used.
    if cluster and anywhere:
        from .pools.workers import running

        return running(cluster, testbeds, note)
    count = min(width(testbeds, workers), sum(len(trials) for _, trials in todo))
    if count > 1 and anywhere:
        from .pools.workers import local

        return local(count)
    return Here(count)


def width(testbeds, workers=None):
    """Return how many trials may run at the same time on a machine that has these testbeds.

    Parameters
    ----------
    testbeds : list of Testbed
    workers : int, optional
        As many as the user wants at most.
    """
    if len(testbeds) > 1:
        return 1
    return min([testbeds[0].slots, *([workers] if workers else [])])


def _in_blocks(busy):
    """Return (testbed, trial) of all testbeds, repetition by repetition, shuffled within each."""
    pairs = [(share.testbed, trial) for share, todo in busy for trial in todo]
    blocks = {}
    for pair in pairs:
        blocks.setdefault(pair[1].repetition, []).append(pair)
    for repetition in sorted(blocks):
        random.Random(repetition).shuffle(blocks[repetition])
        yield from blocks[repetition]


def _tell(note, testbed, trial, text):
    note(f"{testbed.name} {trial.hash[:8]}: {text}")


def _labels(trial):
    return ", ".join([trial.scheduler.name, *trial.labels.values()])


def _check_disk(results, count):
    free_mib = shutil.disk_usage(results).free >> 20
    if free_mib < count * MIB_PER_RESULT + 100:
        raise ElevatorLabError(
            f"results folder {results}: expected {count * MIB_PER_RESULT + 100} MiB of free disk "
            f"space for {count} trials; found {free_mib} MiB. Free some, or name another folder"
        )
