"""The kernel modules that are built for a trial and loaded in the deterministic machine."""

import hashlib
import re
from typing import NamedTuple

from ...errors import TrialFailed
from ...paths import command
from ...trial import Trial
from ...trial import modules as modules_of
from .. import plugin_archive
from . import modules

#: Messages by which the kernel reports a fault of its code, or a task that hangs.
TROUBLE = re.compile(r"(BUG:|Oops:|WARNING:|blocked for more than|general protection).*")

FIND_IT = f"Find out why: {command('scheduler check FOLDER')}"


class Brought(NamedTuple):
    """A trial's modules: the archive that the machine gets, and each module's SHA-256 by name."""

    archive: bytes | None
    sha256: dict[str, str]


def build(trial: Trial) -> Brought:
    """Build the trial's modules, or take them from the user's cache."""
    folders = modules_of.folders(trial)
    built = {name: modules.build(one).file.read_bytes() for name, one in folders.items()}
    archive = plugin_archive.module_archive(trial, built)
    return Brought(archive, {name: hashlib.sha256(one).hexdigest() for name, one in built.items()})


def provenance(trial: Trial, brought: Brought) -> dict[str, dict[str, str]]:
    """Return the digest of each module's sources, and the SHA-256 of the built module, by name."""
    return {
        one.name: {"sources": one.digest, "sha256": brought.sha256[one.name]}
        for one in trial.modules
    }


def refuse_trouble(trial: Trial, kernel_log: bytes) -> None:
    """Refuse a result if the kernel reported a fault while the trial's modules were loaded."""
    if trial.modules and (said := TROUBLE.search(kernel_log.decode(errors="replace"))):
        names = ", ".join(one.name for one in trial.modules)
        raise TrialFailed(
            f"the kernel complained with {names} loaded; expected no such word: {said[0]}. "
            f"{FIND_IT}"
        )
