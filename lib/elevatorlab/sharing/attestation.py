"""Say which bits this machine has verified: one line for data/attested.csv."""

from __future__ import annotations

import hashlib
import os
import platform
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ..errors import ElevatorLabError
from ..plugins import studies
from ..results import reading, references
from ..results.attested import Attestation
from ..testbeds.deterministic import our_qemu
from ..testbeds.deterministic.testbed import cpu_model
from .verification import SAME, Stored, Verification

Results = Mapping[tuple[str, str], str]
"""SHA-256 of results, by study and hash of the trial."""


def of_verification(stored: Stored, found: list[Verification], image_digest: str) -> Attestation:
    """Return the line that attests the outcome of `verification.again`."""
    others = [one for one in found if one.answer != SAME]
    if others:
        raise ElevatorLabError(f"not attested: {others[0]}")
    trials = {(one.study, one.trial) for one in found}
    same = {key: of.result_sha256 for key, of in stored.items() if key in trials}
    return _here(same, image_digest)


def of_results(results: Path, image_digest: str) -> Attestation:
    """Return the line which attests that results gave the same bits as the reference's trials."""
    reference = {
        (study.NAME, trial): digests
        for study in studies.ours()
        for trial, digests in references.digests(study.NAME).items()
    }
    same = {}
    for one in reading.results_in(results):
        key = one.trial["study"], one.folder.name
        if key not in reference or one.provenance.image_digest != image_digest:
            continue
        stored_image, sha256 = reference[key]
        if stored_image != image_digest:
            continue
        if reading.digest(one.folder) != sha256:
            raise ElevatorLabError(f"not attested: {' '.join(key)} did not give the same bits")
        same[key] = sha256
    if not same:
        raise ElevatorLabError(
            f"not attested: no trial of the reference was run with its image; this one is "
            f"{image_digest[:12]}"
        )
    return _here(same, image_digest)


def bits_of(same: Results) -> str:
    """Return one SHA-256 over all results, sorted by study and trial."""
    lines = (f"{study} {trial} {sha256}\n" for (study, trial), sha256 in sorted(same.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _here(same: Results, image_digest: str) -> Attestation:
    counts = sorted(Counter(study for study, _ in same).items())
    return Attestation(
        date=datetime.now(UTC).date().isoformat(),
        image_digest=image_digest,
        bits=bits_of(same),
        trials=" ".join(f"{study}={count}" for study, count in counts),
        processor=cpu_model(),
        kernel=platform.release(),
        distribution=platform.freedesktop_os_release()["PRETTY_NAME"],
        python=platform.python_version(),
        compiler=our_qemu.compiler(),
        # The Dockerfile sets the variable; /.dockerenv also exists in some virtual machines.
        route=os.environ.get("ELEVATORLAB_ROUTE") or ("CI" if os.environ.get("CI") else "native"),
    )
