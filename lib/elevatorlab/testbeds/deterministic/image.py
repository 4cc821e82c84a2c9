"""The deterministic image: built when its recipe changes, described by a manifest."""

import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

from ...errors import NotReady
from ...paths import BUILD, ENVIRONMENTS
from .. import pyz
from . import qemu

FOLDER = BUILD / "image"
RECIPE = ENVIRONMENTS / "deterministic"
MODULES = ENVIRONMENTS / "kernel"
FILES = ("vmlinuz", "initramfs.cpio", "root.ext2")
DISK_MIB = 4000


def recipe_digest():
    """Return the SHA-256 of everything in the repository that decides the image."""
    digest = hashlib.sha256()
    for file in _recipe():
        digest.update(f"{file.relative_to(ENVIRONMENTS)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _recipe():
    """Return the files that decide the image, in a fixed order."""
    sources = [ENVIRONMENTS / "packages.txt", ENVIRONMENTS / "debian-sources.sh"]
    sources += [*RECIPE.rglob("*"), *MODULES.rglob("*")]
    decides_nothing = {"__pycache__", "test", "README.md"}
    return sorted(
        file
        for file in sources
        if file.is_file() and not decides_nothing.intersection(file.parts[-2:])
    )


def manifest(folder=None):
    """Return the built image's manifest, or None where there is no whole image."""
    folder = folder or FOLDER
    file = folder / "manifest.json"
    if not file.exists() or not all((folder / name).exists() for name in FILES):
        return None
    content = json.loads(file.read_text())
    sizes = {name: (folder / name).stat().st_size for name in FILES}
    if sizes != content["sizes_bytes"]:
        return None
    return content


def current():
    """Return the manifest of an image that fits the recipe.

    Raises
    ------
    NotReady
        When it was never built, is damaged, or the recipe has changed since.
    """
    found = manifest()
    if found is None:
        raise NotReady(
            f"the deterministic image is missing or damaged: expected {', '.join(FILES)} and "
            f"manifest.json in {FOLDER}. Build it: make setup (or: elevatorlab image build)"
        )
    if found["recipe"] != recipe_digest():
        raise NotReady(
            "the deterministic image does not fit environments/ any more. "
            "Build it again: make setup (or: elevatorlab image build)"
        )
    return found


@functools.cache
def digest():
    """Return the image digest: what, besides the trial, decides every bit of a result.

    SHA-256 over kernel, initramfs, root, QEMU's version and whole command line (without the
    host's paths), the firmware, and the agent.
    """
    found = current()
    paths = [Path(name) for name in ("ram", "exchange", "recording", "monitor")]
    root_mib = found["sizes_bytes"]["root.ext2"] >> 20
    parts = [
        *(found["sha256"][name] for name in FILES),
        qemu.version(),
        *qemu.command(Path("image"), root_mib, 0, paths[0], "share=off", *paths[1:]),
        *map(_sha256, qemu.firmware()),
        pyz.agent_digest(),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@contextmanager
def lock():
    """Let one process at a time build, or make a template."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "image.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(force=False):
    """Build the image where it is missing or its recipe has changed.

    Parameters
    ----------
    force : bool
        Build anyway, to take newer package versions.

    Returns
    -------
    bool
        Whether anything was built.
    """
    with lock():
        found = manifest()
        if found and found["recipe"] == recipe_digest() and not force:
            return False
        free_mib = shutil.disk_usage(BUILD).free >> 20
        if free_mib < DISK_MIB:
            raise NotReady(
                f"building the image needs {DISK_MIB} MiB of disk space in {BUILD}; "
                f"found {free_mib} MiB. Free some, or set ELEVATORLAB_BUILD to another folder"
            )
        fresh = BUILD / "image.new"
        shutil.rmtree(fresh, ignore_errors=True)
        if subprocess.run([RECIPE / "build.sh", fresh], stdin=subprocess.DEVNULL).returncode:
            shutil.rmtree(fresh, ignore_errors=True)
            raise NotReady("the deterministic image could not be built; the lines above say why")
        (fresh / "manifest.json").write_text(json.dumps(_describe(fresh), indent=1) + "\n")
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.rename(fresh, FOLDER)
        digest.cache_clear()
        return True


def _describe(folder):
    packages = (folder / "packages.tsv").read_text().splitlines()
    return {
        "recipe": recipe_digest(),
        "sha256": {name: _sha256(folder / name) for name in FILES},
        "sizes_bytes": {name: (folder / name).stat().st_size for name in FILES},
        "packages": dict(sorted(line.split("\t") for line in packages)),
    }


def _sha256(file: Path):
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
