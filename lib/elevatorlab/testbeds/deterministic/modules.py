"""Kernel modules: compile them for a Debian kernel, and build those of a trial.

They are compiled in a root file system that the user's cache keeps.

To make the root (compiler, headers, sources) takes a minute or two, once per kernel. To compile a
module in it takes seconds. The cache keeps the modules, too.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ... import cache, scratch
from ...errors import ElevatorLabError, NotReady, TrialFailed
from ...paths import ENVIRONMENTS, command
from ...plugins.module_folders import ModuleFolder, made_in
from ...trial import Trial, kernel_modules
from .. import plugin_archive
from . import image

RECIPE = ENVIRONMENTS / "module-root"

#: A compilation takes seconds. One that reaches this limit has an endless loop, say in its Kbuild.
LIMIT_S = 180

#: Messages by which the kernel reports a fault of its code, or a task that hangs.
KERNEL_FAULT = re.compile(r"(BUG:|Oops:|WARNING:|blocked for more than|general protection).*")

#: Messages of the compiler that say how a macro expands.
EXPANSION = re.compile(r": note: in (expansion|definition) of macro ")

FIND_IT = f"Find out why: {command('scheduler check FOLDER')}"


class DoesNotCompile(ElevatorLabError):
    """Sources that do not compile.

    `said`: The compiler's output. Places in it are ``FILE:LINE:COLUMN``, relative to the folder.
    """

    def __init__(self, folder: ModuleFolder, found: str, said: str) -> None:
        self.said = said
        # The error comes first, since warnings before it fill a screen; it is not said twice.
        first = f"{self.error}\n\n" if self.error not in ("", said.strip()) else ""
        super().__init__(
            f"{folder.path}: expected {folder.module}.ko; {found}\n{first}{said}".rstrip()
        )

    @property
    def error(self) -> str:
        """The first line with an error of the compiler, of modpost or of make; "" without one."""
        lines = self.said.splitlines()
        return next((line for line in lines if re.search(r"\b(error|ERROR): |\*\*\* ", line)), "")


class NeverCompiles(DoesNotCompile):
    """Sources whose compilation was ended at `LIMIT_S`."""


@dataclass(frozen=True)
class Built:
    """A module that was built."""

    #: The module that the kernel loads.
    file: Path
    #: The same module, with the lines of its source (DWARF).
    with_lines: Path
    #: The compiler's output, such as warnings.
    said: str


def release() -> str:
    """Return the release of the deterministic image's kernel, such as 6.1.0-56-amd64."""
    prefix = "linux-image-"
    packages: dict[str, str] = image.current()["packages"]
    names = (name.removeprefix(prefix) for name in packages if name.startswith(prefix))
    return next(name for name in names if name[0].isdigit())


def root(of_kernel: str) -> Path:
    """Return the archive of the root for a kernel; make it if the cache lacks it.

    `of_kernel`: Release of the kernel; a module loads into this one only.
    """
    digest = hashlib.sha256(of_kernel.encode())
    names = ("debian-sources.sh", "versions.tsv")
    for file in (RECIPE / "make.sh", *(ENVIRONMENTS / name for name in names)):
        digest.update(file.read_bytes())

    def make(folder: Path) -> None:
        _expect_compiler()
        argv: list[str | Path] = [RECIPE / "make.sh", folder, of_kernel]
        # What it says goes to standard error (2): a command's output may be JSON.
        if subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=2).returncode:
            raise NotReady(f"{RECIPE.name}/make.sh failed; the lines above say why")

    return cache.obtain("module-root", digest.hexdigest(), make) / "root.tar"


def build(folder: ModuleFolder, of_kernel: str | None = None) -> Built:
    """Build a module, unless the user's cache has it.

    The same sources, root and kernel give the same bytes.

    `of_kernel`: Release of the kernel; by default the deterministic image's.
    """
    archive = root(of_kernel or release())
    decides = [folder.digest, _sha256_of(archive), cache.sha256(RECIPE / "compile.py")]
    digest = hashlib.sha256("\0".join(decides).encode()).hexdigest()
    made = cache.obtain("module", digest, lambda into: _compile(folder, archive, into))
    said = (made / "log").read_text(errors="replace")
    return Built(made / f"{folder.module}.ko", made / f"{folder.module}.debug.ko", said)


def _sha256_of(archive: Path) -> str:
    """Return the SHA-256 of a file of the cache, from its entry's index."""
    return str(json.loads((archive.parent / cache.INDEX).read_text())[archive.name]["sha256"])


def _expect_compiler() -> None:
    image.refuse_another_processor(
        "kernel modules of schedulers and of disks with an arm are compiled",
        f"Copy the folders module and module-root into {cache.ROOT} from the cache of a machine "
        "that has run this trial",
    )


def _compile(folder: ModuleFolder, archive: Path, into: Path) -> None:
    _expect_compiler()
    with scratch.folder() as place:
        sources, work, answer = (Path(place, name) for name in ("build", "work", "answer.tar"))
        work.mkdir()
        # The folder's name appears in messages of the kernel, so it is the same everywhere.
        sources = sources / folder.module
        sources.mkdir(parents=True)
        for name, content in folder.files.items():
            (sources / name).write_bytes(content)
        _run(folder, [archive, sources, work], answer)
        with tarfile.open(answer) as made:
            for name in ("log", "status", f"{folder.module}.ko", f"{folder.module}.debug.ko"):
                if name in made.getnames() and (file := made.extractfile(name)):
                    (into / name).write_bytes(file.read())
    said = _as_in_the_folder((into / "log").read_text(errors="replace"), folder)
    (into / "log").write_text(said)
    if (into / "status").read_text() != "0":
        raise DoesNotCompile(folder, "it does not compile:", said)
    if not (into / f"{folder.module}.ko").exists():
        named = made_in(folder.files["Kbuild"].decode(errors="replace"))
        others = " and ".join(f"{name}.ko" for name in named if name != folder.module)
        raise DoesNotCompile(folder, f"its Kbuild makes {others or 'none'} (obj-m)", said)


def _run(folder: ModuleFolder, arguments: list[Path], answer: Path) -> None:
    # Should this process be killed, the compiler ends, too.
    ends_with_us = ["setpriv", "--pdeathsig", "KILL"]
    argv: list[str | Path] = [*ends_with_us, sys.executable, RECIPE / "compile.py", *arguments]
    with open(answer, "wb") as out:
        try:
            run = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            raise NeverCompiles(folder, f"it did not compile within {LIMIT_S} s", "") from None
    if run.returncode:
        said = run.stderr.decode(errors="replace").strip()
        raise NotReady(f"{RECIPE.name}/compile.py: {said or 'it was killed'}")


def _as_in_the_folder(said: str, folder: ModuleFolder) -> str:
    """Return the compiler's lines, with paths relative to the user's folder."""
    there = f"/build/{folder.module}"
    lines = said.replace(f"{there}/", "").replace(there, ".").splitlines(keepends=True)
    # Debian's headers lack vmlinux. The user need not do anything about this line.
    lines = [line for line in lines if not line.startswith("Skipping BTF generation")]
    return "".join(folded(lines))


def folded(lines: list[str]) -> Iterator[str]:
    """Yield the compiler's lines without those that show, step by step, how a macro expands.

    A misspelt field in a macro of the kernel's has about a hundred of them.
    """
    expands = False
    for line in lines:
        if not line.startswith(" "):  # otherwise a line of the source, below a message
            expands = bool(EXPANSION.search(line))
        if not expands:
            yield line


class TrialModules(NamedTuple):
    """A trial's modules: the archive that the machine gets, and each module's SHA-256 by name."""

    archive: bytes | None
    sha256: dict[str, str]

    def provenance(self, trial: Trial) -> dict[str, dict[str, str]]:
        """Return the digests of each module's sources and of the built module, by name."""
        return {
            one.name: {"sources": one.digest, "sha256": self.sha256[one.name]}
            for one in trial.modules
        }


def build_for(trial: Trial) -> TrialModules:
    """Build the trial's modules, or take them from the user's cache."""
    folders = kernel_modules.folders(trial)
    built = {name: build(one).file.read_bytes() for name, one in folders.items()}
    archive = plugin_archive.module_archive(trial, built)
    sha256 = {name: hashlib.sha256(one).hexdigest() for name, one in built.items()}
    return TrialModules(archive, sha256)


def refuse_kernel_fault(trial: Trial, kernel_log: bytes) -> None:
    """Refuse a result if the kernel reported a fault while the trial's modules were loaded."""
    if trial.modules and (said := KERNEL_FAULT.search(kernel_log.decode(errors="replace"))):
        names = ", ".join(one.name for one in trial.modules)
        raise TrialFailed(
            f"the kernel complained with {names} loaded; expected no such word: {said[0]}. "
            f"{FIND_IT}"
        )
