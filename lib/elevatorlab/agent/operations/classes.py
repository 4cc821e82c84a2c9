"""Classes of containers and patterns of cgroups: from the command line, and from a file."""

from __future__ import annotations

import glob
import json
import pathlib
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Refused
from ..regulator.targets import Pattern, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ..groups.hierarchies import Hierarchy

#: What a class may say of itself in the file.
KEYS = ("sla", "cgroups", "devices")


class SlaClass(NamedTuple):
    """Containers with an SLA of their own.

    Without `has_sla` the SLA is that of everybody else; an `sla` of None is no SLA at all.
    """

    name: str
    has_sla: bool = False
    sla: float | None = None
    cgroups: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


def slas_of(classes: Iterable[SlaClass]) -> dict[str, float | None]:
    """Return the SLA of each class that has one of its own, or none."""
    return {one.name: one.sla for one in classes if one.has_sla}


def patterns_of(classes: Iterable[SlaClass], devices: Sequence[str]) -> list[Pattern]:
    """Return the cgroups of all classes, on `devices` where a class names none."""
    found = []
    for one in classes:
        used = one.devices or tuple(devices)
        if one.cgroups and not used:
            raise Refused(
                f"expected a block device for the cgroups of class {one.name}; found none; add "
                "--device NAME, or devices to the class"
            )
        found += [Pattern(path, used, one.name) for path in one.cgroups]
    return found


def named(texts: Iterable[str], devices: Sequence[str]) -> list[Pattern]:
    """Return the patterns that an operator gives as ``PATH`` or ``PATH=DEVICE``."""
    found = []
    for text in texts:
        path, _, device = text.partition("=")
        if not (device or devices):
            raise Refused(
                f"expected a block device for cgroup {path}; found none; add --device NAME, "
                f"or write --cgroup {path}=NAME"
            )
        found.append(Pattern(path, (device,) if device else tuple(devices)))
    return found


def check_paths(patterns: Iterable[Pattern], hierarchy: Hierarchy) -> None:
    """Refuse a path without a star that is no cgroup that can be limited."""
    for pattern in patterns:
        if glob.has_magic(pattern.path):
            continue
        folder = place(pattern.path, hierarchy.root)
        if not folder.is_dir():
            raise Refused(
                f"expected the cgroup {folder}; found none; give its path below "
                f"{hierarchy.root}, or --container NAME for a Docker container"
            )
        if not (folder / hierarchy.needed).exists():
            raise Refused(
                f"expected {hierarchy.needed} in {folder}; found none; turn the io controller "
                f"on for it: echo +io > {folder.parent}/cgroup.subtree_control"
            )


def from_text(text: str) -> SlaClass:
    """Return the class that ``CLASS=SLA`` describes."""
    name, _, sla = text.partition("=")
    try:
        value = None if sla == "none" else float(sla)
    except ValueError:
        name, value = "", None
    if not name or not (value is None or 0 < value < float("inf")):
        raise Refused(f"expected --class CLASS=SLA with a number or none; found {text!r}")
    return SlaClass(name, True, value)


def read(file: pathlib.Path, name: str) -> list[SlaClass]:
    """Return the classes of a JSON file, which the operator calls `name`, in its order."""
    try:
        content = json.loads(file.read_text(), object_pairs_hook=_once_each)
    except OSError as problem:
        raise Refused(f"expected a file with classes; found {name}: {problem.strerror}") from None
    except json.JSONDecodeError as problem:
        raise Refused(
            f"expected JSON in {name}; found in line {problem.lineno}: {problem.msg}; "
            "the command elevatorlab regulate reads YAML, too"
        ) from None
    except ValueError as problem:
        raise Refused(f"expected text with each key once in {name}; found {problem}") from None
    try:
        return _classes(content)
    except Refused as problem:
        raise Refused(f"{name}: {problem}") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{twice} twice")
    return found


def _classes(content: Any) -> list[SlaClass]:
    tree = _mapping(content, "the file", ("classes",))
    classes = [
        _class(name, entry) for name, entry in _mapping(tree.get("classes"), "classes").items()
    ]
    users: dict[str, str] = {}
    for one in classes:
        for path in one.cgroups:
            if path in users:
                raise Refused(
                    f"classes.{one.name}.cgroups: expected each pattern once; found {path}, which "
                    f"class {users[path]} has already"
                )
            users[path] = one.name
    return classes


def _class(name: str, entry: Any) -> SlaClass:
    place = f"classes.{name}"
    if not name:
        raise Refused("classes: expected a name for each class; found an empty one")
    given = _mapping(entry, place, KEYS)
    sla = given.get("sla", "none")
    is_number = isinstance(sla, (int, float)) and not isinstance(sla, bool)
    if sla != "none" and not (is_number and 0 < sla < float("inf")):
        raise Refused(f"{place}.sla: expected a number above 0, or none; found {json.dumps(sla)}")
    return SlaClass(
        name,
        "sla" in given,
        None if sla == "none" else float(sla),
        _texts(given, "cgroups", place),
        _texts(given, "devices", place),
    )


def _mapping(value: Any, place: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
    """Return `value` where it is a mapping with no keys but `keys`."""
    if not isinstance(value, dict) or not (value or keys == KEYS):
        expected = f"a mapping with {', '.join(keys)}" if keys else "a mapping of names to classes"
        raise Refused(f"{place}: expected {expected}; found {json.dumps(value)}")
    unknown = [key for key in value if keys is not None and key not in keys]
    if keys and unknown:
        raise Refused(f"{place}: expected {', '.join(keys)}; found {unknown[0]}")
    return value


def _texts(given: dict[str, Any], key: str, place: str) -> tuple[str, ...]:
    """Return a list of words; empty where there is none."""
    value = given.get(key, [])
    if (
        not isinstance(value, list)
        or not all(isinstance(text, str) and text.strip("/") for text in value)
        or (key in given and not value)
    ):
        raise Refused(
            f"{place}.{key}: expected a list with at least one name; found {json.dumps(value)}"
        )
    return tuple(value)
