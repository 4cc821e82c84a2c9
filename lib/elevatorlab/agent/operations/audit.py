"""Does each limit on this host bite? Reads what was asked and held, and changes nothing.

Every finding is a record with its kind, severity and evidence, and one sentence for people.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import TYPE_CHECKING

from ..errors import Refused
from ..groups.hierarchies import V1, V2
from ..lifecycle.journal import REGULATORS
from ..regulator import targets
from ..regulator.topology import Topology, find_cgroups
from . import asked
from .asked_findings import folders_of, of_asked
from .audited_host import Host, own_mounts
from .findings import Finding, Kind, Severity, above_notes
from .kernel_findings import of_kernel
from .weight_findings import is_weighed, of_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .audited_host import Hierarchy

EXIT_CLEAN, EXIT_FOUND, EXIT_REFUSED = 0, 1, 2

#: Where regulators note what they change.
STATE = REGULATORS.relative_to("/")


def main(argv: Sequence[str]) -> int:
    """Audit this host; print what was found.

    Returns 0: nothing is worse than a note; 1: something is; 2: it could not be done, and why.
    """
    options = parser().parse_args(argv)
    try:
        host = host_of(options)
    except Refused as problem:
        print(f"regulate audit: {problem}", file=sys.stderr)
        return EXIT_REFUSED
    findings = audit(host)
    if options.json:
        print(json.dumps([finding.record() for finding in findings], indent=1))
    else:
        print(page(host, findings), end="")
    return EXIT_FOUND if above_notes(findings) else EXIT_CLEAN


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
        help="only these and those below them, by their path below the root: kubepods.slice",
    )
    reader.add_argument(
        "--asked",
        action="append",
        default=[],
        type=pathlib.Path,
        metavar="FILE",
        help="what was asked: output of docker inspect, podman inspect, kubectl get pod -o json, "
        "crictl inspect, systemctl show or cat (default: what the programs of this host say)",
    )
    reader.add_argument(
        "--root",
        type=pathlib.Path,
        default=pathlib.Path("/"),
        metavar="FOLDER",
        help="a copy of a host's files: FOLDER/sys and FOLDER/proc, and cgroups as mounted there",
    )
    reader.add_argument("--json", action="store_true", help="print the findings as JSON")
    return reader


def host_of(options: argparse.Namespace) -> Host:
    """Return the host that the options name."""
    root = options.root
    live = root == pathlib.Path("/")
    hierarchy = live_cgroups(root) if live else copied_cgroups(root)
    topology = Topology(root / "sys", root / "proc")
    if options.asked:
        wanted, answers = asked.read(options.asked), {str(one): "" for one in options.asked}
    else:
        wanted, answers = asked.fetched() if live else ([], {})
    groups = chosen(hierarchy, options.cgroup)
    host = Host(hierarchy, topology, groups, wanted, root / STATE, root, answers, live)
    if options.cgroup:
        host.asked = [one for one in wanted if {*folders_of(host, one)} & {*groups}]
    return host


def live_cgroups(root: pathlib.Path) -> Hierarchy:
    """Return the hierarchy that limits I/O on this host, whatever its mounts are called."""
    try:
        return find_cgroups()
    except UnicodeDecodeError:
        return copied_cgroups(root)


def copied_cgroups(root: pathlib.Path) -> Hierarchy:
    """Return the hierarchy that limits I/O on the host whose files were copied below `root`."""
    mounts = own_mounts(root / "proc")
    for mount in mounts:
        if mount.kind == "cgroup" and "blkio" in mount.options:
            return V1(root / mount.point.lstrip("/"))
    for mount in mounts:
        if mount.kind == "cgroup2":
            return V2(root / mount.point.lstrip("/"))
    usual = root / "sys/fs/cgroup"
    if usual.is_dir() and any(usual.iterdir()):
        return V1(usual / "blkio") if (usual / "blkio").is_dir() else V2(usual)
    raise Refused(
        f"expected {root}/proc/self/mountinfo with cgroups, v1 with blkio or v2; found "
        f"{len(mounts)} mounts and none of these; copy proc, sys and the cgroups of the host there"
    )


def chosen(hierarchy: Hierarchy, patterns: Iterable[str]) -> list[pathlib.Path]:
    """Return the cgroups that fit any of the patterns, and all below them; all without any."""
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
        found.update(fitting, targets.fitting(f"{pattern}/**", root) if wanted else ())
    return [pathlib.Path(folder) for folder in sorted(found)]


def audit(host: Host) -> list[Finding]:
    """Return every finding, the worst first, and those of one cgroup together."""
    found = [*unanswered(host), *of_asked(host), *of_kernel(host), *of_weights(host)]
    told = [one for one in found if one.kind is Kind.DROPPED]
    found = [one for one in found if not any(explains(host, cause, one) for cause in told)]
    return sorted(found, key=lambda one: (one.severity.rank, one.subject, one.kind.value))


def unanswered(host: Host) -> Iterator[Finding]:
    """Yield each program that was asked what limits it gave, and did not say."""
    for program, problem in host.answers.items():
        if problem:
            yield Finding(
                *(Kind.NOT_ASKED, Severity.NOTE, program),
                {"problem": problem},
                "what it was asked to limit is not compared with what the kernel holds, since it "
                "gave no answer; give its answer by --asked FILE",
            )


def explains(host: Host, dropped: Finding, other: Finding) -> bool:
    """Tell whether a limit that never arrived is why another finding was made."""
    if dropped.subject != other.subject:
        return False
    if other.kind is Kind.OTHER_DISK:
        used = host.devices.names.get(str(other.evidence["used_device"]), "")
        return dropped.evidence.get("disk") in host.devices.chain(used)
    return other.kind is Kind.OTHER_DIRECTION


def page(host: Host, findings: Sequence[Finding]) -> str:
    """Return the findings as text."""
    lines = [
        f"{finding.severity.value}: {finding.subject}: {finding.kind.value}\n  {finding.sentence}\n"
        f"  {', '.join(f'{name}: {value}' for name, value in finding.evidence.items())}\n\n"
        for finding in findings
    ]
    limits = sum(len(host.limits(folder)) for folder in host.groups)
    weights = sum(is_weighed(host, folder) for folder in host.groups)
    answered = [program for program, problem in host.answers.items() if not problem]
    return "".join(lines) + (
        f"cgroup v{host.hierarchy.version}, {len(host.groups)} cgroups looked at: {limits} limits, "
        f"{weights} cgroups with weights; asked: {', '.join(answered) or 'nobody'}; "
        f"findings: {len(findings)}\n"
    )
