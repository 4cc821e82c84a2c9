"""What systemd was asked: from ``systemctl show``, ``systemctl cat``, and the files of units."""

from __future__ import annotations

import fnmatch
import os
import pathlib
import re
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Refused
from .asked_records import LATENCY, Asked, AskedLimit, AskedWeight, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    #: Assignments in their order: (property, value).
    Pairs = list[tuple[str, str]]

LIMITS = {
    "IOReadBandwidthMax": "rbps",
    "IOWriteBandwidthMax": "wbps",
    "IOReadIOPSMax": "riops",
    "IOWriteIOPSMax": "wiops",
    "BlockIOReadBandwidth": "rbps",
    "BlockIOWriteBandwidth": "wbps",
}
#: systemd resets both, whichever of them is assigned nothing.
BLOCK_BANDWIDTHS = ("BlockIOReadBandwidth", "BlockIOWriteBandwidth")
#: The goal of latency in a unit's file, and as ``systemctl show`` prints it.
LATENCIES = ("IODeviceLatencyTargetSec", "IODeviceLatencyTargetUSec")
#: Weights on all devices and on one: whether they have the scale of blkio.
WEIGHTS = {"IOWeight": False, "BlockIOWeight": True}
DEVICE_WEIGHTS = {"IODeviceWeight": False, "BlockIODeviceWeight": True}
SCALES = {**WEIGHTS, **DEVICE_WEIGHTS}
#: All that is read; ``systemctl show`` passes over a name that it does not know.
PROPERTIES = (*LIMITS, *LATENCIES, *SCALES)
#: What systemd prints for a number that is not set.
UNSET = {"[not set]", "infinity", str(2**64 - 1)}

ASSIGNMENT = re.compile(r"^[ \t]*[A-Z]\w*[ \t]*=", re.MULTILINE)
SECTION = re.compile(r"^\s*\[[A-Z]\w*\]", re.MULTILINE)
#: The line by which ``systemctl cat`` names each file.
HEADER = re.compile(r"^# (/\S*systemd/\S+)$", re.MULTILINE)
TYPES = ("service", "slice", "scope", "socket", "mount", "swap")
#: Where units' files lie, the first first; all other folders come after these.
FOLDERS = (
    *("etc/systemd/system.control", "run/systemd/system.control", "run/systemd/transient"),
    *("etc/systemd", "run/systemd", "usr/local/lib/systemd"),
)

#: Units of time, in us.
TIMES = {
    **dict.fromkeys(("us", "usec", "µs", "μs"), 1),
    **dict.fromkeys(("ms", "msec"), 1000),
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3_600_000_000),
}


class File(NamedTuple):
    """A unit's file, or a drop-in."""

    path: str
    pairs: Pairs

    @property
    def name(self) -> str:
        """Return the name of its unit; it may be that of a template, or of many units."""
        return name_of(self.path)


def known(text: str) -> bool:
    """Tell whether a text is systemd's: no line of JSON begins so."""
    return bool(ASSIGNMENT.search(text))


def asked_of(texts: Iterable[tuple[str, str]]) -> Iterator[Asked]:
    """Yield what systemd was asked: (file, text)."""
    files: list[File] = []
    for file, text in texts:
        if SECTION.search(text):
            files += files_in(file, text)
        else:
            yield from shown(file, text)
    for name in dict.fromkeys(one.name for one in files):
        # Also one without a limit: it may take away what its template asks.
        yield record(name, merged(files, name), (pattern(name),))


def shown(file: str, text: str) -> Iterator[Asked]:
    """Yield what ``systemctl show`` prints, units apart by an empty line."""
    for block in re.split(r"\n\s*\n", text.strip()):
        pairs = pairs_of(block)
        about = dict(pairs)
        name = about.get("Id") or name_of(file)
        one = record(name, pairs, (name,), about.get("ControlGroup", ""))
        if one.unsupported:
            raise Refused(
                f"expected limits of {name} as systemctl show prints them; found "
                f"{one.unsupported[0]!r}; give what systemctl cat prints of it"
            )
        if about.get("ControlGroup") != "" and (one.limits or one.weights):
            yield one


def files_in(file: str, text: str) -> Iterator[File]:
    """Yield a unit's file, or all those that ``systemctl cat`` prints one after another."""
    first, *rest = HEADER.split(text)
    for path, part in [(file, first), *zip(rest[::2], rest[1::2])]:
        if pairs := pairs_of(part):
            yield File(path, pairs)


def in_folder(file: str) -> bool:
    """Tell whether a file is a drop-in, which lies in a folder of the unit's name."""
    return pathlib.PurePath(file).parent.suffix == ".d"


def name_of(file: str) -> str:
    """Return the name of a file's unit."""
    path = pathlib.PurePath(file)
    return path.parent.stem if in_folder(file) else path.name


def pattern(name: str) -> str:
    """Return which units a name stands for.

    >>> pattern("db@.service"), pattern("a-.slice"), pattern("service"), pattern("db@1.service")
    ('db@*.service', 'a-*.slice', '*.service', 'db@1.service')
    """
    return f"*.{name}" if name in TYPES else re.sub(r"([@-])\.(?=\w+$)", r"\1*.", name)


def specified(one: Asked, unit: str) -> Asked:
    """Return what was asked for a cgroup; a unit's name may be a part of its devices' paths."""
    if one.source != "systemd":
        return one
    limits = (limit._replace(device=replaced(limit.device, unit)) for limit in one.limits)
    weights = (weight._replace(device=replaced(weight.device, unit)) for weight in one.weights)
    return one._replace(limits=tuple(limits), weights=tuple(weights))


def replaced(text: str, unit: str) -> str:
    r"""Return a path of a unit's file with parts of the unit's name in place of its specifiers.

    >>> replaced("/dev/%i", "fio@sda.service"), replaced("%f", r"db@dev-disk-by\x2did.service")
    ('/dev/sda', '/dev/disk/by-id')
    """
    name = unit.rpartition(".")[0]
    prefix, _, instance = name.partition("@")
    values = {"n": unit, "N": name, "p": prefix, "i": instance, "j": prefix.rpartition("-")[2]}
    values.update({key.upper(): unescaped(values[key]) for key in "pij"})
    values.update({"f": "/" + unescaped(instance or prefix), "%": "%"})
    return re.sub("%(.)", lambda found: values.get(found[1], found[0]), text)


def unescaped(name: str) -> str:
    """Return a part of a unit's name as the path that it stands for."""
    return re.sub(r"\\x([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), name.replace("-", "/"))


def merged(files: Sequence[File], name: str) -> Pairs:
    """Return a unit's assignments: its file's or its template's, and then those of drop-ins.

    Drop-ins are read in the order of their names; of those with one name, the first in rank counts.
    """
    fitting = [one for one in files if name == one.name or fnmatch.fnmatch(name, pattern(one.name))]
    fitting.sort(key=lambda one: rank(one, name))
    mains = [one for one in fitting if not in_folder(one.path)]
    mains.sort(key=lambda one: one.name != name)  # a template in any folder comes after it
    named = {os.path.basename(one.path): one for one in reversed(fitting) if in_folder(one.path)}
    read = [*mains[:1], *(named[key] for key in sorted(named))]
    return [pair for one in read for pair in one.pairs]


def rank(file: File, name: str) -> tuple[bool, int, bool, int]:
    """Return a file's place among those of a unit: by its folder, then how close its name is."""
    folder = (at for at, path in enumerate(FOLDERS) if f"/{path}/" in f"/{file.path}")
    # What is for all units of a type comes last, wherever it lies.
    return file.name in TYPES, next(folder, len(FOLDERS)), file.name != name, -len(file.name)


def pairs_of(text: str) -> Pairs:
    """Return the assignments of a text."""
    lines = re.sub(r"\\\n", " ", text).splitlines()
    split = (line.partition("=") for line in lines if "=" in line)
    return [(key.strip(), value.strip()) for key, _, value in split]


def in_the_end(pairs: Pairs) -> tuple[dict[tuple[str, str], int], list[str]]:
    """Return what assignments leave, (property, device) -> figure, and those that systemd ignores.

    An empty one resets. What begins with BlockIO is of old, and counts only where nothing else is
    held.
    """
    held: dict[tuple[str, str], int] = {}
    ignored = []
    for key, value in pairs:
        if key not in PROPERTIES:
            continue
        if not value:
            reset = BLOCK_BANDWIDTHS if key in BLOCK_BANDWIDTHS else (key,)
            held = {place: figure for place, figure in held.items() if place[0] not in reset}
        elif (one := assigned(key, value)) is None:
            ignored.append(f"{key}={value}")
        else:
            device, figure = one
            held.pop((key, device), None)
            if figure:
                held[key, device] = figure
    new = {place: figure for place, figure in held.items() if not place[0].startswith("Block")}
    return new or held, ignored


def assigned(key: str, value: str) -> tuple[str, int] | None:
    """Return the device and the figure of an assignment, or None if systemd ignores it.

    A figure of 0 is none. Also a device's path, or a figure, may have spaces in it.
    """
    gaps = re.finditer(r"\s+", value)
    parts = [(value[: gap.start()], value[gap.end() :]) for gap in gaps]
    for device, text in [("", value)] if key in WEIGHTS else parts:
        if text in UNSET:
            figure: int | None = 0
        elif key in SCALES:
            figure = weight(text, SCALES[key])
        else:
            figure = microseconds(text) if key in LATENCIES else size(text)
        if figure is not None:
            return device.strip("\"'").lstrip("-"), figure
    return None


def record(name: str, pairs: Pairs, hints: tuple[str, ...], group: str = "") -> Asked:
    """Return what a unit's assignments ask."""
    held, ignored = in_the_end(pairs)
    limits = [
        AskedLimit(device, LIMITS.get(key, LATENCY), figure)
        for (key, device), figure in held.items()
        if key not in SCALES
    ]
    weights = [
        AskedWeight(device, figure, SCALES[key])
        for (key, device), figure in held.items()
        if key in SCALES
    ]
    one = Asked("systemd", name, hints, group, 0, tuple(limits), tuple(weights))
    return one._replace(unsupported=tuple(ignored))


def weight(text: str, blkio: bool) -> int | None:
    """Return a weight as systemd reads it."""
    lowest, highest = (10, 1000) if blkio else (1, 10_000)
    return int(text) if text.isdecimal() and lowest <= int(text) <= highest else None


def size(text: str) -> int | None:
    """Return a number of bytes or requests as systemd reads it: in powers of 1000, and not 0.

    >>> size("10M"), size("1.5 K"), size("10MB"), size("10Mi"), size("0")
    (10000000, 1500, None, None, None)
    """
    known = re.fullmatch(r"\d+(\.\d+)?\s*[KMGTPEB]?", text)
    return number(text.rstrip("B")) or None if known else None


def microseconds(text: str) -> int | None:
    """Return a time as systemd reads it; a number alone is in seconds.

    >>> microseconds("25ms"), microseconds("2.5 ms"), microseconds("1"), microseconds("1s 5ms")
    (25000, 2500, 1000000, 1005000)
    """
    part = re.compile(r"(\d+(?:\.\d+)?) *([a-zµμ]*) *")
    parts = part.findall(text)
    if not parts or part.sub("", text).strip() or any(unit not in TIMES for _, unit in parts):
        return None
    return round(sum(float(figure) * TIMES[unit] for figure, unit in parts))
