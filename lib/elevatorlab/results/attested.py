"""The machines on which the reference's bits were verified: the lines of data/attested.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..paths import DATA
from ..records import Record, checked

FILE = DATA / "attested.csv"

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Words = Annotated[str, Field(min_length=1)]


class Attestation(Record):
    """What one machine has verified."""

    #: Date of the verification, such as 2026-11-22.
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    #: Image digest of the reference. The machine's own image had the same digest.
    image_digest: Digest
    #: SHA-256 over the verified results, by study and trial.
    bits: Digest
    #: Number of verified trials of each study, such as ``innodb_commit=2 vm_vs_container=1``.
    trials: Annotated[str, Field(pattern=r"^[a-z0-9_]+=[1-9]\d*( [a-z0-9_]+=[1-9]\d*)*$")]
    #: Those of the host.
    processor: Words
    kernel: Words
    distribution: Words
    #: Python's version, such as 3.13.5.
    python: Words
    #: What compiled the emulator, such as GCC 14.2.0; no part of the image digest.
    compiler: Words
    #: How the verification ran: native, container, or CI.
    route: Annotated[str, Field(pattern="^(native|container|CI)$")]

    @property
    def counts(self) -> dict[str, int]:
        """Number of trials that gave the same bits, by study."""
        pairs = (one.split("=") for one in self.trials.split())
        return {study: int(count) for study, count in pairs}

    def line(self) -> str:
        """Return the attestation as a line of the file, without the newline."""
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(self.model_dump().values())
        return text.getvalue()


def read(file: Path = FILE) -> list[Attestation]:
    """Return all attestations, in the order of the file."""
    with open(file, newline="") as lines:
        return [
            checked(Attestation, row, f"{file}, line {number}")
            for number, row in enumerate(csv.DictReader(lines), 2)
        ]


def of_newest_image(attested: Sequence[Attestation]) -> list[Attestation]:
    """Return the attestations that have the same image digest as the last one."""
    return [one for one in attested if one.image_digest == attested[-1].image_digest]
