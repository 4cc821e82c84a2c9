"""The command that prints the JSON Schemas of the files that this package reads and writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ElevatorLabError
from ..paths import make_folder
from .base import app

Schema = Mapping[str, Any]


def _result() -> Schema:
    """Return the schema of a result, with the measurements of each kind of workload."""
    from pydantic.json_schema import models_json_schema

    from ..plugins.trial_parts import WORKLOADS
    from ..results.models import Result

    kinds = {kind: model.measurements for kind, model in WORKLOADS.items() if model.measurements}
    several = [(record, "validation") for record in (Result, *dict.fromkeys(kinds.values()))]
    refs, shared = models_json_schema(several)  # type: ignore[arg-type]
    about = {kind: refs[record, "validation"] for kind, record in kinds.items()}
    definitions = shared["$defs"]
    definitions["figures by kind of workload"] = {"type": "object", "properties": about}
    return {**definitions.pop("Result"), "$defs": definitions}


#: By name: the module and class of what the schema describes, and a title.
SCHEMAS = {
    "trial": ("trial", "Trial", "trial.json: what is run"),
    "result": ("results.models", "Result", "result.json: what was measured"),
    "provenance": ("results.models", "Provenance", "provenance.json: where a result comes from"),
    "sample": ("results.models", "Sample", "a row of samples.csv"),
    "claims": (
        *("judging.families", "ClaimsFile"),
        "data/claims/STUDY.yaml: how published numbers are judged",
    ),
    "verdict": ("judging.claim", "Claim", "a claim with its verdict, as claims --json prints it"),
    "manifest": ("sharing.bundles.manifest", "Manifest", "manifest.json of a bundle"),
}


def schema(name: str) -> dict[str, Any]:
    """Return a JSON Schema by its name."""
    if name not in SCHEMAS:
        raise ElevatorLabError(f"schema: expected one of {', '.join(SCHEMAS)}; found {name!r}")
    module, record, title = SCHEMAS[name]
    # Each needs much that other commands do not, so it is imported when it is asked for.
    model = getattr(import_module(f"elevatorlab.{module}"), record)
    content = _result() if name == "result" else model.model_json_schema()
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **content, "title": title}


@app.command("schemas")
def schemas_command(
    name: Annotated[
        str | None, typer.Argument(help=f"one of {', '.join(SCHEMAS)}; by default all")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="write them to this folder instead, a file for each")
    ] = None,
) -> None:
    """Print the JSON Schemas of trials, results, claims and bundles."""
    wanted = {one: schema(one) for one in ([name] if name else SCHEMAS)}
    if out is None:
        print(json.dumps(wanted[name] if name else wanted, indent=1))
        return
    make_folder(out, "schemas", "Name another folder with --out")
    for one, content in wanted.items():
        file = out / f"{one}.schema.json"
        file.write_text(json.dumps(content, indent=1) + "\n")
        print(file)
