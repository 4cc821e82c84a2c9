"""Templates: saved states of a machine that has booted and then stopped itself.

A trial continues a copy of a template, so that it need neither boot nor load the agent. The file
of the memory is mapped copy on write. The state of processor and devices is a few kilobytes.
Trials that continue templates made on different machines give the same bits.
"""

import asyncio
import contextlib
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

from ... import cache, scratch
from ...errors import NotReady, TrialFailed
from .. import agent_archive
from . import exchange, image, initramfs, qemu
from .monitor import Monitor, converse

#: The subsection of QEMU's saved state that holds the counted time (vmstate_icount).
ICOUNT_NAME = b"timer/icount"
ICOUNT = struct.Struct(">Iqq")

#: Wall time after which a boot is given up; it takes 10 to 20 s on an idle machine.
BOOT_TIMEOUT_S = 600


def ready(memory_mib: int, emulator: qemu.Emulator = qemu.USUAL) -> Path | None:
    """Return the folder of the template with `memory_mib`, or None if it was not made yet."""
    folder = _folder(memory_mib, emulator)
    return folder if (folder / "state").exists() else None


def make(memory_mib: int, emulator: qemu.Emulator = qemu.USUAL) -> Path:
    """Return the folder of the template with `memory_mib`; if there is none, boot one for it."""
    with image.lock():
        if (found := ready(memory_mib, emulator)) is not None:
            return found
        folder = _folder(memory_mib, emulator)
        free_mib = shutil.disk_usage(image.FOLDER).free >> 20
        if free_mib < memory_mib:
            raise NotReady(
                f"keeping a booted machine needs {memory_mib} MiB of disk space in "
                f"{image.FOLDER}; found {free_mib} MiB. Free some"
            )
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        try:
            boot(memory_mib, fresh, emulator.boots_as)
        except TrialFailed as failure:
            said = _last_words(memory_mib, fresh, emulator.boots_as)
            shutil.rmtree(fresh, ignore_errors=True)
            raise NotReady(
                f"the deterministic machine did not come up ({failure}); its console ends:\n{said}"
            ) from None
        os.rename(fresh, folder)
        return folder


def prune() -> None:
    """Remove templates of another image or agent, and half-made ones."""
    with image.lock():
        for old in (image.FOLDER / "templates").glob("*"):
            if not old.name.endswith("-" + image.digest()[:12]):
                shutil.rmtree(old)


def _folder(memory_mib: int, emulator: qemu.Emulator) -> Path:
    """Return the folder of a template, whether or not it is there.

    Its name ends with the image digest of the usual emulator, which covers the agent, too. The
    digest of any other emulator stands before it. So `prune` finds all templates of old images.
    """
    digests = dict.fromkeys(image.digest(one)[:12] for one in (emulator.boots_as, qemu.USUAL))
    return image.FOLDER / "templates" / "-".join([emulator.template_name(memory_mib), *digests])


def take_back_idle_time(state: Path) -> int:
    """Set the idle time in a saved state (QEMU's ``qemu_icount_bias``) to 0.

    While the guest stops the machine, QEMU's main loop may take the machine for idle. It then
    counts the time up to the next timer as idle time. This depends on the host, so results would
    differ. The guest is never idle before it stops, so all idle time that was counted is wrong.

    Returns: The idle time that had been counted, in nanoseconds.
    """
    content = bytearray(state.read_bytes())
    place = content.index(ICOUNT_NAME) + len(ICOUNT_NAME)
    version, booked_ns, instructions = ICOUNT.unpack_from(content, place)
    ICOUNT.pack_into(content, place, version, 0, instructions)
    state.write_bytes(content)
    return int(booked_ns)


def boot(memory_mib: int, folder: Path, emulator: qemu.Emulator = qemu.USUAL) -> None:
    """Boot a machine until it stops itself, and keep it in `folder`."""
    with open(folder / "ram", "wb") as file:
        file.truncate(memory_mib << 20)
    inputs = {"agent.pyz": agent_archive.agent_archive()}
    if emulator.inner_mib:
        inputs |= _machine_inside(emulator.inner_mib)
    exchange.write(folder / "exchange", inputs)
    with scratch.folder() as place:
        files = folder / "ram", "share=on", folder / "exchange", place
        machine = start(image.FOLDER, memory_mib, *files, emulator=emulator)
        try:
            converse(keep_when_stopped(Path(place, "monitor"), machine, folder / "state.new"))
            machine.wait()
        finally:
            if machine.poll() is None:
                machine.kill()
                machine.wait()
            assert machine.stderr
            machine.stderr.close()
    if emulator.idle_time_slips:
        take_back_idle_time(folder / "state.new")
    (folder / "exchange").unlink()
    (folder / "about.json").write_text(json.dumps({"ram_sha256": cache.sha256(folder / "ram")}))
    os.rename(folder / "state.new", folder / "state")


def _machine_inside(memory_mib: int) -> dict[str, bytes]:
    """Return the files from which environments/deterministic/outer.py boots a virtual machine."""
    agent = initramfs.archive({"agent.pyz": (0o644, agent_archive.agent_archive())})
    return {
        "machine.json": json.dumps({"memory_mib": memory_mib}).encode(),
        "vmlinuz": (image.FOLDER / "vmlinuz").read_bytes(),
        "initramfs.cpio": (image.FOLDER / "initramfs.cpio").read_bytes() + agent,
    }


async def keep_when_stopped(socket: Path, machine: subprocess.Popen[str], state: Path) -> None:
    """Wait until the guest stops the machine, save its state, and quit QEMU.

    The saved state is that of processor and devices. The machine's memory is in a file already.
    """
    async with Monitor(socket, machine, BOOT_TIMEOUT_S) as monitor:
        await monitor.stopped()
        await monitor.do("xen-save-devices-state", filename=str(state), live=False)
        await monitor.do("quit")


async def resume(socket: Path, machine: subprocess.Popen[str], state: Path, limit_s: float) -> None:
    """Load the saved state into a machine that waits for it, and let it run."""
    async with Monitor(socket, machine, limit_s) as monitor:
        await monitor.do("migrate-incoming", uri=f"exec:cat '{state}'")
        while (await monitor.do("query-status"))["status"] == "inmigrate":
            await asyncio.sleep(0.005)
        await monitor.do("cont")


def _last_words(memory_mib: int, folder: Path, emulator: qemu.Emulator) -> str:
    """Boot once more with a console, only to see why the machine does not come up."""
    console = folder / "console"
    with scratch.folder() as place:
        machine = start(
            image.FOLDER,
            memory_mib,
            folder / "ram",
            "share=off",
            folder / "exchange",
            place,
            *("-serial", f"file:{console}"),
            *("-append", qemu.KERNEL_OPTIONS.replace("quiet loglevel=3", "console=ttyS0")),
            emulator=emulator,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            machine.wait(60)
        machine.kill()
        machine.wait()
        assert machine.stderr
        machine.stderr.close()
    return console.read_text(errors="replace")[-3500:]


def start(
    folder: Path,
    memory_mib: int,
    ram: Path,
    ram_mode: str,
    exchange_file: Path,
    place: str | Path,
    *more: str,
    emulator: qemu.Emulator = qemu.USUAL,
) -> subprocess.Popen[str]:
    """Start QEMU; its recording and its monitor's socket are in the folder `place`."""
    place = Path(place)
    sizes_mib = {name: (folder / name).stat().st_size >> 20 for name in image.FILES}
    files = (exchange_file, place / "recording", place / "monitor")
    argv = qemu.command(folder, sizes_mib, memory_mib, ram, ram_mode, *files, emulator)
    # Should this process be killed, the kernel ends the machine, too.
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *argv, *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
