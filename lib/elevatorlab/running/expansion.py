"""Expand a study on a testbed: the parameters of a preset, and the trials that follow from them."""

import ast
import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ElevatorLabError
from ..plugins import scheduler_folders, testbeds
from ..plugins.schedulers import SCHEDULERS
from ..plugins.studies import Study
from ..records import checked
from ..testbeds.base import Testbed
from . import campaign


def parse_overrides(settings: Iterable[str]) -> dict[str, Any]:
    """Turn ``NAME=VALUE`` texts into a dictionary; a value that is JSON is read as JSON.

    >>> parse_overrides(["repetitions=2", "arms=host,container"])
    {'repetitions': 2, 'arms': 'host,container'}
    """
    overrides = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ElevatorLabError(f"-p: expected NAME=VALUE; found {setting!r}")
        try:
            overrides[name] = json.loads(value)
        except json.JSONDecodeError:
            overrides[name] = value
    return overrides


def shares(
    study: Study,
    preset: str,
    overrides: Mapping[str, Any],
    chosen: Sequence[Testbed],
    more_schedulers: Sequence[Path | str] = (),
) -> list[campaign.Share]:
    """Return the trials of a study that each testbed runs.

    `overrides`: Values of the study's parameters, by name. None keeps the testbed's or the preset's
    value.
    """
    expanded = []
    for testbed in chosen:
        given = parameters(study, preset, overrides, testbed.defaults, more_schedulers)
        expanded.append((testbed, study.trials(given)))
    if not any(trials for _, trials in expanded):
        raise ElevatorLabError(
            f"{study.NAME}: expected at least one trial; found none with these parameters. "
            "Is one of the lists empty?"
        )
    return campaign.divide(expanded)


def parameters(
    study: Study,
    preset: str,
    overrides: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    more_schedulers: Sequence[Path | str] = (),
) -> Any:
    """Return a study's parameters: a preset's values, what the testbed has of them, the user's.

    `preset`: ``smoke`` (one to three minutes), ``quick`` (minutes), ``paper`` (every published
    point, and repetitions that decide verdicts; hours) or ``full`` (more than any claim asks for).
    `overrides`: Values by parameter name. A list may be a text with commas. Among ``schedulers``, a
    path with a slash stands for the scheduler in that folder. `defaults`: The testbed's values by
    parameter name; names that the study lacks are ignored. By default, those of the deterministic
    testbed. `more_schedulers`: Schedulers beside those of the preset: names, or folders.
    """
    if preset not in study.PRESETS:
        raise ElevatorLabError(
            f"preset: expected one of {', '.join(study.PRESETS)}; found {preset!r}"
        )
    if defaults is None:
        defaults = testbeds.TESTBEDS.get(testbeds.DEFAULT).defaults
    fields = study.Parameters.model_fields
    known = {name: value for name, value in defaults.items() if name in fields}
    if (overrides or {}).get("device") not in (None, "file_backed"):
        known.pop("backing_schedulers", None)  # only a file-backed device has a disk below it
    content = {**study.PRESETS[preset], "preset": preset}
    for name, offered in known.items():
        content[name] = _chosen(content.get(name, fields[name].default), offered)
    for name, value in (overrides or {}).items():
        if name not in fields or name == "preset":
            there = ", ".join(field for field in fields if field != "preset")
            raise ElevatorLabError(
                f"{study.NAME} has no parameter {name!r}; expected one of {there}"
            )
        if value is not None:
            if isinstance(content.get(name, fields[name].default), tuple):
                value = _as_list(name, value) if isinstance(value, str) else value
                value = [value] if isinstance(value, int) else value
            if name == "schedulers" and isinstance(value, list | tuple):
                value = [_scheduler(one) for one in value]
            content[name] = value
    if more_schedulers:
        there = content.get("schedulers", _default_schedulers(study))
        content["schedulers"] = list(dict.fromkeys([*there, *map(_scheduler, more_schedulers)]))
    return checked(study.Parameters, content, f"{study.NAME} parameters")


def _chosen(wanted: Any, offered: Any) -> Any:
    """Return what a testbed offers; of a list, what the preset wants, if any of that is offered."""
    if not isinstance(offered, tuple) or not isinstance(wanted, tuple):
        return offered
    return tuple(one for one in wanted if one in offered) or offered


def _default_schedulers(study: Study) -> Sequence[str]:
    field = study.Parameters.model_fields.get("schedulers")
    if field is None:
        raise ElevatorLabError(
            f"{study.NAME} has no parameter 'schedulers', so it takes none of yours"
        )
    default: Sequence[str] = field.get_default(call_default_factory=True)
    return default


def _scheduler(value: Any) -> Any:
    """Return a scheduler's name; register the scheduler first if `value` is a path with a slash."""
    if isinstance(value, Path) or (isinstance(value, str) and "/" in value):
        return scheduler_folders.register(value).name
    if isinstance(value, str) and value not in SCHEDULERS and Path(value).is_dir():
        raise ElevatorLabError(
            f"schedulers: expected names, or folders with a slash; found {value!r}, which is a "
            f"folder. Write ./{value}, or give --scheduler {value}"
        )
    return value


def _as_list(name: str, text: str) -> Any:
    """Read a list as a shell gives it: JSON, a list of Python, or words with commas between."""
    for read in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError):
            found = read(text)
            return [found] if isinstance(found, str) else found
    words = [word.strip().strip("\"'") for word in text.strip().removesuffix(",").split(",")]
    if "" in words:
        raise ElevatorLabError(f"{name}: expected values with commas between; found {text!r}")
    return words
