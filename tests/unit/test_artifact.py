"""What a reviewer reads: the table fits the studies, and the papers are there."""

import json
import re
import tomllib

import yaml

from elevatorlab import __version__, studies
from elevatorlab.paths import DATA, PROJECT
from elevatorlab.plugins.studies import ours
from elevatorlab.results import costs, references
from elevatorlab.running.provenance import preset_trials
from elevatorlab.showing import artifact
from helpers import cli
from synthetic import write_results

PAGE = artifact.PAGE.read_text()


def test_the_table_has_a_row_for_each_study():
    assert artifact.table() in PAGE, "bring it up to date: elevatorlab artifact"
    numbers = re.findall(r"^\| C(\d+) \|", PAGE, re.M)
    assert numbers == [str(1 + n) for n in range(artifact.GENERAL + len(studies.STUDIES))]


def test_costs_come_from_results(tmp_path, monkeypatch):
    """Half of the quick trials' wall time, on two cores; and all bytes of their folders."""
    monkeypatch.setattr(references, "FOLDER", tmp_path)
    assert artifact.NOT_MEASURED in artifact.table()
    stored = write_results(tmp_path / "results", arms=("host",), preset="quick")
    write_results(tmp_path / "results", arms=("container",))
    study = studies.get("vm_vs_container")
    references.write(tmp_path / "results", study, "quick", stored)
    costs.write(tmp_path / "results", "quick", [study])
    rows = costs.file().read_text().splitlines()
    count = len(list((tmp_path / "results").glob("host-*/*/trial.json")))
    assert rows[1].startswith(f"vm_vs_container,{count},{count * 1.5},")
    monkeypatch.setattr(studies, "STUDIES", {"vm_vs_container": studies.get("vm_vs_container")})
    trials = len({trial.hash for trial in preset_trials(studies.get("vm_vs_container"), "quick")})
    assert re.search(
        rf"\| {trials} \| {round(count * 1.5 / 2 / 60)} \| \d+ MiB \|", artifact.table()
    )


def test_a_page_without_a_place_for_what_is_computed_is_refused(error_of, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    monkeypatch.setattr(artifact, "PARTS", ((page, "studies", artifact.table),))
    assert "expected the lines" in error_of(artifact.up_to_date, page)


def test_latex_is_refused_without_the_appendix():
    """Else the command would rewrite the pages, and print no LaTeX."""
    run = cli("artifact", "--latex")
    assert run.returncode == 2 and "expected with --appendix" in run.stderr


def test_the_citation_is_whole_and_of_this_package():
    """What the Citation File Format 1.2.0 requires, and what the package says of itself."""
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert all(
        {"name"} <= set(author) or "family-names" in author for author in citation["authors"]
    )
    assert str(citation["version"]) == project["version"] == __version__
    assert citation["license"] == project["license"]


def test_the_citation_names_the_works_as_their_claims_do():
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text())["references"]
    for study, work in zip(ours(), cited, strict=True):
        content = yaml.safe_load((DATA / "claims" / f"{study.NAME}.yaml").read_text())
        about = content["about"]
        assert (work["title"], work.get("url")) == (content["document"], about.get("link"))
        names = [" ".join([*one.values()]) for one in work["authors"]]
        assert ", ".join(names) == about.get("authors", about["venue"])
        when = work.get("date-published", "")
        assert str(work.get("year", when))[:4] == about.get("published", "")[-4:]


def test_the_works_are_the_same_as_bibtex_and_in_the_readme():
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text())["references"]
    entries = (PROJECT / "docs/works.bib").read_text().split("\n@")
    readme = artifact.README.read_text()
    for study, work, entry in zip(ours(), cited, entries, strict=True):
        assert f"{{{study.NAME}," in entry
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.M))
        assert re.sub("[{}]", "", fields["title"]) == work["title"]
        assert fields.get("url") == work.get("url")
        year = str(work.get("year", work.get("date-published", "")))[:4]
        assert fields.get("year", fields.get("date", ""))[:4] == year
        for one in work["authors"]:
            assert one.get("family-names", one.get("name")) in fields["author"]
        (row,) = (line for line in readme.splitlines() if f"`{study.NAME}` |" in line)
        assert work["title"] in row and work.get("url", "") in row and year in row


def test_archives_are_told_what_the_citation_says():
    """CodeMeta 3.0; Zenodo's metadata of a deposit; the body of Trovi's request for an artifact."""
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    names = [one["name"] for one in cited["authors"]]
    abstract = " ".join(cited["abstract"].split())
    codemeta, zenodo, trovi = (
        json.loads((PROJECT / name).read_text())
        for name in ("codemeta.json", ".zenodo.json", "trovi.json")
    )
    same = {"description": abstract, "keywords": cited["keywords"], "version": cited["version"]}
    assert codemeta == codemeta | same | {"name": cited["title"]}
    assert codemeta["license"] == f"https://spdx.org/licenses/{cited['license']}"
    assert [one["name"] for one in codemeta["author"]] == names
    assert codemeta["softwareRequirements"] == sorted(project["dependencies"])
    assert codemeta["runtimePlatform"] == f"Python {project['requires-python']}"
    assert zenodo == zenodo | same | {
        **{"title": cited["title"], "description": f"<p>{abstract}</p>"},
        **{"license": cited["license"], "creators": [{"name": name} for name in names]},
    }
    assert (zenodo["upload_type"], zenodo["access_right"]) == ("software", "open")
    assert (trovi["title"], trovi["long_description"]) == (cited["title"], abstract)
    assert [one["full_name"] for one in trovi["authors"]] == names
    # Trovi's limits.
    assert len(trovi["title"]) <= 70 and len(trovi["short_description"]) <= 70
    assert len(abstract) <= 5000 and trovi["visibility"] == "public"


def test_licences_are_the_ones_that_are_named():
    assert "Redistribution and use in source and binary forms" in (PROJECT / "LICENSE").read_text()
    kernel = (PROJECT / "environments/kernel/COPYING").read_text()
    assert "GNU GENERAL PUBLIC LICENSE" in kernel and "Version 2, June 1991" in kernel


def test_binder_has_the_locked_environment():
    folder = PROJECT / ".binder"
    lines = (folder / "requirements.txt").read_text().splitlines()
    (file,) = [line.removeprefix("-r ") for line in lines if not line.startswith("#")]
    assert (folder / file).resolve() == PROJECT / "requirements.lock"
    assert (folder / "postBuild").stat().st_mode & 0o111
