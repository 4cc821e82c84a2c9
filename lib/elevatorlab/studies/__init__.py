"""The studies. Each is a package with the same members:

========================  ==========================================================
``NAME``, ``TITLE``       its name in commands, and its title for people
``Parameters``            pydantic model of what a user may choose
``trials(parameters)``    the trials that the parameters stand for
``rows(trial, result)``   the study's own columns of the tidy table
``COLUMNS``, ``ORDER``    the tidy table's columns, and those it is sorted by
``judge(measured)``       the verdicts
``published()``           the published table that the figures show
``figures(p, m)``         the figures, by name, of published and measured data
``caption(name)``         what a figure shows
``overview_table(m)``     a caption and a small table of the measured data
========================  ==========================================================
"""

import json

from ..errors import ElevatorLabError
from ..trial import checked
from . import vm_vs_container

STUDIES = {study.NAME: study for study in (vm_vs_container,)}


def get(name):
    """Return the study called `name`."""
    if name not in STUDIES:
        raise ElevatorLabError(f"study: expected one of {', '.join(STUDIES)}; found {name!r}")
    return STUDIES[name]


def parameters(study, preset, overrides=None):
    """Return a study's parameters: those of a preset, with the user's own on top.

    Parameters
    ----------
    study : module
    preset : str
        ``smoke`` (seconds), ``quick`` (minutes) or ``full`` (as published; hours).
    overrides : dict, optional
        Parameter names and values; a list may be written with commas.

    Raises
    ------
    ElevatorLabError
        For a name that the study does not have, or a value that it does not take.
    """
    if preset not in study.PRESETS:
        raise ElevatorLabError(
            f"preset: expected one of {', '.join(study.PRESETS)}; found {preset!r}"
        )
    content = {**study.PRESETS[preset], "preset": preset}
    for name, value in (overrides or {}).items():
        if name not in study.Parameters.model_fields or name == "preset":
            known = ", ".join(field for field in study.Parameters.model_fields if field != "preset")
            raise ElevatorLabError(
                f"{study.NAME} has no parameter {name!r}; expected one of {known}"
            )
        if value is not None:
            if isinstance(content.get(name, study.Parameters.model_fields[name].default), tuple):
                value = _as_list(value) if isinstance(value, str) else value
                value = [value] if isinstance(value, int) else value
            content[name] = value
    return checked(study.Parameters, content, f"{study.NAME} parameters")


def _as_list(text):
    """Read a list as a shell gives it: JSON, or words with commas between."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text.split(",")
