"""Run jobs side by side: each in a process of its own here, or on the workers of a Dask cluster.

A job that crashes never ends another job. Each job yields its result, or a sentence that says how
its process ended.
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
from ...running.pools.without_main import without_main
from ...testbeds.base import Testbed

Job = TypeVar("Job")
Made = TypeVar("Made")


def here(
    task: Callable[[Job], Made], jobs: Sequence[Job], width: int
) -> Iterator[tuple[Job, Made | str]]:
    """Do jobs in processes of this machine.

    Each job has a process of its own, so that no job sees what another one registers. This is no
    pool, because in a pool a worker that dies ends all jobs. Leaving the iterator ends the
    processes, and with them their machines.

    `task`: A function of a module, so that another process can import it. Returns: What the task
    returned, or a sentence on how its process ended.
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
                with without_main():
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this
    answer.send(task(job))


def _read(answer: Connection[object, Made], process: SpawnProcess) -> Made | str:
    """Return a process's answer, or a sentence on how the process ended without an answer."""
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
    """Do jobs on a running Dask cluster, and yield as `here` does."""
    # Dask takes half a second to import, so it is imported where it is used.
    from ...running.pools import dask_workers

    with dask_workers.running(address, [testbed], print) as workers:
        futures = {workers.call(task, job): job for job in jobs}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except TrialFailed as death:
                yield futures[future], str(death)
