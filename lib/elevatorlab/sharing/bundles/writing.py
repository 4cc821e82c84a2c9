"""Make a bundle from a folder of results."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ... import __version__, scratch
from ...errors import ElevatorLabError
from ...paths import DATA, ENVIRONMENTS, PROJECT
from ...results import reading, scheduler_sources
from ...running import provenance
from ...running.provenance import Origin
from ...showing.report_pages import template_environment
from ...trial.required_plugins import Plugin, installed
from .manifest import FORMAT, NAME, RESULTS, Manifest, entry_of

if TYPE_CHECKING:
    from rocrate.model.contextentity import ContextEntity
    from rocrate.model.dataset import Dataset
    from rocrate.rocrate import ROCrate

#: What goes into a bundle in addition to results and report: source and description, by name.
BESIDE = {
    "environment/requirements.lock": (PROJECT / "requirements.lock", "Python packages, by hash"),
    "environment/packages.txt": (ENVIRONMENTS / "packages.txt", "Debian packages of trials"),
    "environment/deterministic": (ENVIRONMENTS / "deterministic", "how the image is built"),
    "data/claims": (DATA / "claims", "how each published number is judged"),
    "data/published": (DATA / "published", "the published numbers, with their sources"),
    "CITATION.cff": (PROJECT / "CITATION.cff", "how to cite Elevator Lab"),
    "LICENSE": (PROJECT / "LICENSE", "terms of use"),
}

#: The commands that make a bundle's results again.
WORKFLOW = "workflow.sh"

#: Profiles that a bundle conforms to: Workflow Run RO-Crate, and the profiles that this one needs.
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
SHELL = "https://pubs.opengroup.org/onlinepubs/9799919799/utilities/sh.html"


def write(results: Path, out: Path, make_report: Callable[[Path, Path], object]) -> Manifest:
    """Write a bundle.

    `results`: Folder of results; the bundle gets its finished trials. `out`: The file to write. It
    appears under this name only when it is complete. `make_report`: Called with `results` and the
    folder to write the report to.
    """
    out = Path(out)
    origins = provenance.of_results(results)
    if not origins:
        raise ElevatorLabError(f"results folder {results}: expected finished trials; found none")
    if out.is_dir():
        raise ElevatorLabError(f"bundle: expected the name of a file; found the folder {out}")
    if not out.parent.is_dir():
        raise ElevatorLabError(f"bundle: expected the folder {out.parent} to exist; it does not")
    with scratch.folder() as place:
        crate = Path(place)
        make_report(results, crate / "report")
        trials = _copy_results(results, crate / RESULTS)
        for name, (source, _) in BESIDE.items():
            _copy(source, crate / name)
        plugins = _plugins(trials.values())
        _describe(crate, origins, trials, plugins)
        files = {
            file.relative_to(crate).as_posix(): entry_of(file)
            for file in sorted(crate.rglob("*"))
            if file.is_file()
        }
        manifest = Manifest(format=FORMAT, package=__version__, files=files, plugins=plugins)
        (crate / NAME).write_text(manifest.model_dump_json(indent=1) + "\n")
        _zip(crate, out)
    return manifest


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(source, target)


def _copy_results(results: Path, target: Path) -> dict[str, Mapping[str, Any]]:
    """Copy finished trials and the sources of their schedulers; return the trials by place."""
    found = {}
    for stored in reading.results_in(results):
        folder = stored.folder
        place = target / folder.parent.name
        _copy(folder, place / folder.name)
        if not (place / "identity").exists():
            _copy(folder.parent / "identity", place / "identity")
        found[f"{RESULTS}/{folder.parent.name}/{folder.name}"] = stored.trial
    if (sources := results / scheduler_sources.FOLDER).is_dir():
        _copy(sources, target / scheduler_sources.FOLDER)
    return found


def _plugins(trials: Iterable[Mapping[str, Any]]) -> tuple[Plugin, ...]:
    """Return the plug-ins that a stranger needs: those that trials use, and the trials' studies."""
    found: dict[Plugin, None] = {}
    for trial in trials:
        if study := installed("study", trial["study"]):
            found[study] = None
        found |= dict.fromkeys(Plugin.model_validate(one) for one in trial.get("plugins", ()))
    return tuple(sorted(found, key=lambda one: (one.kind, one.name, one.digest)))


def _describe(
    folder: Path,
    origins: Sequence[Origin],
    trials: Mapping[str, Mapping[str, Any]],
    plugins: Sequence[Plugin],
) -> None:
    """Write the crate's metadata, and its page for people."""
    from rocrate.model.preview import Preview  # who reads a bundle need not wait for these
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")  # the version that the profiles need
    crate.name = "Elevator Lab: results that can be verified"
    crate.description = (
        "Trials of I/O schedulers with their results, where each was made, the environment, and "
        "the report. `elevatorlab verify BUNDLE` checks every file and runs a sample again."
    )
    crate.license = "BSD-3-Clause"
    page = folder / "page.html"
    page.write_text(_page(origins, plugins), encoding="utf-8")
    crate.add(Preview(crate, page))
    for name, (_, words) in BESIDE.items():
        add = crate.add_dataset if (folder / name).is_dir() else _file_of(crate, folder)
        add(dest_path=name, properties={"name": words})
    crate.add_dataset(dest_path="report", properties={"name": "report: open report/index.html"})
    # The manifest is written last, because it lists the hash of every other file. So no source yet.
    crate.add_jsonld({"@id": NAME, "@type": "File", "name": "size and SHA-256 of every file"})
    crate.root_dataset.append_to("hasPart", {"@id": NAME})
    datasets = {
        Path(place).name: crate.add_dataset(
            dest_path=place, properties={"name": provenance.words(trial), "identifier": place[-20:]}
        )
        for place, trial in trials.items()
    }
    _add_workflow(crate, folder, origins, list(datasets.values()))
    programs = _programs(crate, origins)
    for origin in origins:
        program = programs[origin.testbed, origin.image_digest]
        _add_origin(crate, origin, program, [datasets[name] for name in origin.trials])
    crate.write(folder)
    page.unlink()


def _add_workflow(
    crate: ROCrate, folder: Path, origins: Sequence[Origin], datasets: list[Dataset]
) -> None:
    """Write the commands that made the results, and say which profiles the crate conforms to."""
    (folder / WORKFLOW).write_text(_commands(origins), encoding="utf-8")
    language = {"@id": SHELL, "@type": "ComputerLanguage", "name": "POSIX shell", "url": SHELL}
    workflow = crate.add_file(
        folder / WORKFLOW,
        dest_path=WORKFLOW,
        properties={
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": "the commands that make these results again",
            "programmingLanguage": crate.add_jsonld(language),
        },
    )
    crate.mainEntity = workflow
    crate.add_action(
        workflow, identifier="#run", result=datasets, properties={"name": "all runs of this bundle"}
    )
    for address, name in PROFILES.items():
        version = address.rpartition("/")[2]
        profile = {"@id": address, "@type": "CreativeWork", "name": name, "version": version}
        crate.root_dataset.append_to("conformsTo", crate.add_jsonld(profile))


def _commands(origins: Sequence[Origin]) -> str:
    """Return the shell script that makes the results of all origins again, and their report."""
    lines = [
        "#!/bin/sh",
        f"# Elevator Lab {__version__}; environment/ says what it needs.",
        "set -e",
    ]
    for one in origins:
        nothing = f"# {one.study}, {one.testbed}, {one.preset}: no preset alone makes these trials"
        lines.append(f"{one.command} --results {RESULTS}" if one.command else nothing)
    return "\n".join([*lines, f"elevatorlab report --results {RESULTS}", ""])


def _file_of(crate: ROCrate, folder: Path) -> Callable[..., Any]:
    return lambda dest_path, properties: crate.add_file(
        folder / dest_path, dest_path=dest_path, properties=properties
    )


def _add_origin(
    crate: ROCrate, origin: Origin, program: ContextEntity, datasets: list[Dataset]
) -> None:
    """Say which program made these results, and on which machine (a CreateAction)."""
    crate.add_action(
        program,
        identifier=f"#{origin.study}-{origin.anchor}",
        result=datasets,
        properties={
            "name": f"{origin.study}: {origin.testbed}, {origin.preset}",
            "description": "; ".join(f"{key}: {value}" for key, value in origin.facts.items()),
        },
    )


def _programs(crate: ROCrate, origins: Sequence[Origin]) -> dict[tuple[str, str], ContextEntity]:
    """Add each program once, even if it ran several studies; by testbed and image digest."""
    found = dict.fromkeys((one.testbed, one.image_digest) for one in origins)
    return {
        (testbed, digest): crate.add_jsonld(
            {
                "@id": quote(f"#image-{testbed}-{digest[:20]}", safe="#"),
                "@type": "SoftwareApplication",
                "name": f"Elevator Lab {__version__}, {testbed}",
                "version": digest,
            }
        )
        for testbed, digest in found
    }


def _page(origins: Sequence[Origin], plugins: Sequence[Plugin]) -> str:
    pages = {"report/index.html": "Report", "report/claims.html": "Claims"}
    pages |= {"ro-crate-metadata.json": "Metadata", NAME: "Manifest"}
    beside = {name: words for name, (_, words) in BESIDE.items()}
    template = template_environment(pages).get_template("bundle.html")
    return template.render(
        pages=pages,
        here="",
        origins=origins,
        plugins=plugins,
        beside=beside,
        version=__version__,
    )


def _zip(folder: Path, out: Path) -> None:
    """Zip a folder with sorted names, and without times and owners.

    `out` gets its name only when the file is complete.
    """
    part = out.with_name(out.name + ".part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                about = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                about.compress_type = zipfile.ZIP_DEFLATED
                about.external_attr = 0o100644 << 16
                with path.open("rb") as content, file.open(about, "w") as entry:
                    shutil.copyfileobj(content, entry)
        os.replace(part, out)
    except OSError as problem:
        raise ElevatorLabError(
            f"bundle: {out} cannot be written ({problem.strerror}). Name another with --out"
        ) from None
    finally:
        part.unlink(missing_ok=True)
