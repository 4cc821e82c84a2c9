"""The deterministic image: built when its recipe changes, described by a manifest."""

import functools
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from filelock import FileLock

from ... import cache
from ...errors import NotReady
from ...paths import BUILD, ENVIRONMENTS, command, make_folder
from .. import agent_archive
from . import initramfs, our_qemu, qemu

FOLDER = BUILD / "image"
RECIPE = ENVIRONMENTS / "deterministic"
MODULES = ENVIRONMENTS / "kernel"
FILES = (
    *("vmlinuz", "initramfs.cpio", qemu.ROOT),
    # the firmware, of which the last file is loaded, and never runs
    *("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin"),
)
#: Names and versions of the packages in the root.
PACKAGES = "packages.tsv"
DISK_MIB = 4000

#: Parts of the image digest (`digest_parts`).
EMULATOR_PART, OPTIONS_PART = "emulator", "QEMU's options"

#: Environment variable with the date of a Debian archive (environments/debian-sources.sh).
SNAPSHOT = "ELEVATORLAB_SNAPSHOT"


def recipe_digest() -> str:
    """Return the SHA-256 of everything in the repository that decides the image."""
    digest = hashlib.sha256()
    for file in _recipe():
        digest.update(f"{file.relative_to(ENVIRONMENTS)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _recipe() -> list[Path]:
    """Return the files that decide the image, in a fixed order.

    The modules of schedulers and of disks with an arm are left out: each trial brings its own.
    """
    named = ("packages.txt", "debian-sources.sh", "versions.tsv")
    sources = [ENVIRONMENTS / name for name in named]
    sources += [*RECIPE.rglob("*"), *MODULES.rglob("*")]
    decides_nothing = {"__pycache__", "test", "README.md", "drive", "schedulers"}
    return sorted(
        file
        for file in sources
        if file.is_file()
        and not decides_nothing.intersection(file.relative_to(ENVIRONMENTS).parts[1:])
    )


def manifest() -> dict[str, Any] | None:
    """Return the built image's manifest, or None if the image is missing or incomplete."""
    file = FOLDER / "manifest.json"
    if not file.exists() or not all((FOLDER / name).exists() for name in FILES):
        return None
    content: dict[str, Any] = json.loads(file.read_text())
    sizes = {name: (FOLDER / name).stat().st_size for name in FILES}
    if sizes != content["sizes_bytes"]:
        return None
    return content


def current() -> dict[str, Any]:
    """Return the manifest of an image that fits the recipe."""
    found = manifest()
    if found is None:
        raise NotReady(
            f"the deterministic image is missing or damaged: expected {', '.join(FILES)} and "
            f"manifest.json in {FOLDER}",
            f"Build it: {command('image build')}",
        )
    if found["recipe"] != recipe_digest():
        raise NotReady(
            "the deterministic image does not fit environments/ any more",
            f"Build it again: {command('image build')}",
        )
    return found


@functools.cache
def digest(emulator: qemu.Emulator = qemu.USUAL) -> str:
    """Return the image digest: the SHA-256 over all that, besides the trial, decides a result.

    `emulator`: The program that emulates the machine. It is part of the digest.
    """
    return digest_of(digest_parts(emulator))


def digest_of(parts: Mapping[str, Sequence[str]]) -> str:
    """Return the SHA-256 over the parts of an image (see `digest_parts`)."""
    return hashlib.sha256("\0".join(chain(*parts.values())).encode()).hexdigest()


def digest_parts(emulator: qemu.Emulator = qemu.USUAL) -> dict[str, list[str]]:
    """Return the parts of the image digest by name, in the order in which they are hashed.

    They are the image's files, the emulator and its whole command line (without the host's paths),
    and the agent.
    """
    found = current()
    ram, files, log, monitor = map(Path, ("ram", "exchange", "recording", "monitor"))
    sizes_mib = {name: size >> 20 for name, size in found["sizes_bytes"].items()}
    machine = Path("image"), sizes_mib, 0, ram, "share=off"
    argv = qemu.command(*machine, files, log, monitor, emulator)
    return {
        "files": [found["sha256"][name] for name in FILES],
        EMULATOR_PART: [emulator.identity()],
        # without any path of this host, and with what several processors boot with
        OPTIONS_PART: [*argv[1:], str(qemu.BOOT_SLOT)],
        "agent": [agent_archive.agent_digest()],
    }


@contextmanager
def lock() -> Iterator[None]:
    """Let one process at a time build an image or make a template.

    The lock is beside the image itself, because several build folders may link to one image.
    """
    make_folder(BUILD, "build folder", "Set ELEVATORLAB_BUILD to another one")
    with FileLock(FOLDER.resolve().parent / "image.lock"):
        yield


def build(force: bool = False) -> bool:
    """Build the image if it is missing, its recipe has changed, or `SNAPSHOT` is another date.

    The image is made in the user's cache (`elevatorlab.cache`). A second checkout with the same
    recipe takes it from there, with the same bits. An image from a dated archive (`SNAPSHOT`) has
    an entry of its own there.

    `force`: Build the image anyway, even if the cache has it.
    """
    with lock():
        if not force and _is_wanted(manifest()):
            return False
        _put_in_place(_make, anew=force, snapshot=wanted_snapshot())
        return True


def wanted_snapshot() -> str | None:
    """Return the date of the Debian archive that `SNAPSHOT` asks for; None for any date."""
    return os.environ.get(SNAPSHOT) or None


def _is_wanted(found: Mapping[str, Any] | None) -> bool:
    if found is None or found["recipe"] != recipe_digest():
        return False
    return wanted_snapshot() in (None, found.get("snapshot"))


def install(make: Callable[[Path], None]) -> None:
    """Replace this machine's image with one that was made elsewhere.

    `make`: ``make(folder)`` writes `FILES` and `PACKAGES` into an empty folder. If it raises, the
    old image stays.
    """

    def described(folder: Path) -> None:
        _check_space(folder)
        make(folder)
        _describe(folder)

    with lock():
        _put_in_place(described, anew=True)


@contextmanager
def instead(make: Callable[[Path], None]) -> Iterator[None]:
    """Within the context, use an image that was made elsewhere; this machine's image stays."""
    global FOLDER  # each start of a machine looks here
    make_folder(BUILD, "build folder", "Set ELEVATORLAB_BUILD to another one")
    usual = FOLDER
    with tempfile.TemporaryDirectory(prefix="image-", dir=BUILD) as place:
        folder = Path(place)
        _check_space(folder)
        make(folder)
        _describe(folder)
        try:
            FOLDER = folder
            digest.cache_clear()
            yield
        finally:
            FOLDER = usual
            digest.cache_clear()


def _put_in_place(make: Callable[[Path], None], anew: bool, snapshot: str | None = None) -> None:
    """Make the image in the cache unless it is there, and take its files into `FOLDER`."""
    decides = recipe_digest()
    if snapshot:
        decides = hashlib.sha256(f"{decides} {snapshot}".encode()).hexdigest()
    entry = cache.obtain("image", decides, make, anew)
    fresh = BUILD / "image.new"
    shutil.rmtree(fresh, ignore_errors=True)
    cache.take_out(entry, fresh)
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.rename(fresh, FOLDER)
    digest.cache_clear()


def _make(folder: Path) -> None:
    """Build the image in an empty folder."""
    refuse_another_processor(
        "the deterministic image is built",
        f"Build it elsewhere, and take it from there ({command('image export')}; here: "
        f"{command('image import FILE')})",
    )
    _check_space(folder)
    if subprocess.run([RECIPE / "build.sh", folder], stdin=subprocess.DEVNULL).returncode:
        raise NotReady("the deterministic image could not be built; the lines above say why")
    (folder / "initramfs.cpio").write_bytes(initramfs.of_folder(folder / "initramfs"))
    shutil.rmtree(folder / "initramfs")
    _describe(folder, wanted_snapshot())


def refuse_another_processor(what: str, remedy: str) -> None:
    """Refuse to build what needs a processor that runs the guest's programs."""
    if (here := platform.machine()) != our_qemu.GUEST_PROCESSOR:
        raise NotReady(
            f"{what} on {our_qemu.GUEST_PROCESSOR} alone; this machine is {here}", remedy
        )


def _check_space(folder: Path) -> None:
    free_mib = shutil.disk_usage(folder).free >> 20
    if free_mib < DISK_MIB:
        raise NotReady(
            f"the image needs {DISK_MIB} MiB of disk space in {folder.parent}; "
            f"found {free_mib} MiB. Free some, or set ELEVATORLAB_CACHE or ELEVATORLAB_BUILD to "
            "another folder"
        )


def _describe(folder: Path, snapshot: str | None = None) -> None:
    """Write the manifest of the image in `folder`; `snapshot` is the date of its Debian archive."""
    content = {
        "recipe": recipe_digest(),
        "snapshot": snapshot,
        "sha256": {name: cache.sha256(folder / name) for name in FILES},
        "sizes_bytes": {name: (folder / name).stat().st_size for name in FILES},
        "packages": _versions(folder / PACKAGES),
    }
    (folder / "manifest.json").write_text(json.dumps(content, indent=1) + "\n")


def _versions(file: Path) -> dict[str, str]:
    return dict(sorted(line.split("\t") for line in file.read_text().splitlines()))
