"""The reference: commands, files and library, written from the program itself."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from elevatorlab.cli import commands
from elevatorlab.cli.schemas import SCHEMAS, schema
from elevatorlab.paths import PACKAGE

#: Rooms whose modules are the reference of the library, top first.
ROOMS = (
    *("notebook", "lectures", "studies", "elevators", "drives", "sharing", "showing", "running"),
    *("judging", "testbeds", "results", "trial", "agent", "plugins", "analysis"),
)


def write_commands(page: Path) -> None:
    """Write what each command takes, from the program itself."""
    parts = ["# Commands", "", "Each command also explains itself with `--help`.", ""]
    parts += _of_command(get_command(commands.app), "elevatorlab", 2)
    page.write_text("\n".join(parts) + "\n")


def _of_command(command: Any, called: str, level: int) -> Iterator[str]:
    for name, one in sorted(getattr(command, "commands", {}).items()):
        if one.hidden:
            continue
        yield f"{'#' * level} `{called} {name}`"
        yield ""
        yield _in_markdown(inspect.cleandoc(one.help or ""))
        yield ""
        rows = [_of_parameter(parameter) for parameter in one.params if parameter.name != "help"]
        if rows:
            yield from ("| argument | meaning | default |", "| --- | --- | --- |", *rows, "")
        yield from _of_command(one, f"{called} {name}", level + 1)


def _of_parameter(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in parameter.opts) or f"`{parameter.name}`"
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    default = parameter.default
    shown = "" if default in (None, False, ()) or callable(default) else f"`{default}`"
    words = _in_markdown(getattr(parameter, "help", "") or "").replace("|", "\\|")
    return f"| {names} | {words} | {shown} |"


def _in_markdown(words: str) -> str:
    return words.replace("\b", "").replace("<", "\\<")


def write_schemas(page: Path) -> None:
    """Write the fields of each kind of file, and the JSON Schema behind them."""
    parts = [
        *("# Files and their schemas", ""),
        "`elevatorlab schemas NAME` prints each of these JSON Schemas. "
        "[The data dictionary](../data-dictionary.md) has the columns of the tables.",
    ]
    for name, (_, title) in SCHEMAS.items():
        content = schema(name)
        parts += ["", f"## {name}", "", f"This is {title}.", ""]
        parts += ["| field | type | meaning |", "| --- | --- | --- |"]
        for field, about in content.get("properties", {}).items():
            words = " ".join(about.get("description", "").split()).replace("|", "\\|")
            parts.append(f"| `{field}` | {_type(about)} | {words} |")
        parts += ["", "<details><summary>JSON Schema</summary>", "", "```json"]
        parts += [json.dumps(content, indent=1), "```", "", "</details>"]
    page.write_text("\n".join(parts) + "\n")


def _runs(file: Path) -> bool:
    return file.name == "__main__.py" or "in_guest" in file.parts


def _type(about: dict[str, Any]) -> str:
    """Return the type of a field as words: "a whole number or null"."""
    several = about.get("anyOf") or about.get("oneOf")
    if several:
        return " or ".join(dict.fromkeys(map(_type, several)))
    if "$ref" in about:
        return f"`{about['$ref'].rpartition('/')[2]}`"
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    return str(about.get("type", "any"))


def write_library(folder: Path) -> None:
    """Write a page for each room of the package; Sphinx fills it from the docstrings."""
    folder.mkdir(parents=True, exist_ok=True)
    for room in ROOMS:
        # What runs in a guest does so when it is imported.
        files = [one for one in sorted((PACKAGE / room).rglob("*.py")) if not _runs(one)]
        if room == "studies":  # what a study is made of is told once, by its package
            files = sorted((PACKAGE / room).glob("*/__init__.py"))
        words = [f"# elevatorlab.{room}", ""]
        for file in files:
            parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
            module = ".".join(part for part in parts if part != "__init__")
            words += [
                f"## {module}",
                "",
                "```{eval-rst}",
                f".. automodule:: {module}",
                "   :members:",
            ]
            words += ["   :ignore-module-all:", "```", ""]
        (folder / f"{room}.md").write_text("\n".join(words))
    listed = ["# Library", "", "```{toctree}", *ROOMS, "```", ""]
    (folder / "index.md").write_text("\n".join(listed))


def write(folder: Path) -> None:
    """Write all pages of the reference."""
    (folder / "library").mkdir(parents=True, exist_ok=True)
    write_commands(folder / "commands.md")
    write_schemas(folder / "schemas.md")
    write_library(folder / "library")
