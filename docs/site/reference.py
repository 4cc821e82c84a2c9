"""The reference: commands, files and library, written from the program itself."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

import elevatorlab
from elevatorlab.cli import commands
from elevatorlab.cli.schemas import SCHEMAS, schema


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
    for name, (*_, title) in SCHEMAS.items():
        content = schema(name)
        parts += ["", f"## {name}", "", f"This is {title}.", ""]
        parts += ["| field | type | meaning |", "| --- | --- | --- |"]
        for field, about in content.get("properties", {}).items():
            words = " ".join(about.get("description", "").split()).replace("|", "\\|")
            parts.append(f"| `{field}` | {_type(about)} | {words} |")
        parts += ["", "<details><summary>JSON Schema</summary>", "", "```json"]
        parts += [json.dumps(content, indent=1), "```", "", "</details>"]
    page.write_text("\n".join(parts) + "\n")


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


def write_library(page: Path) -> None:
    """Write a page of the public interface; Sphinx fills it from the docstrings."""
    words = ["# Library", "", "Each of these is imported from `elevatorlab` itself.", ""]
    for name in elevatorlab.__all__:
        kind = "autoclass" if inspect.isclass(getattr(elevatorlab, name)) else "autofunction"
        words += [f"## {name}", "", "```{eval-rst}", f".. {kind}:: elevatorlab.{name}"]
        words += ["   :members:"] * (kind == "autoclass")
        # Of a named tuple's fields the docstring says more than Python, which calls them aliases.
        if fields := getattr(getattr(elevatorlab, name), "_fields", ()):
            words.append(f"   :exclude-members: {', '.join(fields)}")
        words += ["```", ""]
    page.write_text("\n".join(words))


def write(folder: Path) -> None:
    """Write all pages of the reference."""
    folder.mkdir(parents=True, exist_ok=True)
    write_commands(folder / "commands.md")
    write_schemas(folder / "schemas.md")
    write_library(folder / "library.md")
