"""The machine that checks a scheduler: the deterministic one, set to say more when it crashes.

The machine boots once, and its saved state is kept in the user's cache. Each check continues a copy
of it. The machine's time is counted in instructions, so a verdict is the same everywhere, and idle
time costs nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import mmap
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ... import cache, scratch
from ...errors import NotReady, TrialFailed
from ...testbeds.deterministic import exchange, image, initramfs, qemu, template, timeouts
from ...testbeds.deterministic.monitor import Monitor, converse
from .host_disk import Forged
from .in_guest import mailbox

MEMORY_MIB = 512
GUEST = Path(__file__).with_name("in_guest")

#: Wall time after which a machine is ended. Time in which other processes had the processor does
#: not count. The whole check took 231 s on a computer with five times as much work as processors.
LIMIT_S = 900

#: Processor time of the machine without a message from the guest, after which the scheduler is
#: taken to loop for ever. The longest case took a sixth of this time on a computer with five times
#: as much work as processors. Such a loop may leave enough time to feed the guest's own watchdog,
#: so the host watches, too, however busy it is.
LOOPS_AFTER_S = 120

KERNEL_OPTIONS = " ".join(
    [
        qemu.KERNEL_OPTIONS,
        "console=ttyS0 oops=panic",
        # Tasks are preempted wherever possible, so that a missing lock shows.
        "preempt=full",
        # Freed memory is overwritten, its ends are guarded, and each allocation is recorded.
        "slub_debug=FZPU,kmalloc-*,*_io_cq",
    ]
)


class Ended(NamedTuple):
    """How a machine ended."""

    #: Whether the guest's program ended by itself.
    by_itself: bool
    #: What the kernel printed.
    console: str


#: A machine with two processors.
MACHINE = replace(qemu.USUAL, cpus=2)

#: How many instructions one processor executes before the other one does. In short turns, one often
#: stops in the midst of a change while the other goes on. Such a machine is slower.
LONG_TURNS, SHORT_TURNS = 1000, 150


def run(
    job: Mapping[str, bytes],
    hear: Callable[[dict[str, Any]], None],
    answer: Callable[[mmap.mmap], None],
    turns: int,
) -> Ended:
    """Continue a copy of the machine with a job, until the machine ends.

    `hear`: Called with each message of the guest when it arrives. `answer`: Called with the mailbox
    when the guest has put a question there; the machine stands still meanwhile. `turns`: One of
    `LONG_TURNS` and `SHORT_TURNS`. Raises `Forged` if a message is not the guest's program's own.
    """
    key = secrets.token_bytes(32)
    kept = _kept()
    with scratch.folder() as folder:
        place = Path(folder)
        exchange.write(place / "exchange", {**job, "key": key})
        incoming = ("-incoming", "defer", "-S")
        emulator = replace(MACHINE, slot=turns)
        with (
            _mailbox(place / "exchange") as asked,
            _started(emulator, kept, kept / "ram", "share=off", place, *incoming) as machine,
            ThreadPoolExecutor(1) as thread,
        ):
            converse(_comes_up(place / "monitor", machine))
            asks = socket.socket(socket.AF_UNIX)
            asks.connect(str(place / "asks"))
            answering = thread.submit(_answer, asks, lambda: answer(asked))
            try:
                converse(template.resume(place / "monitor", machine, kept / "state", LIMIT_S))
                last = _listen(machine, place, key, hear, answering)
            finally:
                machine.kill()  # and so `answering` ends
            answering.result()
            by_itself = machine.wait() == qemu.FINISHED
            if by_itself and last.get("event") != "ended":
                raise Forged("the machine was ended, and not by the check's program")
        return Ended(by_itself, (place / "console").read_text(errors="replace"))


@contextmanager
def _mailbox(file: Path) -> Iterator[mmap.mmap]:
    """Give the part of the exchange that is the mailbox."""
    length = mailbox.QUESTION_BYTES + mailbox.DATA_BYTES
    with open(file, "r+b") as both, mmap.mmap(both.fileno(), length, offset=mailbox.BEGIN) as part:
        yield part


async def _comes_up(path: Path, machine: subprocess.Popen[str]) -> None:
    async with Monitor(path, machine, LIMIT_S):
        pass


def _answer(asks: socket.socket, answer: Callable[[], None]) -> None:
    """Answer each time the machine has stopped itself, until it ends.

    This is so short a talk with QEMU's monitor that its library would take most of the time.
    """
    with contextlib.suppress(OSError), asks, asks.makefile("rw", buffering=1) as monitor:
        monitor.write('{"execute": "qmp_capabilities"}\n')
        for line in monitor:
            if line.endswith("\n") and json.loads(line).get("event") == "STOP":
                answer()
                monitor.write('{"execute": "cont"}\n')


def _listen(
    machine: subprocess.Popen[str],
    place: Path,
    key: bytes,
    hear: Callable[[dict[str, Any]], None],
    answering: Future[None],
) -> dict[str, Any]:
    """Pass on the guest's messages until the machine has ended; return the last one.

    A machine that loops is interrupted.
    """
    began_s = time.monotonic()
    with (place / "said").open(errors="replace") as said:
        line = ""
        number = 0
        message: dict[str, Any] = {}
        ended = interrupted = False
        heard_s = 0.0
        while not ended:
            ended = machine.poll() is not None
            while part := said.readline():
                heard_s = _processor_s(machine)
                line += part
                if line.endswith("\n"):
                    message = opened(line, key, number)
                    hear(message)
                    line = ""
                    number += 1
            if answering.done() and not ended:
                answering.result()
            if not interrupted and _processor_s(machine) - heard_s > LOOPS_AFTER_S:
                # The kernel then shows where it was, and ends the machine.
                converse(_interrupt(place / "monitor", machine))
                interrupted = True
            took_s = time.monotonic() - began_s
            if took_s > LIMIT_S + timeouts.run_queue_wait_s(machine.pid):
                raise TrialFailed(
                    f"the check did not end within {LIMIT_S} s of wall time; it was stopped. "
                    "The machine is overloaded; run it again"
                )
            time.sleep(0.05)
    return message


def opened(line: str, key: bytes, number: int) -> dict[str, Any]:
    """Return the message of a line, if it is signed with the key and is the next one."""
    signature, _, said = line.rstrip("\n").partition(" ")
    expected = hmac.digest(key, said.encode(errors="replace"), "sha256").hex()
    place, _, message = said.partition(" ")
    if not hmac.compare_digest(
        signature.encode(errors="replace"), expected.encode()
    ) or place != str(number):
        raise Forged("a message to the host was forged")
    content: dict[str, Any] = json.loads(message)
    return content


async def _interrupt(path: Path, machine: subprocess.Popen[str]) -> None:
    async with Monitor(path, machine, LIMIT_S) as monitor:
        await monitor.do("inject-nmi")


def _processor_s(machine: subprocess.Popen[str]) -> float:
    """Return the processor time that a machine has used; 0 for a machine that has ended."""
    try:
        stat = Path(f"/proc/{machine.pid}/stat").read_text()
    except OSError:
        return 0.0
    ticks = stat.rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _kept() -> Path:
    """Return the folder of the booted machine; boot it if the cache has none."""
    image.current()
    booted = MACHINE.boots_as
    options = qemu.options(MEMORY_MIB, booted), booted.counted_time(Path()), booted.identity()
    decides = [repr((options, _more(Path(), Path()))).encode(), _guest_archive()]
    decides += [cache.sha256(image.FOLDER / name).encode() for name in image.FILES]
    digest = hashlib.sha256(b"\0".join(decides)).hexdigest()
    return cache.obtain("check-machine", digest, _boot)


def _boot(folder: Path) -> None:
    print("booting the machine that checks schedulers, once (about 20 s)", file=sys.stderr)
    stock = (image.FOLDER / "initramfs.cpio").read_bytes()
    (folder / "initramfs.cpio").write_bytes(stock + _guest_archive())
    with open(folder / "ram", "wb") as ram:
        ram.truncate(MEMORY_MIB << 20)
    with scratch.folder() as place:
        exchange.write(Path(place, "exchange"), {})
        try:
            files = folder, folder / "ram", "share=on", Path(place)
            with _started(MACHINE.boots_as, *files) as machine:
                state = folder / "state"
                converse(template.keep_when_stopped(Path(place, "monitor"), machine, state))
                machine.wait()
        except TrialFailed as failure:
            console = Path(place, "console").read_text(errors="replace")
            raise NotReady(
                f"the machine that checks schedulers does not come up ({failure}); its last "
                f"words:\n{console[-3000:]}"
            ) from None
    if MACHINE.idle_time_slips:
        template.take_back_idle_time(folder / "state")


@contextmanager
def _started(
    emulator: qemu.Emulator, kept: Path, ram: Path, ram_mode: str, place: Path, *more: str
) -> Iterator[subprocess.Popen[str]]:
    """Start QEMU with its exchange, sockets and serial lines in `place`; kill it on exit."""
    for line in ("console", "said"):
        (place / line).touch()
    machine = template.start(
        image.FOLDER,
        MEMORY_MIB,
        ram,
        ram_mode,
        place / "exchange",
        place,
        *_more(kept, place),
        *more,
        emulator=emulator,
    )
    try:
        yield machine
    finally:
        if machine.poll() is None:
            machine.kill()
            machine.wait()
        assert machine.stderr
        machine.stderr.close()


def _more(kept: Path, place: Path) -> tuple[str, ...]:
    """Return QEMU's options beyond the testbed's; of two equal options, QEMU takes the last."""
    return (
        *("-initrd", str(kept / "initramfs.cpio"), "-append", KERNEL_OPTIONS),
        *("-serial", f"file:{place / 'console'}", "-serial", f"file:{place / 'said'}"),
        *("-device", "i6300esb", "-action", "watchdog=inject-nmi"),
        # The second monitor is for the mailbox alone.
        *("-qmp", f"unix:{place / 'asks'},server=on,wait=off"),
    )


def _guest_archive() -> bytes:
    """Return an archive of the guest's program and its init, to unpack over the image's own."""
    files: dict[str, tuple[int, bytes | None]] = {
        "init": (0o755, (GUEST / "init").read_bytes()),
        "check": (0o755, None),
    }
    for path in [GUEST, *sorted(GUEST.rglob("*"))]:
        name = f"check/{path.relative_to(GUEST.parent)}"
        if path.is_dir() and path.name != "__pycache__":
            files[name] = (0o755, None)
        elif path.suffix == ".py":
            files[name] = (0o644, path.read_bytes())
    return initramfs.archive(files)
