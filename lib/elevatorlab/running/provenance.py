"""Where results come from: the origins of a table or a figure, and how to make them again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..extras import MissingExtra
from ..plugins import studies
from ..plugins.studies import Study
from ..plugins.testbeds import ADDRESSES, DEFAULT, TESTBEDS
from ..results import reading, references
from ..results.references import ResultSource
from ..trial import Trial
from . import expansion


class Origin(NamedTuple):
    """The trials of a study that one machine ran with one preset."""

    study: str
    testbed: str
    preset: str
    #: By hash: a description that tells the trial from the others.
    trials: Mapping[str, str]
    #: Facts for the reader about the trials and their machine, by label.
    facts: Mapping[str, object]
    #: Digest of the deterministic image, or of a real machine's environment.
    image_digest: str
    #: The command that runs these trials again; "" if there is no such command.
    command: str

    @property
    def anchor(self) -> str:
        """The id of the origin's place on an HTML page."""
        name = f"run-{self.testbed}-{self.preset}-{self.facts.get('machine', '')}"
        return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-")


def of(sources: Collection[ResultSource]) -> list[Origin]:
    """Return the origins of the results of studies: trials in a folder, or stored references."""
    folders = dict.fromkeys(one.folder for one in sources if one.folder)
    origins = [origin for folder in folders for origin in of_results(folder)]
    for source in sources:
        if source.preset and references.digests(source.study, source.preset):
            origins.append(_origin_of_reference(studies.get(source.study), source.preset))
    return origins


def of_results(results: str | Path) -> list[Origin]:
    """Return the origins of the trials in a folder of results, in a fixed order."""
    found: dict[tuple[str, str, str, str], list[tuple[str, Any, Any]]] = {}
    for one in reading.results_in(results):
        trial, provenance = one.trial, one.provenance.as_given()
        place = provenance["testbed"], provenance["machine"], trial["study"], trial["preset"]
        found.setdefault(place, []).append((one.folder.name, trial, provenance))
    origins = []
    for (testbed, _, study, preset), several in sorted(found.items()):
        trials = {name: words(trial) for name, trial, _ in several}
        wall_s = round(sum(provenance["wall_s"] for _, _, provenance in several), 1)
        repetitions = max(trial["repetition"] for _, trial, _ in several)
        first, *others = (provenance for *_, provenance in several)
        shared = {key: first[key] for key in first if all(o.get(key) == first[key] for o in others)}
        command = _command(study, testbed, preset, set(trials), repetitions)
        shared |= {"image_digest": first["image_digest"]}
        origin = _origin(study, testbed, preset, trials, shared, command)
        origins.append(origin._replace(facts={**origin.facts, "wall time_s": wall_s}))
    return origins


def _origin_of_reference(study: Study, preset: str) -> Origin:
    stored = references.provenance(preset)
    known = references.digests(study.NAME, preset)
    made = {trial.hash: trial.model_dump(mode="json") for trial in preset_trials(study, preset)}
    trials = {name: words(made[name]) if name in made else "" for name in sorted(known)}
    provenance = {**stored, "image_digest": next(iter(known.values()))[0]}
    command = _line(study.NAME, preset, stored["testbed"]) if known.keys() <= made.keys() else ""
    return _origin(study.NAME, stored["testbed"], preset, trials, provenance, command)


def preset_trials(
    study: Study,
    preset: str,
    testbed: str = DEFAULT,
    overrides: Mapping[str, Any] | None = None,
) -> list[Trial]:
    """Return the trials that a preset stands for on a testbed."""
    defaults = TESTBEDS.get(testbed).defaults
    return study.trials(expansion.parameters(study, preset, overrides, defaults))


def _origin(
    study: str,
    testbed: str,
    preset: str,
    trials: Mapping[str, str],
    provenance: Mapping[str, Any],
    command: str,
) -> Origin:
    facts = {"study": study, "testbed": testbed, "preset": preset, "trials": len(trials)}
    facts |= _facts(provenance)
    return Origin(study, testbed, preset, trials, facts, provenance["image_digest"], command)


def words(trial: Mapping[str, Any]) -> str:
    """Return the words that tell a trial from the others: scheduler, labels and seed."""
    return ", ".join(
        [trial["scheduler"]["name"], *trial["labels"].values(), f"seed {trial['seed']}"]
    )


def _facts(one: Mapping[str, Any]) -> dict[str, str]:
    """Return facts for the reader about the machine on which trials ran, on any testbed.

    `one`: The provenance that all the trials share.
    """
    host = one.get("host")
    kernel = one.get("kernel")
    simulated = one.get("qemu") is not None
    found = {
        "machine": one.get("machine"),
        "accelerator": one.get("accelerator"),
        "kernel": kernel and (f"Debian {kernel}" if simulated else kernel),
        "host": host and f"{host['cpu']}, {host['cores']} cores, Linux {host['kernel']}",
        "disks": ", ".join(host.get("disks", ())) if host else None,
        "QEMU": one.get("qemu"),
        "image digest" if simulated else "environment digest": one["image_digest"],
        "agent digest": one.get("agent_digest"),
        "package version": one.get("package"),
        "package of the testbed": _package(one.get("testbed_plugin")),
    }
    return {name: value for name, value in found.items() if value}


def _package(plugin: Mapping[str, Any] | None) -> str | None:
    """Name the package that brings a plug-in; None if there is no plug-in, or no package."""
    return f"{plugin['package']} {plugin['version']}" if plugin and plugin["package"] else None


def _command(
    study: str, testbed: str, preset: str, hashes: set[str], repetitions: int | None
) -> str:
    """Return the command whose trials include all of `hashes`; "" if there is no such command.

    Two commands are tried, the shorter one first: the preset alone, and the preset with so many
    repetitions.
    """
    if study not in studies.STUDIES or not _there(testbed):
        return ""
    chosen = studies.get(study)
    repeated = repetitions and "repetitions" in chosen.Parameters.model_fields
    for options in ({}, {"repetitions": repetitions} if repeated else {}):
        made = {trial.hash for trial in preset_trials(chosen, preset, testbed, options)}
        if hashes <= made:
            return _line(study, preset, testbed) + (
                f" -p repetitions={repetitions}" if options else ""
            )
    return ""


def _line(study: str, preset: str, testbed: str) -> str:
    place = (
        "" if testbed == DEFAULT else f" --testbed {shlex.quote(ADDRESSES.get(testbed, testbed))}"
    )
    return f"elevatorlab run {study} --preset {preset}{place}"


def _there(testbed: str) -> bool:
    """Tell whether a testbed is installed; results of other testbeds can be read, too."""
    try:
        return testbed in TESTBEDS and bool(TESTBEDS.get(testbed))
    except MissingExtra:
        return False
