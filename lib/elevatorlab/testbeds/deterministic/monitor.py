"""Control a running QEMU through its control socket (QMP).

The guest does not notice: it is stopped meanwhile, or its clock counts only its own instructions.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from qemu.qmp import ConnectError, EventListener, ExecuteError, QMPClient, QMPError

from ...errors import TrialFailed

T = TypeVar("T")

# Errors are raised, too, with a message of ours.
logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)


def converse(conversation: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that talks to a machine's monitor, and return its result.

    It runs in a thread of its own, because a notebook's thread runs an event loop already. If the
    caller is interrupted, the caller ends the machine, and that ends the coroutine.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="monitor")
    talk = thread.submit(asyncio.run, _quietly(conversation))
    thread.shutdown(wait=False)
    return talk.result()


async def _quietly(conversation: Coroutine[Any, Any, T]) -> T:
    asyncio.get_running_loop().set_exception_handler(_report)
    return await conversation


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what nobody has caught, but not that the socket of a machine that ended is closed.

    qemu.qmp may keep that to itself, and asyncio then prints it with a traceback.
    """
    if not isinstance(context.get("exception"), QMPError | OSError | EOFError):
        loop.default_exception_handler(context)


class Monitor:
    """The monitor of one machine, as an asynchronous context manager."""

    def __init__(self, path: Path, machine: subprocess.Popen[str], timeout_s: float) -> None:
        self._path, self._machine, self._timeout_s = path, machine, timeout_s
        self._client = QMPClient()
        self._stops = EventListener("STOP")

    async def __aenter__(self) -> Monitor:
        self._client.register_listener(self._stops)
        until_s = time.monotonic() + self._timeout_s
        while not await self._connected():
            if self._machine.poll() is not None:
                raise TrialFailed(f"QEMU did not start ({self._said()}); run the trial again")
            if time.monotonic() > until_s:
                raise TrialFailed("QEMU's monitor did not answer; is the machine overloaded?")
            await asyncio.sleep(0.01)
        return self

    async def __aexit__(self, *_: object) -> None:
        # The socket of a machine that has ended is closed already.
        with contextlib.suppress(QMPError, OSError, EOFError):
            await self._client.disconnect()

    async def _connected(self) -> bool:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._client.connect(str(self._path))
        except TimeoutError:
            raise self._silence() from None
        except ConnectError:
            return False
        return True

    async def do(self, name: str, **arguments: object) -> Any:
        """Run one command and return its answer.

        Raises
        ------
        TrialFailed
            When QEMU refuses the command, does not answer, or ends.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._client.execute(name, arguments)
        except TimeoutError:
            raise self._silence() from None
        except ExecuteError as refusal:
            raise TrialFailed(f"QEMU refused {name}: {refusal.error.error.desc}") from None
        except QMPError:
            raise self._ended() from None

    async def stopped(self) -> None:
        """Wait until the guest has stopped the machine.

        Raises
        ------
        TrialFailed
            When QEMU is silent, or ends.
        """
        stop = asyncio.create_task(self._stops.get())
        end = asyncio.create_task(self._client.runstate_changed())
        either = asyncio.FIRST_COMPLETED
        done, waiting = await asyncio.wait({stop, end}, timeout=self._timeout_s, return_when=either)
        for task in waiting:
            task.cancel()
        if not done:
            raise self._silence()
        if stop not in done:
            raise self._ended()

    def _silence(self) -> TrialFailed:
        return TrialFailed(
            f"QEMU's monitor said nothing for {self._timeout_s:.0f} s; the machine is overloaded, "
            "or the guest hangs. Run it again"
        )

    def _ended(self) -> TrialFailed:
        return TrialFailed(f"QEMU ended unexpectedly ({self._said()}); run the trial again")

    def _said(self) -> str:
        """Return the last words of a machine that has ended."""
        said = self._machine.stderr.read().strip() if self._machine.stderr else ""
        return said or f"status {self._machine.wait()}"
