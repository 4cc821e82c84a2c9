"""Read JSON files that people write; errors name the line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ..errors import ElevatorLabError


class _Twice(ValueError):
    """A key stands twice in one object, so it is unclear which value is meant."""


def read(file: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(_text(file), object_pairs_hook=_object)
    except OSError as problem:
        raise ElevatorLabError(f"{file}: expected a file; {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ElevatorLabError(f"{file}: expected JSON; found bytes that are no text") from None
    except json.JSONDecodeError as problem:
        raise ElevatorLabError(f"{file}:{problem.lineno}: expected JSON; {problem.msg}") from None
    except RecursionError:
        raise ElevatorLabError(
            f"{file}:1: expected JSON; found more brackets within brackets than can be read"
        ) from None
    except _Twice as problem:
        key = str(problem)
        line = _line_of_second(_nodes(file), key)
        raise ElevatorLabError(f"{file}:{line}: expected {key} once; found it twice") from None
    except ValueError:
        # Python reads no whole number of more than 4300 digits.
        raise ElevatorLabError(f"{file}: expected JSON; found a number that is too long") from None


def line_of(file: Path, place: Sequence[str | int]) -> int:
    """Return the line number, counted from 1, of a value in a JSON file.

    `place`: The keys and positions that lead to the value. If one of them is missing, the line of
    the last value found is returned.
    """
    node = _nodes(file)
    for step in place:
        below = _below(node, step)
        if below is None:
            break
        node = below
    return _line(node)


def _text(file: Path) -> str:
    """Return the text of a file, without the byte-order mark that some editors begin it with."""
    return file.read_text(encoding="utf-8-sig")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise _Twice(key)
        content[key] = value
    return content


def _nodes(file: Path) -> Any:
    """Return the YAML nodes of a JSON file, which know their lines; None if it cannot be parsed."""
    try:
        # JSON without tabs is YAML, and a parser of YAML knows the lines.
        return yaml.compose(_text(file).expandtabs(), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None  # some characters are allowed in JSON only


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1 if node is not None else 1


def _line_of_second(node: Any, key: str) -> int:
    """Return the line at which a key stands for the second time in one object."""
    waiting = [node]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, yaml.MappingNode):
            found = [name for name, _ in one.value if name.value == key]
            if len(found) > 1:
                return _line(found[1])
            waiting += [value for _, value in one.value]
        elif isinstance(one, yaml.SequenceNode):
            waiting += one.value
    return 1


def _below(node: Any, step: str | int) -> Any:
    if isinstance(node, yaml.MappingNode):
        found = [value for key, value in node.value if key.value == step]
        return found[0] if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    return None
