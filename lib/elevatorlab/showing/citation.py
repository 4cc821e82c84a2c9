"""The files by which archives and search engines know this software, from CITATION.cff.

Each archive asks for different fields: CodeMeta (codemeta.json), Zenodo (.zenodo.json) and Trovi,
Chameleon's archive of experiments (trovi.json). All that may change from version to version comes
from CITATION.cff and pyproject.toml.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from ..errors import ElevatorLabError
from ..paths import PROJECT

#: Trovi's limits for title, short description and long description, in characters.
TROVI_TITLE, TROVI_SHORT, TROVI_LONG = 70, 70, 5000

Fields = dict[str, Any]


def citation() -> Fields:
    """Return the fields of CITATION.cff."""
    fields: Fields = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    return fields


def _project() -> Fields:
    fields: Fields = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return fields


def _authors(cited: Fields) -> list[str]:
    """Return the authors as archives sort them: family name first, or an entity's name."""
    return [
        one.get("name") or f"{one['family-names']}, {one['given-names']}"
        for one in cited["authors"]
    ]


def codemeta() -> Fields:
    """Return the fields of codemeta.json (CodeMeta 3.0)."""
    cited, project = citation(), _project()
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": cited["title"],
        "description": in_one_line(cited["abstract"]),
        "version": cited["version"],
        "license": f"https://spdx.org/licenses/{cited['license']}",
        "author": [{"@type": "Organization", "name": name} for name in _authors(cited)],
        "keywords": cited["keywords"],
        "programmingLanguage": {"@type": "ComputerLanguage", "name": "Python"},
        "runtimePlatform": f"Python {project['requires-python']}",
        "operatingSystem": "Linux",
        "processorRequirements": "x86-64",
        "memoryRequirements": "2 GiB",
        "storageRequirements": "4 GiB",
        "softwareRequirements": sorted(project["dependencies"]),
        "developmentStatus": "https://www.repostatus.org/#active",
        "readme": "README.md",
    }


def zenodo() -> Fields:
    """Return the fields of .zenodo.json, which Zenodo reads when it archives a release."""
    cited = citation()
    return {
        "title": cited["title"],
        "upload_type": "software",
        "description": f"<p>{in_one_line(cited['abstract'])}</p>",
        "creators": [{"name": name} for name in _authors(cited)],
        "license": cited["license"],
        "access_right": "open",
        "keywords": cited["keywords"],
        "version": cited["version"],
        "language": "eng",
    }


def trovi() -> Fields:
    """Return the fields of trovi.json, which Trovi's interface takes for a new artifact.

    Two things are left to whoever uploads: the tags, since Trovi has a fixed set of them, and the
    address of a version, since Trovi assigns it when the files are uploaded.

    Raises
    ------
    ElevatorLabError
        When a text is longer than Trovi allows.
    """
    cited = citation()
    fields = {
        "title": cited["title"],
        "short_description": "Published I/O scheduler studies, rerun to the bit and judged",
        "long_description": in_one_line(cited["abstract"]),
        "authors": [{"full_name": name} for name in _authors(cited)],
        "tags": [],
        "visibility": "public",
        "linked_projects": [],
        "reproducibility": {"enable_requests": False, "access_hours": None},
    }
    limits = {
        "title": TROVI_TITLE,
        "short_description": TROVI_SHORT,
        "long_description": TROVI_LONG,
    }
    for name, limit in limits.items():
        if len(fields[name]) > limit:
            raise ElevatorLabError(
                f"trovi.json: expected at most {limit} characters of {name}; found "
                f"{len(fields[name])}. Shorten it in CITATION.cff"
            )
    return fields


def in_one_line(words: str) -> str:
    """Join a text of several lines into one line."""
    return " ".join(words.split())


#: By the name of a file: the function that returns its fields.
FILES: dict[str, Callable[[], Fields]] = {
    "codemeta.json": codemeta,
    ".zenodo.json": zenodo,
    "trovi.json": trovi,
}


def text(name: str) -> str:
    """Return the text that a file of `FILES` must have."""
    return json.dumps(FILES[name](), indent=2, ensure_ascii=False) + "\n"


def write() -> list[Path]:
    """Write all files of `FILES` from CITATION.cff."""
    files = [PROJECT / name for name in FILES]
    for file in files:
        file.write_text(text(file.name))
    return files
