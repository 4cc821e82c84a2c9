"""The studies. Each is a package with the same members:

========================  ==========================================================
``NAME``, ``TITLE``       its name in commands, and its title for people
``Parameters``            pydantic model of what a user may choose
``trials(parameters)``    the trials that the parameters stand for
``rows(trial, result)``   the study's own columns of the tidy table
``COLUMNS``, ``ORDER``    the tidy table's columns, and those it is sorted by
``judge(measured)``       the verdicts
``published()``           the published table that the figures show
``figures(p, m)``         the figures with their captions, by name
``overview_table(m)``     a caption and a small table of the measured data
``tables(m)``             all small tables, each with its caption
========================  ==========================================================
"""

import json

from ..errors import ElevatorLabError
from ..testbeds.deterministic import DeterministicTestbed
from ..trial import checked
from . import (
    container_isolation,
    innodb_commit,
    iozone_ranking,
    stream_batching,
    vm_vs_container,
)

#: In the order of the studies' numbers.
STUDIES = {
    study.NAME: study
    for study in (
        vm_vs_container,
        iozone_ranking,
        container_isolation,
        innodb_commit,
        stream_batching,
    )
}


def get(name):
    """Return the study called `name`."""
    if name not in STUDIES:
        raise ElevatorLabError(f"study: expected one of {', '.join(STUDIES)}; found {name!r}")
    return STUDIES[name]


def parameters(study, preset, overrides=None, defaults=None):
    """Return a study's parameters: those of a preset, with the user's own on top.

    Parameters
    ----------
    study : module
    preset : str
        ``smoke`` (about a minute), ``quick`` (minutes) or ``full`` (as published; hours).
    overrides : dict, optional
        Parameter names and values; a list may be written with commas.
    defaults : dict, optional
        What the testbed wants where the user says nothing; names that the study lacks are not
        meant for it. By default those of the deterministic testbed.

    Raises
    ------
    ElevatorLabError
        For a name that the study does not have, or a value that it does not take.
    """
    if preset not in study.PRESETS:
        raise ElevatorLabError(
            f"preset: expected one of {', '.join(study.PRESETS)}; found {preset!r}"
        )
    if defaults is None:
        defaults = DeterministicTestbed.defaults
    fields = study.Parameters.model_fields
    known = {name: value for name, value in defaults.items() if name in fields}
    if (overrides or {}).get("device") not in (None, "file_backed"):
        known.pop("backing_schedulers", None)  # there is a disk below a file alone
    content = {**study.PRESETS[preset], **known, "preset": preset}
    for name, value in (overrides or {}).items():
        if name not in fields or name == "preset":
            known = ", ".join(field for field in fields if field != "preset")
            raise ElevatorLabError(
                f"{study.NAME} has no parameter {name!r}; expected one of {known}"
            )
        if value is not None:
            if isinstance(content.get(name, fields[name].default), tuple):
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
