"""JSON that people write: what is wrong with it has a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from .errors import ElevatorLabError


def read(file: Path) -> Any:
    """Return the content of a file.

    Raises
    ------
    ElevatorLabError
        When there is no such file, or it has no JSON; the sentence says where.
    """
    try:
        return json.loads(file.read_text())
    except OSError as problem:
        raise ElevatorLabError(f"{file}: expected a file; {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ElevatorLabError(f"{file}: expected JSON; found bytes that are no text") from None
    except json.JSONDecodeError as problem:
        raise ElevatorLabError(f"{file}:{problem.lineno}: expected JSON; {problem.msg}") from None


def line_of(file: Path, place: Sequence[str | int]) -> int:
    """Return the line, from 1, of a value in a file that has JSON.

    Parameters
    ----------
    file : Path
    place : sequence of str or int
        The keys and positions that lead to the value, as far as they are there.
    """
    # JSON is YAML, but for tabs, and a parser of YAML knows lines.
    node = yaml.compose(file.read_text().expandtabs(), Loader=yaml.SafeLoader)
    for step in place:
        below = _below(node, step)
        if below is None:
            break
        node = below
    return int(node.start_mark.line) + 1 if node is not None else 1


def _below(node: Any, step: str | int) -> Any:
    if isinstance(node, yaml.MappingNode):
        found = [value for key, value in node.value if key.value == step]
        return found[0] if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    return None
