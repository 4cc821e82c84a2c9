"""The kernel modules that a trial brings into the deterministic machine."""

import hashlib
import re
from typing import NamedTuple

from ...errors import TrialFailed
from ...paths import command
from ...trial import Trial
from ...trial import modules as modules_of
from .. import plugin_archive
from . import modules

#: What the kernel says of code that does what it must not.
TROUBLE = re.compile(r"(BUG:|Oops:|WARNING:|blocked for more than|general protection).*")

FIND_IT = f"Find out why: {command('scheduler check FOLDER')}"


class Brought(NamedTuple):
    """Modules as they travel, and their SHA-256 by name."""

    archive: bytes | None
    sha256: dict[str, str]


def build(trial: Trial) -> Brought:
    """Build the trial's modules; those that were built before are taken from the user's cache.

    Raises
    ------
    ElevatorLabError
        When one does not compile, or there is nothing to compile with.
    """
    folders = modules_of.folders(trial)
    built = {name: modules.build(one).file.read_bytes() for name, one in folders.items()}
    archive = plugin_archive.module_archive(trial, built)
    return Brought(archive, {name: hashlib.sha256(one).hexdigest() for name, one in built.items()})


def provenance(trial: Trial, brought: Brought) -> dict[str, dict[str, str]]:
    """Return what was built of which sources, by module; nothing for most trials."""
    return {
        one.name: {"sources": one.digest, "sha256": brought.sha256[one.name]}
        for one in trial.modules
    }


def refuse_trouble(trial: Trial, kernel_log: bytes) -> None:
    """Refuse a result during which the kernel complained of what the trial had brought.

    Raises
    ------
    TrialFailed
        With the kernel's own word.
    """
    if trial.modules and (said := TROUBLE.search(kernel_log.decode(errors="replace"))):
        names = ", ".join(one.name for one in trial.modules)
        raise TrialFailed(
            f"the kernel complained with {names} loaded; expected no such word: {said[0]}. "
            f"{FIND_IT}"
        )
