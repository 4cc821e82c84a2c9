"""Does each limit on this host bite? Reads what the kernel tells, and changes nothing.

Every finding has its proof, as it was read, and one remedy.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import TYPE_CHECKING, NamedTuple

from ..devices import schedulers
from ..errors import Refused
from ..groups.hierarchies import LIMITS
from ..regulator import targets
from ..regulator.shared_journals import lines_of, shared_journals, text_of, waiting_bytes
from ..regulator.topology import Topology, find_cgroups

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..groups.hierarchies import V1, V2

    Hierarchy = V1 | V2

EXIT_CLEAN, EXIT_FOUND, EXIT_REFUSED = 0, 1, 2

#: The file of the weights to which the kernel's cost model keeps; schedulers have their own.
COST_WEIGHT = "io.weight"
DEFAULT_WEIGHT = 100

#: What processes wrote and what was charged differ by less than this for many reasons.
UNSURE_BYTES = 1 << 20


class Finding(NamedTuple):
    """A limit or weight that does not do what it says, or that does more."""

    cgroup: str
    problem: str
    proof: str
    remedy: str


class Limit(NamedTuple):
    """What a cgroup may do on one device: `words` are those of the file, without the number."""

    cgroup: pathlib.Path
    number: str
    words: str
    writes: bool


class Host(NamedTuple):
    """What is looked at."""

    hierarchy: Hierarchy
    topology: Topology
    groups: list[pathlib.Path]

    def finding(self, folder: pathlib.Path, problem: str, proof: str, remedy: str) -> Finding:
        """Return a finding about a cgroup, which it names by its path below the root."""
        return Finding(str(folder.relative_to(self.hierarchy.root)), problem, proof, remedy)

    def queue(self, device: str, file: str) -> str:
        """Return a file of a device's queue, or nothing."""
        return text_of(self.topology.sys / "class/block" / device / "queue" / file)


def main(argv: Sequence[str]) -> int:
    """Audit this host; print what was found.

    Returns 0: every limit bites; 1: there are findings; 2: it could not be done, and why.
    """
    options = parser().parse_args(argv)
    try:
        hierarchy = find_cgroups()
        host = Host(hierarchy, Topology(), chosen(hierarchy, options.cgroup))
    except Refused as problem:
        print(f"regulate audit: {problem}", file=sys.stderr)
        return EXIT_REFUSED
    findings = audit(host)
    if options.json:
        print(json.dumps([finding._asdict() for finding in findings], indent=1))
    else:
        print(page(host, findings), end="")
    return EXIT_FOUND if findings else EXIT_CLEAN


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    reader = argparse.ArgumentParser(
        prog="regulate audit", description="Say which I/O limits on this host do not bite, and why."
    )
    reader.add_argument(
        "--cgroup",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only these, by their path below the root: kubepods.slice/*",
    )
    reader.add_argument("--json", action="store_true", help="print the findings as JSON")
    return reader


def chosen(hierarchy: Hierarchy, patterns: Iterable[str]) -> list[pathlib.Path]:
    """Return the cgroups below the root that fit any of the patterns; all without a pattern."""
    root = hierarchy.root
    wanted = [pattern.strip("/") for pattern in patterns]
    found: set[str] = set()
    for pattern in wanted or ["**"]:
        fitting = targets.fitting(pattern, root)
        if wanted and not fitting:
            raise Refused(
                f"expected a cgroup below {root} that fits {pattern!r}; found none of "
                f"{len(targets.fitting('**', root))}; give a path as systemd-cgls prints it, or a "
                "pattern, where * stands for one level and ** for any number"
            )
        found.update(fitting)
    return [pathlib.Path(folder) for folder in sorted(found)]


def audit(host: Host) -> list[Finding]:
    """Return every finding, cgroup by cgroup."""
    limits = [limit for folder in host.groups for limit in limits_of(host.hierarchy, folder)]
    checks = (misplaced, buffered, held_back, pinning)
    found = [finding for limit in limits for check in checks for finding in check(host, limit)]
    found += [finding for folder in host.groups for finding in weightless(host, folder)]
    return sorted(dict.fromkeys(found))


def page(host: Host, findings: Sequence[Finding]) -> str:
    """Return the findings as text."""
    lines = [
        f"{finding.cgroup}: {finding.problem}\n  proof:  {finding.proof}\n  remedy: "
        f"{finding.remedy}\n\n"
        for finding in findings
    ]
    looked_at = f"cgroup v{host.hierarchy.version}, {len(host.groups)} cgroups looked at"
    return "".join(lines) + f"{looked_at}; findings: {len(findings)}\n"


def limits_of(hierarchy: Hierarchy, folder: pathlib.Path) -> Iterator[Limit]:
    """Yield each limit that is set in a cgroup."""
    if hierarchy.version == 2:
        for number, words in lines_of(folder / "io.max"):
            set_here = " ".join(word for word in words.split() if not word.endswith("=max"))
            if set_here:
                yield Limit(
                    folder,
                    number,
                    f"io.max {set_here}",
                    any(word[0] == "w" for word in set_here.split()),
                )
        return
    for name, (file, _) in LIMITS.items():
        for number, words in lines_of(folder / file):
            yield Limit(folder, number, f"{file} {words}", name.startswith("write"))


def misplaced(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit on a partition, or on a device that is gone."""
    proof = f"{limit.words} for {limit.number}"
    device = host.topology.name(limit.number)
    if device is None:
        problem = "its limit is on a device that is not there"
        remedy = "set it again, for the number that lsblk shows now"
        yield host.finding(limit.cgroup, problem, f"{proof}, which /sys/dev/block lacks", remedy)
    elif (whole := host.topology.whole(device)) != device:
        yield host.finding(
            limit.cgroup,
            "its limit is on a partition, and limits hold for whole disks alone",
            f"{proof}; {device} is a partition of {whole}",
            f"limit {whole} ({host.topology.number(whole)}) instead",
        )


def buffered(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit of writes that buffered writes pass by: any of cgroup v1."""
    if host.hierarchy.version == 2 or not limit.writes:
        return
    written = written_by(host, limit.cgroup)
    charged = sum(row[3] for row in counters(host, limit.cgroup).values())
    pass_by = "pass" if written > charged + UNSURE_BYTES else "would pass"
    yield host.finding(
        limit.cgroup,
        f"buffered writes {pass_by} its limit by: cgroup v1 charges them to nobody",
        f"{limit.words}; its processes that still run wrote {written >> 10} KiB, and "
        f"{charged >> 10} KiB were charged to it",
        "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)",
    )


def written_by(host: Host, folder: pathlib.Path) -> int:
    """Return the bytes that a cgroup's processes caused to be written, those that may be asked."""
    total = 0
    for process in text_of(folder / "cgroup.procs").split():
        words = text_of(host.topology.proc / process / "io").split()
        counts = dict(zip(words[::2], words[1::2]))
        total += int(counts.get("write_bytes:", 0)) - int(counts.get("cancelled_write_bytes:", 0))
    return max(total, 0)


def held_back(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit on a disk whose writeback is throttled for all cgroups together."""
    device = host.topology.name(limit.number)
    latency_us = host.queue(device, "wbt_lat_usec") if device and limit.writes else ""
    if host.hierarchy.version == 2 and latency_us not in ("", "0"):
        yield host.finding(
            limit.cgroup,
            "writeback throttling lets its buffered writes wait in one line with everybody's",
            f"{limit.words} for {device}, whose queue/wbt_lat_usec is {latency_us}",
            f"echo 0 > /sys/block/{device}/queue/wbt_lat_usec",
        )


def pinning(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit by which one cgroup's dirty pages can hold up a journal that all share.

    In ordered mode a commit waits for the data of every file that grew, whoever wrote it; and who
    calls fsync waits for the commit.
    """
    if host.hierarchy.version != 2 or not limit.writes:
        return
    waiting = waiting_bytes(limit.cgroup)
    for mount in shared_journals(host.topology, limit.number):
        yield host.finding(
            limit.cgroup,
            f"its slow writeback can hold up the journal of {mount.point}, and all who fsync there",
            f"{limit.words} for {limit.number}, where {mount.point} is {mount.kind} in ordered "
            f"mode; {waiting >> 10} KiB of its pages are dirty or being written now",
            "give it a file system of its own, or weights with io.cost instead of the limit",
        )


def weightless(host: Host, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield a weight to which nothing keeps on any disk that the cgroup uses."""
    for file, scheduler in weights().items():
        words = text_of(folder / file).split()
        if not words or words[-1] == str(DEFAULT_WEIGHT) or not words[-1].isdigit():
            continue
        disks = used(host, folder)
        deaf = [disk for disk in disks if not keeps_to_weights(host, disk, scheduler)]
        if not deaf or len(deaf) < len(disks):
            continue
        first = deaf[0]
        if scheduler:
            state = f"the scheduler of {first} is {host.queue(first, 'scheduler')}"
            remedy = f"echo {scheduler} > /sys/block/{first}/queue/scheduler"
        else:
            state = f"io.cost.qos has no enable=1 for {first}"
            enabled = f"'{host.topology.number(first)} enable=1'"
            remedy = f"echo {enabled} > {host.hierarchy.root / 'io.cost.qos'}"
        yield host.finding(
            folder,
            f"its weight has no effect: {scheduler or 'io.cost'} is at work on none of its disks",
            f"{file} is {words[-1]}; {state}",
            remedy,
        )


def weights() -> dict[str, str | None]:
    """Return each file with weights, and the scheduler that keeps to it; None: the cost model."""
    found: dict[str, str | None] = {COST_WEIGHT: None}
    for name, record in schedulers.RECORDS.items():
        found.update(dict.fromkeys(record["weight_files"].values(), name))
    return found


def used(host: Host, folder: pathlib.Path) -> list[str]:
    """Return the disks on which a cgroup did I/O; all disks of the host where it did none yet."""
    names = {host.topology.name(number) for number in counters(host, folder)} - {None}
    all_disks = {path.name for path in (host.topology.sys / "class/block").glob("*")}
    disks = {host.topology.whole(name) for name in names or all_disks if name}
    return sorted(disk for disk in disks if host.queue(disk, "scheduler"))


def counters(host: Host, folder: pathlib.Path) -> dict[str, list[int]]:
    """Return a cgroup's counters; none where it has just ended."""
    try:
        return host.hierarchy.counters(folder, False)
    except OSError:
        return {}


def keeps_to_weights(host: Host, disk: str, scheduler: str | None) -> bool:
    """Tell whether a scheduler, or without one the cost model, is at work on a disk."""
    if scheduler:
        return schedulers.selected(host.queue(disk, "scheduler")) == scheduler
    lines = dict(lines_of(host.hierarchy.root / "io.cost.qos"))
    return "enable=1" in lines.get(host.topology.number(disk), "").split()
