"""Trials by the workers of a Dask cluster: one of this machine's own, or one that runs already.

Importing this module imports Dask, so it is imported where a cluster is needed.
"""

from __future__ import annotations

import gc
import logging
import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import resource_tracker
from typing import Any, TypeVar

import distributed

from ... import scratch
from ...errors import ElevatorLabError, NotReady, TrialFailed
from ...results.outcome import Outcome
from ...testbeds.base import Say, Testbed
from ...trial import Trial
from . import task

CONNECT_S = 10

#: How often it is seen to that a cluster of this machine's own has all of its workers.
LOOK_S = 2

T = TypeVar("T")

HOW = "docs/campaigns.md says how to start one"


class Workers:
    """A pool: the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: distributed.Client) -> None:
        self._client = client
        self._campaign = uuid.uuid4().hex
        self._submitted = 0
        self._far: set[distributed.Future[Any]] = set()

    def submit(self, testbed: Testbed, trial: Trial, note: Say) -> Future[Outcome]:
        """Run a trial when its turn comes; a worker reports nothing before the trial ends."""
        return self.call(task.run_for, self._campaign, testbed, testbed.identity(), trial)

    def call(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Call a function on a worker when its turn comes."""
        self._submitted += 1
        far = self._client.submit(
            *(function, *arguments),
            pure=False,
            priority=-self._submitted,  # first come, first served
        )
        self._far.add(far)
        near: Future[T] = Future()
        far.add_done_callback(partial(self._hand_over, near))
        return near

    def _hand_over(self, near: Future[T], far: distributed.Future[T]) -> None:
        self._far.discard(far)  # the worker may forget the result
        try:
            near.set_result(far.result())
        except distributed.scheduler.KilledWorker as death:
            near.set_exception(
                TrialFailed(
                    f"{death.allowed_failures + 1} workers died of it, or while it ran; expected "
                    "them to stay. Look for what ends them (memory?); the same command tries again"
                )
            )
        except CancelledError:
            near.set_exception(
                ElevatorLabError(
                    "the Dask scheduler is gone; expected it to stay. What is finished is kept: "
                    "start the cluster again, and the same command goes on from there"
                )
            )
        except BaseException as problem:
            near.set_exception(problem)

    def stop(self) -> None:
        """End what runs for this campaign, and start nothing more."""
        if self._client.status == "running":
            self._client.cancel(list(self._far))
            self._client.run(task.stop, self._campaign, on_error="ignore")


@contextmanager
def local(count: int) -> Iterator[Workers]:
    """Start a Dask cluster on this machine, one process for each worker, until this process ends.

    Raises
    ------
    NotReady
        When it does not start.
    """
    with ExitStack() as stack:
        stack.callback(scratch.sweep)  # what killed workers left
        folder = stack.enter_context(scratch.folder())
        # Ctrl-C reaches a terminal's every process; only the client is to heed it. Threads and
        # processes that are started meanwhile, and by those later on, do not see it. (The first
        # process of multiprocessing's would undo that, so it is started before.)
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            cluster = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    memory_limit=0,  # it is QEMU that needs memory; the testbed has seen to it
                    local_directory=folder,
                    dashboard_address="127.0.0.1:0",
                    security=True,  # other users of this machine have no say
                    silence_logs=logging.CRITICAL,
                )
            )
            stack.enter_context(kept_up(cluster, count))
        except (OSError, RuntimeError, TimeoutError) as problem:
            raise NotReady(
                f"the Dask cluster of this machine did not start ({problem}); expected {count} "
                "worker processes. Run the same command again, or with --workers 1, without one. "
                'A script of your own needs `if __name__ == "__main__":` before what it runs'
            ) from problem
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        client = distributed.Client(cluster, set_as_default=False)
        yield Workers(stack.enter_context(client))


@contextmanager
def kept_up(cluster: distributed.LocalCluster, count: int) -> Iterator[None]:
    """Replace workers that die while they start, as long as the context lasts; Dask does not.

    Parameters
    ----------
    cluster : distributed.LocalCluster
    count : int
        How many workers the cluster shall have.
    """
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_S):
            cluster.scale(count)  # the missing ones, if any

    watcher = threading.Thread(target=look, name="kept_up", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


@contextmanager
def running(address: str, testbeds: Sequence[Testbed], say: Say) -> Iterator[Workers]:
    """Use a cluster that runs already, once its workers' testbeds are those of this client.

    Parameters
    ----------
    address : str
        Of its scheduler, such as tcp://HOST:8786.
    testbeds : list of Testbed
    say : callable
        Called with a sentence when there is no worker yet.

    Raises
    ------
    NotReady
        When no scheduler answers, or a worker lacks the image or has another one.
    """
    # That a worker died, say: its trials run again, and what cannot be mended becomes an error.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with _connected(address) as client:
        for testbed in testbeds:
            answers = client.run(task.unlike, testbed, testbed.identity(), on_error="return")
            for worker, answer in sorted(answers.items()):
                if answer and not isinstance(answer, OSError):  # which means that it has gone
                    raise NotReady(
                        f"Dask worker {worker}: {answer}. Give it the same checkout and the same "
                        "image (docs/campaigns.md)"
                    )
        if not client.scheduler_info(n_workers=-1)["workers"]:
            say(f"{address} has no worker yet; trials start when one comes")
        yield Workers(client)


def _connected(address: str) -> distributed.Client:
    """Return a client of the scheduler at `address`, or say that there is none."""
    try:
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        said = str(problem)
    # What is left of a client closes itself when it is collected. In the middle of another one's
    # start that would wait for a lock which that one holds, for ever; so now.
    gc.collect()
    raise NotReady(
        f"--cluster: expected the address of a Dask scheduler, such as tcp://HOST:8786; "
        f"{address} does not answer as one ({said}). {HOW}"
    )
