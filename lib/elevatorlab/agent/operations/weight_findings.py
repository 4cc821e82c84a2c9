"""The weights and classes that the kernel's files hold, and who keeps to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..devices import schedulers
from ..regulator.shared_journals import lines_of
from .findings import Finding, Kind, Severity

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from .audited_host import Host

#: Devices in memory, in a drive that is read, or that a card starts from: nobody weighs these.
NO_DRIVES = re.compile(r"ram|zram|loop|sr|fd|nbd|mmcblk\d+boot")

#: A tunable of each of the kernel's schedulers that serves classes of priority apart.
KNOW_CLASSES = ("fifo_batch", "slice_idle")


class Weigher(NamedTuple):
    """Who keeps to a file of weights: a scheduler, or the cost controller (None)."""

    scheduler: str | None
    default: int


def weighers(version: int) -> dict[str, Weigher]:
    """Return who keeps to which file of weights."""
    found = {
        record["weight_files"][str(version)]: Weigher(name, 100)
        for name, record in schedulers.RECORDS.items()
        if str(version) in record["weight_files"]
    }
    # CFQ went with Linux 5.0, and its default was 500.
    found.update({"io.weight": Weigher(None, 100)} if version == 2 else {})
    found.update({"blkio.weight": Weigher("cfq", 500)} if version == 1 else {})
    return found


def of_weights(host: Host) -> Iterator[Finding]:
    """Yield every finding about weights and goals, cgroup by cgroup."""
    for folder in host.groups:
        yield from unweighed(host, folder)
        yield from never_idle(host, folder)
        yield from encrypted(host, folder)
        yield from latency_beside_cost(host, folder)
        yield from unranked(host, folder)


def unweighed(host: Host, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield a weight to which nothing keeps, on all or some of the disks that the cgroup uses."""
    by_disk = {disk: set_weights(host, folder, disk) for disk in used(host, folder)}
    weighed = {disk: files for disk, files in by_disk.items() if files}
    deaf = [
        disk
        for disk, files in weighed.items()
        if not any(at_work(host, disk, weighers(host.hierarchy.version)[file]) for file in files)
    ]
    if not deaf:
        return
    hearing = [disk for disk in weighed if disk not in deaf]
    files = weighed[deaf[0]]
    cfq = list(files) == ["blkio.weight"]
    kind = Kind.WEIGHT_WITHOUT_CFQ if cfq else Kind.WEIGHT_IGNORED
    yield Finding(
        # A disk that it has never used may be none that its weight is meant for.
        *(kind, Severity.NOTE if hearing and not worked(host, folder) else Severity.WARNING),
        host.subject(folder),
        {
            **files,
            "deaf_disks": deaf,
            "weighed_disks": hearing,
            "schedulers": [host.devices.queue(disk, "scheduler") for disk in deaf],
        },
        f"its weight has no effect on {', '.join(deaf)}: "
        + ("only CFQ keeps to blkio.weight" if cfq else "nothing that keeps to it is at work there")
        + f"; {weighed_again(host, deaf[0], 'io.weight' in files)}",
    )


def never_idle(host: Host, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield a weight on a disk whose scheduler does not wait for who has its turn.

    Who has one request at a time in flight then has none when its turn comes.
    """
    weighed = [disk for disk in used(host, folder) if set_weights(host, folder, disk)]
    for disk in weighed:
        idle = host.devices.queue(disk, "iosched/slice_idle")
        scheduler = schedulers.selected(host.devices.queue(disk, "scheduler"))
        if idle == "0" and not costed(host, host.devices.number(disk)):
            yield Finding(
                *(Kind.WEIGHT_IGNORED, Severity.NOTE, host.subject(folder)),
                {"disk": disk, "scheduler": scheduler, "slice_idle": 0},
                f"its weight counts on {disk} only while it has several requests in flight, since "
                f"{scheduler} does not wait for its next one; echo 8 > "
                f"/sys/block/{disk}/queue/iosched/slice_idle",
            )


def encrypted(host: Host, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield a weight on a disk to which threads of dm-crypt write for a cgroup."""
    for disk in used(host, folder):
        files = set_weights(host, folder, disk)
        found = host.encrypted(folder, disk) if files else None
        if found is not None:
            yield Finding(
                *(Kind.CRYPT, Severity.NOTE, host.subject(folder)),
                {**files, "disk": disk, **found.evidence()},
                f"its weight on {disk} does not count for writes to {found.device}, since threads "
                f"of dm-crypt, in no cgroup, write them to the disk; limit {found.device} "
                f"({found.number}) instead if its writes shall be slower",
            )


def weighed_again(host: Host, disk: str, cost: bool) -> str:
    """Return how weights get an effect on a disk; `cost`: also by the cost controller."""
    file, scheduler = next(
        (file, weigher.scheduler)
        for file, weigher in weighers(host.hierarchy.version).items()
        if weigher.scheduler in schedulers.RECORDS
    )
    enabled = f"'{host.devices.number(disk)} enable=1' > {host.hierarchy.root / 'io.cost.qos'}"
    return f"echo {scheduler} > /sys/block/{disk}/queue/scheduler and set {file}" + (
        f", or echo {enabled} (which takes the kernel's own guess of the disk unless io.cost.model "
        "holds another)"
        if cost and host.devices.number(disk)
        else ""
    )


def set_weights(host: Host, folder: pathlib.Path, disk: str) -> dict[str, int]:
    """Return the weights of a cgroup on a disk that somebody set: file -> weight."""
    found = {}
    for file, weigher in weighers(host.hierarchy.version).items():
        weight = weight_on(folder, file, host.devices.number(disk))
        if weight is not None and weight != weigher.default:
            found[file] = weight
    return found


def is_weighed(host: Host, folder: pathlib.Path) -> bool:
    """Tell whether somebody set a weight of a cgroup, on any disk that it may use."""
    return any(set_weights(host, folder, disk) for disk in used(host, folder))


def weight_on(folder: pathlib.Path, file: str, *numbers: str) -> int | None:
    """Return a cgroup's weight on the first of some devices, or else in general; None without."""
    lines = lines_of(folder / file) + lines_of(folder / f"{file}_device")
    values = {first: rest.strip() for first, rest in lines if rest}
    general = next((first for first, rest in lines if not rest), None)  # version 1
    own = next((values[number] for number in numbers if number in values), None)
    word = own or values.get("default") or general
    return int(word) if word and word.isdigit() else None


def used(host: Host, folder: pathlib.Path) -> list[str]:
    """Return the disks on which a cgroup did I/O; all drives of the host where it did none yet."""
    devices = host.devices
    names = worked(host, folder) or drives(host)
    disks = {disk for name in names for disk in devices.bottom(name)}
    return sorted(disk for disk in disks if devices.queue(disk, "scheduler"))


def worked(host: Host, folder: pathlib.Path) -> set[str]:
    """Return the drives, and what lies on them, on which a cgroup did I/O."""
    # Version 1 has a row of zeros for each device that somebody used.
    rows = host.counters(folder).items()
    return {host.devices.names.get(one, "") for one, row in rows if any(row)} & drives(host)


def drives(host: Host) -> set[str]:
    """Return the host's drives, and what lies on them."""
    return {name for name in host.devices.paths if not NO_DRIVES.match(name)}


def at_work(host: Host, disk: str, weigher: Weigher) -> bool:
    """Tell whether a scheduler, or without one the cost controller, is at work on a disk.

    Device mapper's multipath has the scheduler above the disks, on itself.
    """
    above = [name for name in host.devices.paths if disk in host.devices.chain(name)]
    if weigher.scheduler:
        lines = [host.devices.queue(name, "scheduler") for name in above]
        return weigher.scheduler in map(schedulers.selected, lines)
    return any(costed(host, host.devices.number(name)) for name in above)


def costed(host: Host, number: str) -> bool:
    """Tell whether the cost controller is at work on a disk."""
    return "enable=1" in dict(lines_of(host.hierarchy.root / "io.cost.qos")).get(number, "").split()


def latency_beside_cost(host: Host, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield a goal of latency on a disk that the cost controller throttles, too."""
    for number, words in lines_of(folder / "io.latency"):
        target = words.partition("target=")[2]
        if target.isdigit() and int(target) and costed(host, number):
            yield Finding(
                *(Kind.LATENCY_BESIDE_COST, Severity.WARNING, host.subject(folder)),
                {"device": number, "target_us": int(target), "io_cost_enable": 1},
                f"io.latency and io.cost both throttle {host.devices.names.get(number, number)}, "
                "and neither knows of the other; keep one: echo "
                f"'{number} target=0' > io.latency, or echo '{number} enable=0' > io.cost.qos",
            )


def unranked(host: Host, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield a class of priority on disks whose scheduler serves all classes alike."""
    asked = next((first for first, _ in lines_of(folder / "io.prio.class")), "no-change")
    if asked == "no-change":
        return
    known = {name for name, record in schedulers.RECORDS.items() if record["source"] == "linux"}
    ranking = [
        name for name, record in schedulers.RECORDS.items() if record["signature"] in KNOW_CLASSES
    ]
    deaf = [
        disk
        for disk in used(host, folder)
        if schedulers.selected(host.devices.queue(disk, "scheduler")) in known - {*ranking}
    ]
    if deaf:
        yield Finding(
            *(Kind.CLASS_IGNORED, Severity.WARNING, host.subject(folder)),
            {
                "io.prio.class": asked,
                "deaf_disks": deaf,
                "schedulers": [host.devices.queue(disk, "scheduler") for disk in deaf],
            },
            f"its class of priority has no effect on {', '.join(deaf)}: the scheduler there serves "
            f"all classes alike; echo {ranking[0]} > /sys/block/{deaf[0]}/queue/scheduler",
        )
