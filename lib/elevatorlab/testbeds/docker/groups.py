"""A container for each group of a trial, made through the engine's API.

The only device in a container is the device under test, or the file system on it. Its first process
is a worker of the agent. The container ends when the connection to that worker ends, and the engine
then removes it. So a killed agent or client leaves no container behind.
"""

import contextlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import docker
import tenacity
from docker.models.containers import Container
from docker.models.images import Image
from docker.models.volumes import Volume
from docker.types import DriverConfig, Mount

from ...trial import Trial
from ...trial.groups import Group
from .. import agent_archive

LABEL = "elevatorlab"

#: Folder that agent and containers share; its path is the same for both.
MEETING_PLACE = PurePosixPath("/run/elevatorlab/rendezvous")

AGENT_INSIDE = "/elevatorlab-agent.pyz"
WORK = "/work"

#: By limit of a trial: the parameter of the engine's API. Weights are set in the cgroup instead.
API_LIMITS = {
    "read_bytes_s": "device_read_bps",
    "write_bytes_s": "device_write_bps",
    "read_iops": "device_read_iops",
    "write_iops": "device_write_iops",
}


#: HTTP status: the thing is being removed already, or is still in use.
CONFLICT = 409


def make(
    client: docker.DockerClient,
    image: Image,
    run: str,
    trial: Trial,
    disk: str,
    devices: Mapping[str, str],
) -> dict[str, dict[str, Any]]:
    """Make the containers of a trial and return what the agent must know about them.

    `run`: The run's name; containers and the volume are called after it. `disk`: Kernel name of the
    device under test, on the engine's machine. `devices`: By group: kernel name of the group's own
    part of that device, or of the whole device. Returns: By group: ``process`` (id of the first
    process), ``work`` (folder of the file system, or None), ``socket`` (path of the worker's
    socket), ``limited`` (limits that the engine set).
    """
    remove(client, run)
    return {
        group.name: _make_one(
            client, image, run, group, disk, devices[group.name], trial.filesystem
        )
        for group in trial.groups
    }


def _make_one(
    client: docker.DockerClient,
    image: Image,
    run: str,
    group: Group,
    disk: str,
    device: str,
    filesystem: str | None,
) -> dict[str, Any]:
    place = MEETING_PLACE / run
    socket = place / f"{group.name}.sock"
    limits: dict[str, Any] = {
        API_LIMITS[name]: [{"Path": f"/dev/{disk}", "Rate": value}]
        for name, value in group.limits.model_dump().items()
        if name in API_LIMITS and value
    }
    mounts = [Mount(str(place), str(place), type="bind")]
    if filesystem:
        mounts.append(_volume(run, disk, filesystem))
    container = client.containers.create(
        image,
        ["python3", AGENT_INSIDE, "worker", str(socket)],
        name=f"elevatorlab-{run}-{group.name}",
        labels={LABEL: run},
        auto_remove=True,
        network_mode="none",
        mounts=mounts,
        devices=[] if filesystem else [f"/dev/{device}:/dev/{device}"],
        **limits,
    )
    container.put_archive("/", agent_archive.as_tar(AGENT_INSIDE.lstrip("/")))
    container.start()
    container.reload()
    return {
        "process": container.attrs["State"]["Pid"],
        "work": WORK if filesystem else None,
        "socket": str(socket),
        "limited": sorted(name for name in API_LIMITS if API_LIMITS[name] in limits),
    }


def _volume(run: str, device: str, filesystem: str) -> Mount:
    """Return a volume of the file system on `device`; the engine itself mounts it."""
    options = {"type": filesystem, "device": f"/dev/{device}"}
    return Mount(
        WORK,
        f"elevatorlab-{run}",
        type="volume",
        no_copy=True,
        labels={LABEL: run},
        driver_config=DriverConfig("local", options),
    )


def remove(client: docker.DockerClient, run: str | None = None) -> int:
    """Remove the containers and volumes of a run, or of all runs; return how many there were."""
    label = LABEL if run is None else f"{LABEL}={run}"
    removed = 0
    for container in client.containers.list(all=True, filters={"label": label}):
        _remove(container, force=True)
        removed += 1
    for volume in client.volumes.list(filters={"label": label}):
        _remove(volume, force=True)
        removed += 1
    return removed


def _remove(thing: Container | Volume, **how: bool) -> None:
    """Remove a container or volume, even while the engine removes it or something still uses it."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_conflict),
        wait=tenacity.wait_fixed(0.1),
        stop=tenacity.stop_after_delay(10),
        reraise=True,
    )
    with contextlib.suppress(docker.errors.NotFound):
        retrying(thing.remove, **how)


def _is_conflict(problem: BaseException) -> bool:
    return isinstance(problem, docker.errors.APIError) and problem.status_code == CONFLICT
