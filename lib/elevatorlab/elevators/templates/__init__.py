"""Templates of new schedulers: short, working, and commented.

``fifo`` and ``deadline`` are complete. ``sstf`` and ``look`` are skeletons, because courses ask for
these two. Their locks, their lists and the tree by place are complete, so skeletons build and pass
the check. But the function that chooses a request is still first in, first out, as the order of
dispatch shows.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ...errors import ElevatorLabError
from ...paths import command
from ...plugins.scheduler_folders import RECORD
from ...plugins.schedulers import SCHEDULERS

HERE = Path(__file__).parent

#: What each template is, as its README says it.
TEMPLATES = {
    "fifo": "First in, first out: the shortest scheduler there is, and whole.",
    "sstf": "A skeleton of shortest seek time first. It works, but it is still FIFO: "
    "`@NAME@_choose` is for you to write.",
    "look": "A skeleton of LOOK, the elevator. It works, but it is still FIFO: "
    "`@NAME@_choose` is for you to write.",
    "deadline": "The earliest deadline first, whole: with a clock, and two tunables in sysfs.",
}

#: The two skeletons, which are one file, and what they do not have in common.
SKELETONS = {
    "sstf": {
        "@RULE@": "shortest seek time first",
        "@TODO@": "choose the request that is nearest to data->head, above or below it.",
        "@STATE@": "",
        "@START@": "",
    },
    "look": {
        "@RULE@": "LOOK, the elevator",
        "@TODO@": "choose the next request on the arm's way: the first one at data->head or above "
        "while it\n * goes up, the first one below while it goes down. Where there is none, the "
        "arm turns.",
        "@STATE@": "\tbool up;\t\t\t/* which way the arm goes */\n",
        "@START@": "\tdata->up = true;\n",
    },
}

#: The kernel's ELV_NAME_MAX, less the final zero byte.
LONGEST_NAME = 15

_C_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")


def new(name: str, template: str, into: Path) -> Path:
    """Write the folder of a new scheduler.

    `name`: The scheduler's name in the kernel, with which the names of its functions begin. `into`:
    Where the scheduler's folder is made; the folder is called `name`.
    """
    if template not in TEMPLATES:
        raise ElevatorLabError(f"template: expected {', '.join(TEMPLATES)}; found {template!r}")
    _refuse_bad_name(name)
    folder = into / name
    if folder.exists():
        raise ElevatorLabError(f"{folder}: expected no such folder yet; take another name")
    contents = {file: _filled(HERE / file, name, template) for file in ("Kbuild", RECORD)}
    contents["README.md"] = (
        _filled(HERE / "README.md", name, template)
        .replace("@SCHEDULER@", command("scheduler"))
        .replace("@FOLDER@", shlex.quote(str(folder)))
    )
    program = HERE / ("by-place.c" if template in SKELETONS else f"{template}.c")
    parts = [_filled(part, name, template) for part in (program, HERE / "registration.c")]
    contents[f"{name}-iosched.c"] = "\n".join(parts)
    folder.mkdir(parents=True)
    for file, content in contents.items():
        (folder / file).write_text(content)
    return folder


def about(template: str, name: str) -> str:
    """Return a description of a template, in one or two sentences."""
    return TEMPLATES[template].replace("@NAME@", name)


def _filled(file: Path, name: str, template: str) -> str:
    text = file.read_text().replace("@WHAT@", TEMPLATES[template])
    attributes = "\t.elevator_attrs = @NAME@_attrs,\n" if template == "deadline" else ""
    for place, words in {**SKELETONS.get(template, {}), "@ATTRIBUTES@": attributes}.items():
        text = text.replace(place, words)
    return text.replace("@NAME@", name)


def _refuse_bad_name(name: str) -> None:
    if not _C_IDENTIFIER.fullmatch(name):
        raise ElevatorLabError(
            "name: expected a C identifier in small letters, since functions are called after it; "
            f"found {name!r}"
        )
    if len(name) > LONGEST_NAME:
        raise ElevatorLabError(
            f"name: expected at most {LONGEST_NAME} letters, as the kernel does; "
            f"found {len(name)} in {name!r}"
        )
    if name in SCHEDULERS:
        raise ElevatorLabError(f"name: {name} is another scheduler's already; take another one")
