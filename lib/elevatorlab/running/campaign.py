"""Run many trials on one testbed or several; a finished trial is never run again."""

import importlib.util
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..errors import ElevatorLabError, NotReady, TrialFailed
from ..results import reading, scheduler_sources, store
from ..results.outcome import Outcome
from ..testbeds.base import Say, Testbed
from ..trial import Trial
from .pools import Pool
from .pools.task import Threads

MIB_PER_RESULT = 1

#: Called as ``progress(done, total, trial)``.
Progress = Callable[[int, int, Trial | None], object]


@dataclass
class Share:
    """The trials of a campaign that one testbed runs."""

    testbed: Testbed
    #: Each trial once, in any order.
    trials: list[Trial]

    def todo(self, results: str | Path) -> list[Trial]:
        """Return the trials that have no whole result in `results` yet."""
        place = store.folder(results, self.testbed)
        return [trial for trial in self.trials if not reading.whole(place / trial.hash)]

    def damaged(self, results: str | Path) -> list[Path]:
        """Return the folders of finished trials whose results cannot be read."""
        folders = (store.folder(results, self.testbed) / trial.hash for trial in self.trials)
        return [one for one in folders if reading.finished(one) and not reading.whole(one)]


#: Unfinished shares, each with its trials that have no result yet.
Busy = Sequence[tuple[Share, list[Trial]]]


@dataclass
class Plan:
    """What a campaign would do: the trials to run, and how many are finished."""

    todo: list[tuple[Testbed, Trial]]
    finished: int
    #: Folders of those among `todo` that have a result which cannot be read.
    damaged: list[Path] = field(default_factory=list)

    def __str__(self) -> str:
        said = f"{len(self.todo)} trials to run, {self.finished} finished already"
        if not self.damaged:
            return said
        return (
            f"{said}, {len(self.damaged)} damaged and to run again (the first: {self.damaged[0]})"
        )


def divide(expanded: Sequence[tuple[Testbed, list[Trial]]]) -> list[Share]:
    """Give each testbed the trials that it takes.

    `expanded`: Each testbed, with all trials that the study has for the testbed's parameters.
    """
    shares: list[Share] = []
    taken: set[str] = set()
    all_trials: dict[str, Trial] = {}
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
            "commas between. `deterministic` has a virtual machine inside in study 1 alone"
        )
    return shares


def plan(shares: Sequence[Share], results: str | Path) -> Plan:
    """Divide the trials of `shares` into those that are finished in `results` and those to run."""
    todo = [(share.testbed, trial) for share in shares for trial in share.todo(results)]
    damaged = [folder for share in shares for folder in share.damaged(results)]
    return Plan(todo, sum(len(share.trials) for share in shares) - len(todo), damaged)


def run(
    shares: Sequence[Share],
    results: str | Path,
    workers: int | None = None,
    progress: Progress | None = None,
    note: Say | None = None,
    cluster: str | None = None,
    threads: bool = False,
    minutes: float | None = None,
) -> None:
    """Run the trials that are not finished yet.

    Testbeds on different machines work at the same time. Testbeds on the same machine take turns.
    Trials run in blocks of one repetition, each block in random order, so that no arm gets the
    quieter hours.

    Trials that give the same bits anywhere (`Testbed.anywhere`) run on Dask's workers, if several
    may run at the same time. All other trials run in threads of this process. So do all trials if
    Dask is not installed.

    `workers`: Largest number of trials at the same time on a machine; by default as many as its
    testbed allows. `progress`: Called as ``progress(done, total, trial)`` before the first trial
    and after each trial. `note`: Called with a line of text now and then while a long trial runs.
    `cluster`: Address of the scheduler of a running Dask cluster; by default one is started here,
    with as many workers as trials may run at the same time. `threads`: Start no cluster, but use
    threads of this process. This is faster for a handful of short trials, which end before a
    cluster would have started. `minutes`: No trial starts later than that; what was not started
    then is left for another call.
    """
    check_cluster(cluster, workers, minutes)
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
            scheduler_sources.keep(results, share.trials)
        if not busy:
            return
        _check_disk(results, sum(len(todo) for _, todo in busy))
        for share, todo in busy:
            stack.callback(share.testbed.close)
            share.testbed.prepare(todo)
            store.check(results, share.testbed)
            for leftover in store.folder(results, share.testbed).glob("*.part"):
                shutil.rmtree(leftover)
        # A thread's trial that waits can be taken back without those that run.
        threads = threads or minutes is not None
        pool = partial(_pool, workers=workers, cluster=cluster, threads=threads)
        until_s = None if minutes is None else time.monotonic() + 60 * minutes
        _run_all(busy, results, pool, progress, note or (lambda text: None), until_s)


def check_cluster(cluster: str | None, workers: int | None, minutes: float | None = None) -> None:
    """Refuse a cluster that cannot be used.

    `cluster`: Address of the scheduler of a running Dask cluster. `workers`, `minutes`: Number of
    trials at the same time, and time in which they may start, if the user has set them.
    """
    if cluster and minutes is not None:
        raise ElevatorLabError(
            "--minutes and --cluster: expected one of them; found both. What a cluster has been "
            "given is not taken back in time. End the command (Ctrl-C), and it goes on from there"
        )
    if cluster and workers:
        raise ElevatorLabError(
            "--workers and --cluster: expected one of them; found both. A running cluster has as "
            "many workers as it has"
        )
    if cluster and not _dask_is_here():
        raise NotReady(
            "--cluster: expected Dask; it is not installed. "
            "Install the extra `cluster`: pip install 'elevatorlab[cluster]'"
        )


def _run_all(
    busy: Busy,
    results: str | Path,
    pool_for: Callable[..., AbstractContextManager[Pool]],
    progress: Progress | None,
    note: Say,
    until_s: float | None,
) -> None:
    """Run every trial, in one pool per machine, so that machines do not wait for each other."""
    failures: list[str] = []
    running: dict[Future[Outcome], tuple[Testbed, Trial]] = {}
    with ExitStack() as stack:
        pools: dict[str, Pool] = {}
        for machine, todo in _by_machine(busy).items():
            pools[machine] = stack.enter_context(pool_for(todo, note))
        for testbed, trial in _in_blocks(busy):
            told = partial(_tell, note, testbed, trial)
            running[pools[testbed.machine()].submit(testbed, trial, told)] = (testbed, trial)
        total, done = len(running), 0
        try:
            if progress:
                progress(0, total, None)
            for future in as_completed(list(running)):
                testbed, trial = running.pop(future)
                if future.cancelled():
                    continue
                done += 1
                try:
                    store.keep(results, testbed, trial, future.result())
                except TrialFailed as failure:
                    failures.append(_told(failure, results, testbed, trial))
                if progress:
                    progress(done, total, trial)
                if until_s is not None and time.monotonic() > until_s:
                    for other in running:
                        other.cancel()
        except BaseException:  # Ctrl-C, SIGTERM: end what runs, keep what is finished
            for pool in pools.values():
                pool.stop()
            for future, (testbed, trial) in running.items():
                if future.done() and not (future.cancelled() or future.exception()):
                    store.keep(results, testbed, trial, future.result())
            raise
    if failures:
        shown = "\n".join(failures[:5])
        raise TrialFailed(f"{len(failures)} of {total} trials failed:\n{shown}")


def _told(failure: TrialFailed, results: str | Path, testbed: Testbed, trial: Trial) -> str:
    """Store the log of a failed trial; return what the user is told about it."""
    said = f"trial {trial.hash} ({testbed.name}, {_labels(trial)}): {failure}"
    if failure.log:
        said += f"\nThe whole log: {store.keep_log(results, testbed, trial, failure.log)}"
    return said


def _by_machine(busy: Busy) -> dict[str, list[tuple[Testbed, list[Trial]]]]:
    """Return, by physical machine, its testbeds and the trials that each of them runs."""
    machines: dict[str, list[tuple[Testbed, list[Trial]]]] = {}
    for share, todo in busy:
        machines.setdefault(share.testbed.machine(), []).append((share.testbed, todo))
    return machines


def _pool(
    todo: Sequence[tuple[Testbed, list[Trial]]],
    note: Say,
    *,
    workers: int | None,
    cluster: str | None,
    threads: bool,
) -> AbstractContextManager[Pool]:
    """Return the pool for the trials of one machine."""
    testbeds = [testbed for testbed, _ in todo]
    anywhere = all(testbed.anywhere for testbed in testbeds)
    # Dask takes half a second to import, so it is imported where it is used.
    if cluster and anywhere:
        from .pools.dask_workers import running

        return running(cluster, testbeds, note)
    count = min(width(testbeds, workers), sum(len(trials) for _, trials in todo))
    if count > 1 and anywhere and not threads and _dask_is_here():
        from .pools.dask_workers import local

        return local(count)
    return Threads(count)


def _dask_is_here() -> bool:
    return importlib.util.find_spec("distributed") is not None


def width(testbeds: Sequence[Testbed], workers: int | None = None) -> int:
    """Return how many trials may run at the same time on a machine that has these testbeds."""
    if len(testbeds) > 1:
        return 1
    return min([testbeds[0].slots, *([workers] if workers else [])])


def _in_blocks(busy: Busy) -> Iterator[tuple[Testbed, Trial]]:
    """Yield (testbed, trial) of all testbeds, repetition by repetition, shuffled within each."""
    pairs = [(share.testbed, trial) for share, todo in busy for trial in todo]
    blocks: dict[int, list[tuple[Testbed, Trial]]] = {}
    for pair in pairs:
        blocks.setdefault(pair[1].repetition, []).append(pair)
    for repetition in sorted(blocks):
        random.Random(repetition).shuffle(blocks[repetition])
        yield from blocks[repetition]


def _tell(note: Say, testbed: Testbed, trial: Trial, text: str) -> None:
    note(f"{testbed.name} {trial.hash[:8]}: {text}")


def _labels(trial: Trial) -> str:
    return ", ".join([trial.scheduler.name, *trial.labels.values()])


def _check_disk(results: str | Path, count: int) -> None:
    free_mib = shutil.disk_usage(results).free >> 20
    if free_mib < count * MIB_PER_RESULT + 100:
        raise ElevatorLabError(
            f"results folder {results}: expected {count * MIB_PER_RESULT + 100} MiB of free disk "
            f"space for {count} trials; found {free_mib} MiB. Free some, or name another folder"
        )
