"""Run trials of the stored reference, or of somebody's bundle, again, and compare the results.

With the same image digest, the bits must match. With another digest, the bits may differ, and the
rows of the tables are compared. If every trial of a study was run again, verdicts are compared,
too.
"""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ElevatorLabError
from ..judging.matching import DETERMINISTIC
from ..paths import BUILD
from ..plugins import studies
from ..plugins.testbeds import DEFAULT
from ..results import reading, references, tidying
from ..running import jobs
from ..running.campaign import Share
from ..running.provenance import preset_trials
from ..testbeds.base import Testbed
from ..testbeds.deterministic import DeterministicTestbed
from ..trial import Trial, parse, required_plugins
from ..trial.required_plugins import Plugin
from .bundles import Bundle, manifest

SAME, DIFFERENT, ANOTHER_IMAGE = "same", "different", "another image"

#: Columns that identify a row or say where it comes from; all other columns were measured.
_NOT_MEASURED = {"trial", "machine", "accelerator", "image_digest", "seed", "repetition"}

#: How many of the packages that differ are named.
NAMED = 3


@dataclass(frozen=True)
class Expected:
    """A trial and its stored result."""

    trial: Trial
    image_digest: str
    result_sha256: str
    #: The trial's rows of the study's tidy table.
    rows: pd.DataFrame
    #: Where the result comes from, with the parts of the image.
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class Verification:
    """How a rerun compares with the stored result."""

    study: str
    #: Its hash; None if a whole study was compared: its verdicts, or the table of a report.
    trial: str | None
    #: ``same``, ``different``, or ``another image`` (bits of different images cannot be compared).
    answer: str
    #: The comparison in words.
    sentence: str

    def __str__(self) -> str:
        what = [self.study, self.trial] if self.trial else [self.study]
        return f"{' '.join(what)}: {self.sentence}"


Stored = Mapping[tuple[str, str], Expected]
"""Stored results, by study and hash of the trial."""


def reference(preset: str = "quick") -> Stored:
    """Return the stored results of all trials of a reference.

    `preset`: One of `references.PRESETS`. A study without such a reference is left out.
    """
    found, lacking, provenance = {}, 0, references.provenance(preset)
    for study in studies.ours():
        if not references.is_stored(study.NAME, preset):
            continue
        digests = references.digests(study.NAME, preset)
        table = references.table(study, preset)
        for trial in preset_trials(study, preset, DEFAULT):
            if trial.hash in digests:
                rows = table[table["trial"] == trial.hash]
                found[study.NAME, trial.hash] = Expected(
                    trial, *digests[trial.hash], rows, provenance
                )
            else:
                lacking += 1
    if lacking:
        raise ElevatorLabError(
            f"the reference lacks {lacking} trials of the preset {preset}; expected all. "
            "It belongs to another version of the studies"
        )
    return found


def unpacked(bundle: Bundle, folder: Path) -> tuple[Stored, list[str]]:
    """Check a bundle, unpack it, and return its results of the deterministic testbed.

    Returns: The trials that can be run again here, and a sentence for each kind that cannot.
    """
    bundle.unpack(folder)
    results = folder / manifest.RESULTS
    found, others = {}, []
    tables = {name: tidying.tidy(results, study) for name, study in studies.STUDIES.items()}
    for one in reading.results_in(results):
        content, provenance, place = one.trial, one.provenance, one.folder
        if reason := _not_here(content, provenance.testbed, place.name, bundle.manifest):
            others.append(reason)
            continue
        table = tables[content["study"]]
        found[content["study"], place.name] = Expected(
            parse(content),
            provenance.image_digest,
            reading.digest(place),
            table[table["trial"] == place.name],
            provenance.as_given(),
        )
    counts = {reason: others.count(reason) for reason in others}
    return found, [f"{count} trials not run again: {reason}" for reason, count in counts.items()]


def _not_here(
    content: Mapping[str, Any], testbed: str, name: str, listed: manifest.Manifest
) -> str:
    """Say why a trial of a bundle cannot be run again here; "" where it can."""
    if testbed != DETERMINISTIC:
        return f"they ran on a real machine ({testbed}), whose bits nobody repeats"
    brought = [one for one in listed.plugins if (one.kind, one.name) == ("study", content["study"])]
    used = [*brought, *(Plugin.model_validate(one) for one in content.get("plugins", ()))]
    if sentence := required_plugins.lacking(used):
        return sentence
    if content["study"] not in studies.STUDIES:
        return f"this version has no study {content['study']!r}"
    try:
        same = parse(content).hash == name
    except ElevatorLabError as problem:
        if content.get("modules"):
            return str(problem)
        same = False
    return "" if same else "their format is that of another version of the package"


def tables_follow(folder: Path) -> list[Verification]:
    """Compute the tables of an unpacked bundle's report again, and compare them with the report."""
    found = []
    for name, study in studies.STUDIES.items():
        file = folder / "report" / "tables" / f"{name}.csv"
        fresh = tidying.tidy(folder / manifest.RESULTS, study)
        if not file.exists() or fresh.empty:
            continue
        same = file.read_text() == fresh.to_csv(index=False)
        sentence = f"the report's table follows from the results ({len(fresh)} rows)"
        if not same:
            sentence = f"the report's table is NOT what the results give ({file.name})"
        found.append(Verification(name, None, SAME if same else DIFFERENT, sentence))
    return found


def again(
    stored: Stored, testbed: Testbed, sample: int | None, seed: int = 0, workers: int | None = None
) -> list[Verification]:
    """Run a random sample of stored trials again, and compare the results.

    An interrupted call keeps the trials that it has run. The next call for the same trials does not
    run these again.

    `sample`: How many trials; None for all, and then verdicts are compared, too.
    """
    count = len(stored) if sample is None else min(sample, len(stored))
    chosen = random.Random(seed).sample(sorted(stored), count)
    with _kept_until_compared(chosen, testbed) as place, _really_run(testbed):
        share = Share(testbed, [stored[key].trial for key in chosen])
        jobs.run_shares([share], place, workers)
        folders = Path(place, testbed.name)
        names = {name for name, _ in chosen}
        tables = {name: tidying.tidy(place, studies.get(name)) for name in names}
        found = [
            _compare(key, stored[key], tables[key[0]], folders / key[1], testbed.identity())
            for key in chosen
        ]
    for name in sorted(tables):
        of_study = {key for key in stored if key[0] == name}
        if of_study <= set(chosen):
            rows = pd.concat([stored[key].rows for key in sorted(of_study)])
            found.append(_compare_verdicts(name, rows, tables[name]))
    return found


@contextmanager
def _really_run(testbed: Testbed) -> Iterator[None]:
    """Take no outcome from the user's cache: a cached one would prove nothing."""
    if not isinstance(testbed, DeterministicTestbed):
        yield
        return
    before, testbed.anew = testbed.anew, True
    try:
        yield
    finally:
        testbed.anew = before


@contextmanager
def _kept_until_compared(chosen: Sequence[tuple[str, str]], testbed: Testbed) -> Iterator[Path]:
    """Give a folder for the new results; after an interruption, the next call finds it again."""
    which = " ".join([testbed.identity(), *sorted(name for _, name in chosen)])
    place = BUILD / "verify" / hashlib.sha256(which.encode()).hexdigest()[:12]
    yield place
    shutil.rmtree(place)


def _compare(
    key: tuple[str, str], expected: Expected, table: pd.DataFrame, folder: Path, identity: str
) -> Verification:
    found = reading.digest(folder)
    if found == expected.result_sha256:
        return Verification(*key, SAME, f"same bits ({found[:12]})")
    if expected.image_digest == identity:
        sentence = f"DIFFERENT bits on the same image: {found[:12]}, expected "
        return Verification(*key, DIFFERENT, sentence + expected.result_sha256[:12])
    other = differences_of_images(expected.provenance, reading.read(folder).provenance.as_given())
    sentence = (
        f"bits differ, as they may: stored with image {expected.image_digest[:12]}, this one is "
        f"{identity[:12]}; what differs is {other}. "
        + differences_of_rows(expected.rows, table[table["trial"] == key[1]])
    )
    return Verification(*key, ANOTHER_IMAGE, sentence)


def _compare_verdicts(name: str, stored: pd.DataFrame, fresh: pd.DataFrame) -> Verification:
    study = studies.get(name)
    before, after = (
        {(one.id, one.where): one.verdict for one in study.judge(rows)}
        for rows in (table.sort_values(study.ORDER, ignore_index=True) for table in (stored, fresh))
    )
    changed = [
        f"{claim} ({before.get((claim, where))}, now {after.get((claim, where))})"
        for claim, where in sorted(before.keys() | after.keys())
        if before.get((claim, where)) != after.get((claim, where))
    ]
    if not changed:
        return Verification(name, None, SAME, f"all {len(before)} verdicts are the same")
    some = "; ".join(changed[:10]) + ("; ..." if len(changed) > 10 else "")
    sentence = f"{len(changed)} of {len(before)} verdicts DIFFER: {some}"
    return Verification(name, None, DIFFERENT, sentence)


def outcome(found: list[Verification]) -> str:
    """Return one answer for all: where only the image differs, the verdicts decide."""
    answers = {one.answer for one in found}
    if DIFFERENT in answers:
        return DIFFERENT
    undecided = {one.study for one in found if one.answer == ANOTHER_IMAGE}
    decided = {one.study for one in found if one.trial is None}
    return ANOTHER_IMAGE if undecided - decided else SAME


def differences_of_images(stored: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Say which parts of two images differ."""
    parts = []
    if stored.get("agent_digest") != here.get("agent_digest"):
        parts.append("the agent (lib/elevatorlab/agent)")
    for key, name in (("kernel", "the kernel"), ("qemu", "QEMU")):
        if stored.get(key) != here.get(key):
            parts.append(f"{name} ({stored.get(key)}, now {here.get(key)})")
    before, after = stored.get("packages", {}), here.get("packages", {})
    changed = [
        name
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name) and not name.startswith("linux-image")
    ]
    if changed:
        some = ", ".join(changed[:NAMED]) + (", ..." if len(changed) > NAMED else "")
        parts.append(f"{len(changed)} Debian packages ({some})")
    return ", ".join(parts) or "the recipe (environments/), or QEMU's options"


def differences_of_rows(stored: pd.DataFrame, fresh: pd.DataFrame) -> str:
    """Say in a sentence how much two tables of one trial differ."""
    if len(stored) != len(fresh):
        return f"Stored: {len(stored)} rows; now: {len(fresh)}."
    same, parts = 0, []
    for column in [name for name in stored if name not in _NOT_MEASURED]:
        before, after = (rows[column].reset_index(drop=True) for rows in (stored, fresh))
        both_missing = before.isna() & after.isna()
        if ((before == after) | both_missing).all():
            same += 1
        elif pd.api.types.is_numeric_dtype(before) and pd.api.types.is_numeric_dtype(after):
            relative = ((after - before).abs() / before.abs())[before != 0].max()
            parts.append(f"{column} by up to {relative:.2%}")
        else:
            parts.append(f"{column} ({before.iloc[0]!r}, now {after.iloc[0]!r})")
    if not parts:
        return f"Its {len(stored)} rows of the table are equal."
    return f"In its {len(stored)} rows {same} columns are equal; these differ: {', '.join(parts)}."
