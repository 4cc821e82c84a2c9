"""What was asked of the kernel: by Docker, podman, Kubernetes, an OCI runtime or systemd.

A file's structure tells what it is: JSON of ``docker inspect``, ``podman inspect``, ``kubectl get
pod -o json`` or ``crictl inspect``, an OCI ``config.json``, or the properties that ``systemctl
show`` prints. A pod's specification has no field for I/O. containerd and CRI-O read annotations,
which name a class of their own configuration; it is taken as JSON, too.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: Docker's and podman's fields and those of an OCI configuration: key of a limit.
ENGINE = {
    "BlkioDeviceReadBps": "rbps",
    "BlkioDeviceWriteBps": "wbps",
    "BlkioDeviceReadIOps": "riops",
    "BlkioDeviceWriteIOps": "wiops",
}
OCI = {
    "throttleReadBpsDevice": "rbps",
    "throttleWriteBpsDevice": "wbps",
    "throttleReadIOPSDevice": "riops",
    "throttleWriteIOPSDevice": "wiops",
}
CLASS = {
    "ThrottleReadBps": "rbps",
    "ThrottleWriteBps": "wbps",
    "ThrottleReadIOPS": "riops",
    "ThrottleWriteIOPS": "wiops",
}
SYSTEMD = {
    "IOReadBandwidthMax": "rbps",
    "IOWriteBandwidthMax": "wbps",
    "IOReadIOPSMax": "riops",
    "IOWriteIOPSMax": "wiops",
    "BlockIOReadBandwidth": "rbps",
    "BlockIOWriteBandwidth": "wbps",
}
#: The goal of latency in a unit's file (``systemctl show`` does not print it), and its key, in us.
SYSTEMD_LATENCY = "IODeviceLatencyTargetSec"
LATENCY = "target"
#: systemd's properties of weights: whether they have the scale of blkio.
SYSTEMD_WEIGHTS = {"IOWeight": False, "BlockIOWeight": True}
SYSTEMD_DEVICE_WEIGHTS = {"IODeviceWeight": False, "BlockIODeviceWeight": True}
#: What systemd prints for a number that is not set.
UNSET = {"", "[not set]", "infinity", str(2**64 - 1)}

#: The annotations that containerd and CRI-O read, and words by which others look like these.
ANNOTATION = "blockio.resources.beta.kubernetes.io/"
LOOKS_LIKE_IO = re.compile(r"blk-?io|blockio|iops|[rw]bps|io\.max|io-?weight", re.IGNORECASE)


def bfq(weight: int) -> int:
    """Return what systemd writes to BFQ's file: 1 to 10000 on a scale of 1 to 1000."""
    return weight if weight <= 100 else 100 + (weight - 100) * 900 // 9900


class AskedLimit(NamedTuple):
    """A limit of a device, or a goal of its latency; the device is a path, or ``major:minor``."""

    device: str
    key: str
    value: int


class AskedWeight(NamedTuple):
    """A weight, on one device or on all; `blkio`: of 10 to 1000, and not of 1 to 10000."""

    device: str
    value: int
    blkio: bool

    def accepted(self, source: str, version: int) -> set[int]:
        """Return what a runtime may write for it with a version of cgroups, whichever file it is.

        systemd has the scale of blkio with version 1 alone, and runc and crun write both scales.
        """
        value = self.value
        if source != "systemd":
            scaled = 1 + (value - 10) * 9999 // 990
            return {value, scaled, bfq(scaled)}
        if self.blkio and version == 2:
            value = max(value // 5, 1)
        elif not self.blkio and version == 1:
            value = min(max(value * 5, 10), 1000)
        return {value, bfq(value)}


class Asked(NamedTuple):
    """What was asked for one cgroup."""

    source: str
    name: str
    #: Parts of the cgroup's name, its path below the root, or a process in it.
    hints: tuple[str, ...]
    path: str = ""
    process: int = 0
    limits: tuple[AskedLimit, ...] = ()
    weights: tuple[AskedWeight, ...] = ()
    #: The class of a runtime's configuration, where that was not given.
    unknown_class: str = ""
    #: What no runtime reads.
    unsupported: tuple[str, ...] = ()


def read(files: Iterable[pathlib.Path]) -> list[Asked]:
    """Return what files say was asked."""
    texts = []
    for file in files:
        try:
            texts.append((str(file), file.read_text()))
        except (OSError, UnicodeDecodeError) as problem:
            raise Refused(f"expected a file with what was asked; found {file}: {problem}") from None
    return parsed(texts)


def parsed(texts: Sequence[tuple[str, str]]) -> list[Asked]:
    """Return what texts say was asked: (file, text)."""
    classes: dict[str, Any] = {}
    objects: list[dict[str, Any]] = []
    found: list[Asked] = []
    for file, text in texts:
        if re.search(r"^[A-Z]\w*=", text, re.MULTILINE):  # no line of JSON begins so
            found += _units(file, text)
        elif text.lstrip()[:1] in ("{", "["):
            for one in _objects(file, text):
                known = one.get("Classes", one.get("classes"))
                classes.update(known or {})
                objects += [] if known is not None else [one]
        else:
            raise _unknown(file)
    for one in objects:
        try:
            found += _container(one, classes)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise Refused(
                f"expected JSON as docker, podman, kubectl, crictl or an OCI runtime writes it; "
                f"found one without what these have: {problem!r}; write the file again"
            ) from None
    return found


def _unknown(file: str) -> Refused:
    return Refused(
        f"expected JSON of docker inspect, podman inspect, kubectl get pod -o json, crictl inspect "
        f"or an OCI config.json, a runtime's block I/O classes as JSON, or text of systemctl show; "
        f"found none of these in {file}; write it with one of these commands"
    )


def _objects(file: str, text: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON text, each of a known form."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as problem:
        raise Refused(f"expected JSON in {file}; found {problem}; write the file again") from None
    if isinstance(whole, dict) and isinstance(whole.get("items"), list):
        whole = whole["items"]
    found = whole if isinstance(whole, list) else [whole]
    for one in found:
        if not isinstance(one, dict) or not (
            one.get("kind") == "Pod" or {"HostConfig", "Classes", "classes"} & set(one) or _oci(one)
        ):
            raise _unknown(file)
    return found


def _oci(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return an OCI configuration: itself, or where crictl and ctr have it."""
    inside = [one, one.get("Spec"), (one.get("info") or {}).get("runtimeSpec")]
    return next((spec for spec in inside if isinstance(spec, dict) and "linux" in spec), {})


def _container(one: dict[str, Any], classes: Mapping[str, Any]) -> Iterator[Asked]:
    if one.get("kind") == "Pod":
        yield from _pod(one, classes)
    elif "HostConfig" in one:
        if (one.get("State") or {}).get("Running", True):
            yield _engine(one)
    else:
        yield _runtime(one)


def _engine(one: dict[str, Any]) -> Asked:
    """Return what Docker or podman was asked for a container."""
    config, state = one["HostConfig"], one.get("State") or {}
    limits = [
        AskedLimit(row["Path"], key, row["Rate"])
        for field, key in ENGINE.items()
        for row in config.get(field) or []
    ]
    weights = [
        AskedWeight(row["Path"], row["Weight"], True)
        for row in config.get("BlkioWeightDevice") or []
    ]
    if config.get("BlkioWeight"):
        weights.append(AskedWeight("", config["BlkioWeight"], True))
    return Asked(
        "podman" if "CgroupPath" in state or "OCIRuntime" in one else "docker",
        one.get("Name", "").lstrip("/") or one.get("Id", ""),
        (one["Id"],) if one.get("Id") else (),
        state.get("CgroupPath") or "",
        state.get("Pid") or 0,
        tuple(limits),
        tuple(weights),
    )


def _runtime(one: dict[str, Any]) -> Asked:
    """Return what an OCI configuration asks."""
    linux = _oci(one)["linux"]
    asked = (linux.get("resources") or {}).get("blockIO") or {}
    limits = [
        AskedLimit(f"{row['major']}:{row['minor']}", key, row["rate"])
        for field, key in OCI.items()
        for row in asked.get(field) or []
    ]
    weights = [
        AskedWeight(f"{row['major']}:{row['minor']}", row["weight"], True)
        for row in asked.get("weightDevice") or []
        if row.get("weight")
    ]
    if asked.get("weight"):
        weights.append(AskedWeight("", asked["weight"], True))
    # systemd's driver writes slice:prefix:name, and cgroupfs a path.
    path = linux.get("cgroupsPath") or ""
    unit = path.split(":")
    hints = (f"{unit[1]}-{unit[2]}",) if len(unit) == 3 else ()
    return Asked(
        "oci",
        (one.get("status") or {}).get("id") or one.get("ID") or path or "a container",
        hints,
        "" if hints else path,
        0,
        tuple(limits),
        tuple(weights),
    )


def _pod(one: dict[str, Any], classes: Mapping[str, Any]) -> Iterator[Asked]:
    """Yield what a pod asks for each container, and what of it nothing reads."""
    about = one["metadata"]
    annotations = about.get("annotations") or {}
    states = (one.get("status") or {}).get("containerStatuses") or []
    ids = {row["name"]: row.get("containerID", "").rpartition("/")[2] for row in states}
    containers = (one.get("spec") or {}).get("containers") or []
    for container in containers:
        name = container["name"]
        key = annotations.get(f"{ANNOTATION}container.{name}", annotations.get(f"{ANNOTATION}pod"))
        if key:
            asked = Asked("kubernetes", f"{about['name']}/{name}", (ids.get(name) or "",))
            yield _of_class(asked, key, classes)
    resources = [
        field
        for container in containers
        for part in (container.get("resources") or {}).values()
        if isinstance(part, dict)
        for field in part
    ]
    unread = [
        field
        for field in [*annotations, *resources]
        if LOOKS_LIKE_IO.search(field) and not field.startswith(ANNOTATION)
    ]
    if unread:
        uid = about.get("uid", "")
        hints = (f"pod{uid}", f"pod{uid.replace('-', '_')}") if uid else ()
        yield Asked("kubernetes", about["name"], hints, unsupported=tuple(unread))


def _of_class(asked: Asked, name: str, classes: Mapping[str, Any]) -> Asked:
    """Return what a class of containerd's or CRI-O's configuration asks."""
    if name not in classes:
        return asked._replace(unknown_class=name)
    limits, weights = [], []
    for part in classes[name] or []:
        devices = part.get("Devices") or []
        for field, key in CLASS.items():
            if field in part:
                limits += [AskedLimit(one, key, number(str(part[field]))) for one in devices]
        if "Weight" in part:
            weights += [AskedWeight(one, int(part["Weight"]), True) for one in devices or [""]]
    return asked._replace(limits=tuple(limits), weights=tuple(weights))


def _units(file: str, text: str) -> Iterator[Asked]:
    """Yield what systemd was asked: units apart by an empty line, as ``systemctl show`` prints."""
    for block in re.split(r"\n\s*\n", text.strip()):
        pairs = [tuple(line.strip().partition("=")[::2]) for line in block.splitlines()]
        about = dict(pairs)
        limits, weights = [], []
        for key, value in pairs:
            device, _, figure = value.rpartition(" ")
            if key in SYSTEMD and device and figure not in UNSET:
                limits.append(AskedLimit(device.lstrip("-"), SYSTEMD[key], number(figure)))
            elif key == SYSTEMD_LATENCY and device:
                disk, _, time = value.partition(" ")
                limits.append(AskedLimit(disk, LATENCY, microseconds(time)))
            elif key in SYSTEMD_DEVICE_WEIGHTS and device and figure not in UNSET:
                weights.append(AskedWeight(device, number(figure), SYSTEMD_DEVICE_WEIGHTS[key]))
            elif key in SYSTEMD_WEIGHTS and value.isdigit() and value not in UNSET:
                weights.append(AskedWeight("", int(value), SYSTEMD_WEIGHTS[key]))
        runs = about.get("ControlGroup") != ""
        if runs and (limits or weights):
            # A drop-in lies in a folder of the unit's name.
            path, folder = pathlib.Path(file), pathlib.Path(file).parent
            name = about.get("Id") or (folder.stem if folder.suffix == ".d" else path.name)
            group = about.get("ControlGroup", "")
            yield Asked("systemd", name, (name,), group, 0, tuple(limits), tuple(weights))


def number(text: str) -> int:
    """Return a number as systemd and the classes write it.

    >>> number("10M"), number("4Ki"), number("7")
    (10000000, 4096, 7)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if not match:
        raise Refused(f"expected a number as 1048576, 10M or 10Mi; found {text!r}; correct it")
    power = " KMGT".index(match[2].upper() or " ")
    return round(float(match[1]) * float(1024 if match[3] else 1000) ** power)


def microseconds(text: str) -> int:
    """Return a time as systemd writes it; a number alone is in seconds.

    >>> microseconds("25ms"), microseconds("2.5 ms"), microseconds("1")
    (25000, 2500, 1000000)
    """
    units = {"us": 1, "ms": 1e3, "s": 1e6, "": 1e6}
    match = re.fullmatch(r"(\d+(?:\.\d+)?) *([a-z]*)", text.strip())
    if not match or match[2] not in units:
        raise Refused(f"expected a time of latency as 25ms or 1s; found {text!r}; correct it")
    return round(float(match[1]) * units[match[2]])


def fetched() -> list[Asked]:
    """Return what the engines and systemd of this host say, those that are there."""
    texts = []
    for engine in ("docker", "podman"):
        running = _output([engine, "ps", "--quiet", "--no-trunc"]).split()
        if running:
            texts.append((engine, _output([engine, "inspect", *running])))
    names = ("Id", "ControlGroup", *SYSTEMD, *SYSTEMD_WEIGHTS, *SYSTEMD_DEVICE_WEIGHTS)
    options = [f"--property={name}" for name in names]
    units = ("*.service", "*.slice", "*.scope")
    texts.append(("systemctl", _output(["systemctl", "show", *options, *units])))
    with contextlib.suppress(Refused):  # an answer of a version that nobody knows yet
        return parsed([(name, text) for name, text in texts if text.strip()])
    return []


def _output(argv: list[str]) -> str:
    """Return what a program prints; nothing where it is not there, or fails."""
    if shutil.which(argv[0]) is None:
        return ""
    try:
        run = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout if run.returncode == 0 else ""
