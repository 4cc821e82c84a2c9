"""What was asked of the kernel: by Docker, podman, Kubernetes, an OCI runtime or systemd.

A file's structure tells what it is: JSON of ``docker inspect``, ``podman inspect``, ``kubectl get
pod -o json`` or ``crictl inspect``, an OCI ``config.json``, or what systemd was asked (`units`). A
pod's specification has no field for I/O. containerd and CRI-O read annotations, which name a class
of their own configuration; it is taken as JSON, too.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from ..errors import Refused
from . import units
from .asked_records import Asked, AskedLimit, AskedWeight, number

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
#: The same in ``podman pod inspect``.
POD = {
    "device_read_bps": "BlkioDeviceReadBps",
    "device_write_bps": "BlkioDeviceWriteBps",
    "blkio_weight": "BlkioWeight",
    "blkio_weight_device": "BlkioWeightDevice",
}
#: The sorts of containers in a pod.
CONTAINERS = ("container", "initContainer", "ephemeralContainer")
#: The annotations that containerd and CRI-O read, and words by which others look like these.
ANNOTATION = "blockio.resources.beta.kubernetes.io/"
LOOKS_LIKE_IO = re.compile(r"blk-?io|blockio|(?<!a)iops|[rw]bps|io\.max|io-?weight", re.IGNORECASE)


def read(files: Iterable[pathlib.Path]) -> list[Asked]:
    """Return what files say was asked."""
    texts = []
    for file in files:
        try:
            texts.append((str(file), file.read_text(encoding="utf-8-sig")))
        except (OSError, UnicodeDecodeError) as problem:
            raise Refused(f"expected a file with what was asked; found {file}: {problem}") from None
    return parsed(texts)


def parsed(texts: Sequence[tuple[str, str]]) -> list[Asked]:
    """Return what texts say was asked: (file, text)."""
    classes: dict[str, Any] = {}
    objects: list[dict[str, Any]] = []
    found = list(units.asked_of(one for one in texts if units.known(one[1])))
    for file, text in texts:
        if units.known(text):
            continue
        if text.lstrip()[:1] in ("{", "["):
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
        f"or an OCI config.json, a runtime's block I/O classes as JSON, a unit's file, or text of "
        f"systemctl show; found none of these in {file}; write it with one of these commands"
    )


def _objects(file: str, text: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON text, each of a known form."""
    found: list[Any] = []
    while text := text.lstrip():  # docker inspect --format json: one after another
        try:
            whole, end = json.JSONDecoder().raw_decode(text)
        except json.JSONDecodeError as problem:
            problem_is = f"expected JSON in {file}; found {problem}; write the file again"
            raise Refused(problem_is) from None
        text = text[end:]
        if isinstance(whole, dict) and isinstance(whole.get("items"), list):
            whole = whole["items"]
        found += whole if isinstance(whole, list) else [whole]
    # Images and services may stand between containers and pods.
    known = [one for one in found if isinstance(one, dict) and _known(one)]
    if found and not known:
        raise _unknown(file)
    return known


def _known(one: Mapping[str, Any]) -> bool:
    """Tell whether an object is of a known form."""
    forms = {"HostConfig", "CreateCgroup", "Classes", "classes"}
    return one.get("kind") == "Pod" or bool(forms & set(one)) or bool(_oci(one))


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
    elif "CreateCgroup" in one:
        config = {field: one.get(key) for key, field in POD.items()}
        state = {"CgroupPath": one.get("CgroupPath")}
        yield _engine({**one, "State": state, "HostConfig": config})
    else:
        yield _runtime(one)


def _engine(one: dict[str, Any]) -> Asked:
    """Return what Docker or podman was asked for a container."""
    config, state = one["HostConfig"], one.get("State") or {}
    limits = [
        AskedLimit(row["Path"], key, row["Rate"])
        for field, key in ENGINE.items()
        for row in config.get(field) or []
        if row["Rate"]
    ]
    limits += _unified(config.get("CgroupConf"))
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
    resources = linux.get("resources") or {}
    asked = resources.get("blockIO") or {}
    limits = [
        AskedLimit(f"{row['major']}:{row['minor']}", key, row["rate"])
        for field, key in OCI.items()
        for row in asked.get(field) or []
        if row["rate"]
    ]
    limits += _unified(resources.get("unified"))
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


def _unified(files: Mapping[str, str] | None) -> Iterator[AskedLimit]:
    """Yield the limits among what shall be written to files of version 2 as it is."""
    for line in (files or {}).get("io.max", "").splitlines():
        device, *pairs = line.split()
        for key, _, value in (pair.partition("=") for pair in pairs):
            if value.isdigit():
                yield AskedLimit(device, key, int(value))


def _pod(one: dict[str, Any], classes: Mapping[str, Any]) -> Iterator[Asked]:
    """Yield what a pod asks for each container, and what of it nothing reads."""
    about = one["metadata"]
    annotations = about.get("annotations") or {}
    spec, status = one.get("spec") or {}, one.get("status") or {}
    states = [row for sort in CONTAINERS for row in status.get(f"{sort}Statuses") or []]
    ids = {row["name"]: (row.get("containerID") or "").rpartition("/")[2] for row in states}
    ended = {row["name"] for row in states if "terminated" in (row.get("state") or {})}
    containers = [row for sort in CONTAINERS for row in spec.get(f"{sort}s") or []]
    for container in containers:
        name = container["name"]
        key = annotations.get(f"{ANNOTATION}container.{name}", annotations.get(f"{ANNOTATION}pod"))
        if key and name not in ended:
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


def fetched() -> tuple[list[Asked], dict[str, str]]:
    """Return what the engines and systemd of this host say, and who of them did not, and why."""
    found: list[Asked] = []
    answers: dict[str, str] = {}
    for program in filter(shutil.which, ("docker", "podman", "systemctl")):
        text, answers[program] = _answer(program)
        try:
            found += parsed([(program, text)]) if text.strip() else []
        except Refused as unread:  # an answer of a version that nobody knows yet
            answers[program] = str(unread)
    return found, answers


def _answer(program: str) -> tuple[str, str]:
    """Return what a program says of all that runs, and why it said nothing."""
    if program == "systemctl":
        options = [f"--property={name}" for name in ("Id", "ControlGroup", *units.PROPERTIES)]
        return _output([program, "show", *options, "*.service", "*.slice", "*.scope"])
    running, problem = _output([program, "ps", "--quiet", "--no-trunc"])
    return _output([program, "inspect", *running.split()]) if running.strip() else ("", problem)


def _output(argv: list[str]) -> tuple[str, str]:
    """Return what a program prints, and why it printed nothing.

    Engines fail, and print the rest, where one of several containers has ended since.
    """
    try:
        run = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return "", str(problem)
    if run.returncode and not run.stdout.strip():
        return "", " ".join(run.stderr.split()) or f"status {run.returncode}"
    return run.stdout, ""
