"""Jobs side by side: each in a process of its own here, or on the workers of a Dask cluster.

The end of one job never ends another: what became of it is its result, or a sentence.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TypeVar

from ...errors import TrialFailed
from ...testbeds.base import Testbed

Job = TypeVar("Job")
Made = TypeVar("Made")


def here(
    task: Callable[[Job], Made], jobs: Sequence[Job], width: int
) -> Iterator[tuple[Job, Made | str]]:
    """Do jobs in processes of this machine.

    What one job registers, no other one sees; and a pool whose worker dies would end them all.
    Leaving the iterator ends the processes, and with them their machines.

    Parameters
    ----------
    task : callable
        Of a module, so that another process finds it.
    jobs : sequence
    width : int
        So many at the same time.

    Yields
    ------
    job
        As they end.
    made
        What the task returned, or a sentence on how its process ended.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(jobs))
    running: dict[Connection, tuple[Job, SpawnProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < width:
                job = waiting.pop()
                answer, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_answer, args=(theirs, task, job), daemon=True)
                running[answer] = (job, process)
                process.start()
                theirs.close()
            answered = wait(list(running))
            for answer in [one for one in running if one in answered]:
                yield running[answer][0], _read(answer, running[answer][1])
                del running[answer]
    finally:
        for _, process in running.values():
            if process.is_alive():
                process.terminate()
                process.join()


def _answer(answer: Connection, task: Callable[[Job], object], job: Job) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process, which ends this
    answer.send(task(job))


def _read(answer: Connection[object, Made], process: SpawnProcess) -> Made | str:
    """Return what a process answered, or how it ended without an answer."""
    try:
        made: Made | str = answer.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        made = f"its process {how}; look for what ends processes (memory?)"
    process.join()
    answer.close()
    return made


def far(
    task: Callable[[Job], Made], jobs: Sequence[Job], address: str, testbed: Testbed
) -> Iterator[tuple[Job, Made | str]]:
    """Do the same on a Dask cluster that runs already.

    Parameters
    ----------
    task : callable
    jobs : sequence
    address : str
        Of its scheduler.
    testbed : Testbed
        The workers must have the same one.

    Raises
    ------
    NotReady
        When no scheduler answers, or a worker has another image.
    ElevatorLabError
        When the scheduler goes away.
    """
    # Dask takes half a second to import, so it is imported where it is used.
    from ...running.pools import dask_workers

    with dask_workers.running(address, [testbed], print) as workers:
        futures = {workers.call(task, job): job for job in jobs}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except TrialFailed as death:
                yield futures[future], str(death)
