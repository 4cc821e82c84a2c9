"""The regulator's file of classes in YAML: the agent cannot read YAML and gets a copy in JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Hashable, Sequence
from pathlib import Path

import yaml

from ..errors import ElevatorLabError
from ..paths import write_whole

ENDINGS = (".yaml", ".yml")


class JsonCopy:
    """A copy, in JSON, of an operator's YAML file."""

    def __init__(self, original: Path, copy: Path) -> None:
        self.original = original
        self.copy = copy
        self.renew()

    def renew(self) -> None:
        """Write the copy again from the original; a bad original leaves the copy as it is."""
        write_whole(self.copy, json.dumps(read(self.original)))


def handed_over(arguments: Sequence[str], folder: Path) -> tuple[list[str], JsonCopy | None]:
    """Return the agent's arguments and, if they named a YAML file, its copy in `folder`."""
    parser = argparse.ArgumentParser("regulate", add_help=False, allow_abbrev=False)
    parser.add_argument("--config", type=Path)
    known, others = parser.parse_known_args(arguments)
    if known.config is None or known.config.suffix not in ENDINGS:
        return list(arguments), None
    copy = JsonCopy(known.config, folder / "classes.json")
    return [*others, f"--config={copy.copy}", f"--config-name={known.config}"], copy


class _KeysOnce(yaml.SafeLoader):
    """A YAML loader that refuses a repeated key, instead of keeping only its last value."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        found = set()
        for key, _ in node.value:
            if key.value in found:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value} a second time", key.start_mark
                )
            found.add(key.value)
        return super().construct_mapping(node, deep)


def read(file: Path) -> object:
    """Return the content of a YAML file, if JSON can express it, too."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as problem:
        raise ElevatorLabError(
            f"expected a file with classes; found {file}: {problem.strerror}"
        ) from None
    except UnicodeDecodeError as problem:
        raise ElevatorLabError(f"expected text in {file}; found {problem}") from None
    try:
        content = yaml.load(text, Loader=_KeysOnce)
        json.dumps(content)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise ElevatorLabError(
            f"expected YAML in {file}; found in line {line}: {problem.problem}"
        ) from None
    except (yaml.YAMLError, TypeError, ValueError) as problem:
        first = str(problem).splitlines()[0]
        raise ElevatorLabError(
            f"expected text, numbers, lists and mappings in {file}; found otherwise ({first})"
        ) from None
    return content
