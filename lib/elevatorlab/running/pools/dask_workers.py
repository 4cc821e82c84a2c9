"""Run trials on the workers of a Dask cluster: one on this machine, or one that runs already.

Importing this module imports Dask, so it is imported where a cluster is needed.
"""

from __future__ import annotations

import gc
import logging
import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
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
from .without_main import without_main

CONNECT_S = 10

#: Time between two replacements of missing workers, in a cluster on this machine.
LOOK_S = 2

T = TypeVar("T")

HOW = "docs/campaigns.md says how to start one"


class Workers:
    """A pool that runs trials on the workers of a cluster."""

    def __init__(self, client: distributed.Client) -> None:
        self._client = client
        self._campaign = uuid.uuid4().hex
        self._submitted = 0
        #: By what was returned for a call, Dask's own future of it, until it is handed over.
        self._far: dict[Future[Any], distributed.Future[Any]] = {}

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
        near: Future[T] = Future()
        self._far[near] = far
        far.add_done_callback(partial(self._hand_over, near))
        return near

    def _hand_over(self, near: Future[T], far: distributed.Future[T]) -> None:
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
        finally:
            del self._far[near]  # the worker may forget the result

    def stop(self) -> None:
        """End what runs for this campaign, and start nothing more."""
        open_calls = dict(self._far)
        if self._client.status == "running":
            self._client.cancel(list(open_calls.values()))
            self._client.run(task.stop, self._campaign, on_error="ignore")
        # All clients of a process hand over in one thread. If it asked this client for a result
        # while the client closes, it would wait forever, and every later campaign with it.
        wait(open_calls, timeout=CONNECT_S)


@contextmanager
def local(count: int) -> Iterator[Workers]:
    """Within the context, run a Dask cluster on this machine, with one process per worker."""
    with ExitStack() as stack:
        stack.callback(scratch.sweep)  # what killed workers left
        folder = stack.enter_context(scratch.folder())
        stack.enter_context(without_main())  # also for workers that replace others later
        # Ctrl-C reaches every process of a terminal, but only the client may react. So SIGINT is
        # blocked while the cluster's threads and processes start, which inherit this. (The first
        # process of multiprocessing would undo the blocking, so it is started before.)
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            cluster = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    memory_limit=0,  # QEMU needs the memory, and the testbed has checked it
                    local_directory=folder,
                    dashboard_address="127.0.0.1:0",
                    security=True,  # against other users of this machine
                    silence_logs=logging.CRITICAL,
                )
            )
            stack.enter_context(kept_up(cluster, count))
        except (OSError, RuntimeError, TimeoutError) as problem:
            raise NotReady(
                f"the Dask cluster of this machine did not start ({problem}); expected {count} "
                "worker processes. Run the same command again, or with --workers 1, without one"
            ) from problem
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        client = distributed.Client(cluster, set_as_default=False)
        yield Workers(stack.enter_context(client))


@contextmanager
def kept_up(cluster: distributed.LocalCluster, count: int) -> Iterator[None]:
    """Within the context, replace workers that die while they start. Dask does not do this."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_S):
            cluster.scale(count)  # starts missing workers, if any

    watcher = threading.Thread(target=look, name="kept_up", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


@contextmanager
def running(address: str, testbeds: Sequence[Testbed], say: Say) -> Iterator[Workers]:
    """Use a cluster that runs already, after its workers' testbeds are compared with this client's.

    `address`: Address of the cluster's scheduler, such as tcp://HOST:8786. `say`: Called with a
    sentence when there is no worker yet.
    """
    # Dask would log that a worker died. Its trials run again, and real problems become errors.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with _connected(address) as client:
        for testbed in testbeds:
            answers = client.run(task.unlike, testbed, testbed.identity(), on_error="return")
            for worker, answer in sorted(answers.items()):
                if answer and not isinstance(answer, OSError):  # an OSError: the worker has gone
                    raise NotReady(
                        f"Dask worker {worker}: {answer}. Give it the same checkout and the same "
                        "image (docs/campaigns.md)"
                    )
        if not client.scheduler_info(n_workers=-1)["workers"]:
            say(f"{address} has no worker yet; trials start when one comes")
        yield Workers(client)


def _connected(address: str) -> distributed.Client:
    """Return a client of the Dask scheduler at `address`; refuse an address without one."""
    try:
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        said = str(problem)
    # The client that failed closes itself when it is garbage-collected. If that happened while
    # another client starts, it would wait forever for a lock of that client. So collect it now.
    gc.collect()
    raise NotReady(
        f"--cluster: expected the address of a Dask scheduler, such as tcp://HOST:8786; "
        f"{address} does not answer as one ({said}). {HOW}"
    )
