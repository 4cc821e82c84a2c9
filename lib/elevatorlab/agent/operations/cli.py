"""The command line of the regulator: everything is checked before anything is changed."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import shlex
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from ..errors import Refused
from ..lifecycle.journal import REGULATORS, Journal
from ..lifecycle.recovery import recover
from ..regulator import catalogue
from ..regulator.actuator import Actuator
from ..regulator.catalogue import ENSURE_SLA, POLICIES
from ..regulator.control import Settings
from ..regulator.decisions import decide
from ..regulator.event_log import JsonLines
from ..regulator.monitor import Monitor
from ..regulator.paper import check_readings
from ..regulator.targets import NamedCgroups
from ..regulator.topology import Topology, find_cgroups
from . import audit, classes, engine, left_behind, live_table, metrics
from .containers import EngineContainers
from .service import Renewal, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from http.server import ThreadingHTTPServer
    from typing import Any, TextIO

    from ..groups.hierarchies import Hierarchy
    from ..regulator.control import Policy
    from ..regulator.targets import Source
    from .classes import SlaClass

EXIT_NOT_RESTORED = 1
EXIT_REFUSED = 2

METRICS = {
    "sla_wait_ms": "wait_ms",
    "sla_queue": "queue_length",
    "sla_utilization": "utilization_ratio",
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    reader = argparse.ArgumentParser(
        prog="regulate",
        description="Keep containers from slowing each other down on a shared disk.",
        epilog="regulate audit: say which limits on this host do not bite (--help: its options).",
    )
    add = reader.add_argument
    add("--policy", choices=tuple(POLICIES), help="required, but for --restore")
    add("--options", type=_object, default={}, metavar="JSON", help="of the policy")
    add("--sla-wait-ms", type=_positive, metavar="MS", help="the longest mean wait")
    add("--sla-queue", type=_positive, metavar="N", help="the longest mean queue")
    add(
        "--sla-utilization",
        type=_positive,
        metavar="RATIO",
        help="the highest utilisation of a container",
    )
    add(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="CLASS=SLA",
        help="an SLA of its own for containers with the label elevatorlab.class=CLASS or a name "
        "that matches the pattern CLASS; CLASS=none: no SLA",
    )
    add(
        "--config",
        type=pathlib.Path,
        metavar="FILE",
        help="a file with classes: their SLAs, cgroups and devices",
    )
    add("--config-name", help=argparse.SUPPRESS)  # where FILE is a copy of another one
    add(
        "--threshold",
        type=_ratio,
        default=0.75,
        metavar="RATIO",
        help="UTE: utilisation of the disk",
    )
    chosen = reader.add_mutually_exclusive_group()
    chosen.add_argument("--container", action="append", default=[], metavar="NAME")
    chosen.add_argument(
        "--cgroup",
        action="append",
        default=[],
        metavar="PATTERN[=DEVICE]",
        help="cgroups by their path below the root: 'kubepods.slice/*', system.slice/a.service",
    )
    add("--device", action="append", default=[], metavar="NAME", help="what the containers use")
    add("--disk", metavar="NAME", help="the disk below, where the kernel cannot tell")
    add("--floor-kib-s", type=_positive, default=128, metavar="N", help="never limit below")
    add("--period-s", type=_period, default=1.0, metavar="S")
    add("--dry-run", action="store_true", help="decide and log, but set nothing")
    add(
        "--restore",
        action="store_true",
        help="take away the limits that a killed regulator has left, print them, and end",
    )
    add("--once", action="store_true", help="print one observation as JSON and end")
    add("--log", metavar="FILE", help="JSON lines go here instead of standard output")
    add("--metrics-port", type=int, metavar="N", help="serve /metrics on 127.0.0.1")
    add("--state", type=pathlib.Path, default=REGULATORS, metavar="FOLDER", help=argparse.SUPPRESS)
    return reader


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text}")
    return value


def _ratio(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a ratio between 0 and 1, found {text}")
    return value


def _object(text: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(text)
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object, found {text}")
    return value


def _period(text: str) -> float:
    value = float(text)
    if not 0.05 <= value <= 60:
        raise argparse.ArgumentTypeError(f"expected 0.05 to 60 seconds, found {text}")
    return value


def classes_of(options: argparse.Namespace) -> list[SlaClass]:
    """Return the classes of the command line, then those of the file."""
    given = [classes.from_text(text) for text in options.classes]
    if options.config is None:
        return given
    read = classes.read(options.config, options.config_name or str(options.config))
    if options.policy not in ENSURE_SLA and classes.slas_of(read):
        raise Refused(
            f"expected classes without an SLA with --policy {options.policy}; found one of class "
            f"{next(iter(classes.slas_of(read)))}"
        )
    return given + read


def policy_of(options: argparse.Namespace, known: Sequence[SlaClass]) -> Policy:
    """Return the policy that the options ask for, with the SLAs of the classes `known`."""
    slas, metric = {}, ""
    if options.policy in ENSURE_SLA:
        sla, metric = _sla(options)
        slas = {"": sla, **classes.slas_of(known)}
    try:
        check_readings(options.options)
        return catalogue.made(options.policy, slas, metric, options.threshold, options.options)
    except (TypeError, ValueError) as problem:
        raise Refused(
            f"expected --options that the policy {options.policy} takes; found "
            f"{json.dumps(options.options)}: {problem}"
        ) from None


def _sla(options: argparse.Namespace) -> tuple[float, str]:
    """Return everybody's SLA, and the metric that it is about."""
    given = [name for name in METRICS if getattr(options, name) is not None]
    if len(given) != 1:
        found = " and ".join("--" + name.replace("_", "-") for name in given) or "none"
        raise Refused(
            f"expected one of --sla-wait-ms, --sla-queue, --sla-utilization; found {found}; "
            f"--policy {options.policy} judges one metric"
        )
    return getattr(options, given[0]), METRICS[given[0]]


def source_of(
    options: argparse.Namespace,
    known: Sequence[SlaClass],
    hierarchy: Hierarchy,
    topology: Topology,
) -> Source:
    """Return where the containers come from: cgroups where any are named, or the engine."""
    names = [one.name for one in known]
    cgroups = classes.named(options.cgroup, options.device)
    cgroups += classes.patterns_of(known, options.device)
    if cgroups and options.container:
        raise Refused("expected --container or classes with cgroups; found both")
    if cgroups:
        return NamedCgroups(cgroups, names, hierarchy, topology)
    docker = engine.reach(engine.socket_path())
    return EngineContainers(
        docker, set(options.container), options.device, names, hierarchy, topology
    )


def main(argv: list[str]) -> int:
    """Run the regulator; return the exit status.

    Returns 0 after a clean stop, 1 when a limit could not be restored, 2 when it could not start:
    one sentence says why.
    """
    if argv and argv[0].startswith("--plugins="):
        from ..lifecycle import plugin_archive  # which load all that a trial may use

        plugin_archive.load(argv.pop(0).partition("=")[2])
    if argv[:1] == ["audit"]:
        return audit.main(argv[1:])
    reader = parser()
    options = reader.parse_args(argv)
    if not options.policy and not options.restore:
        reader.error("the following arguments are required: --policy")
    try:
        with contextlib.ExitStack() as undo:
            return (restore if options.restore else regulate)(options, undo)
    except Refused as problem:
        print(f"regulate: {problem}", file=sys.stderr)
        return EXIT_REFUSED


def restore(options: argparse.Namespace, undo: contextlib.ExitStack) -> int:
    """Restore what a killed regulator has left, and do nothing else."""
    log = JsonLines(_log_file(options.log, undo))
    noted = list(left_behind.everywhere(options.state))
    _journal(find_cgroups(), options.state, undo)
    failed = list(left_behind.everywhere(options.state))
    places = [(one.cgroup, one.device) for one in failed]
    for one in noted:
        if (one.cgroup, one.device) not in places:
            log.write("restored", **one.record())
    for one in failed:
        print(
            f"regulate: expected to restore the limit of {one.cgroup} on {one.device}; found that "
            "it cannot be written, as said above; it stays noted: mend that, and use --restore "
            "again",
            file=sys.stderr,
        )
    return EXIT_NOT_RESTORED if failed else 0


def regulate(options: argparse.Namespace, undo: contextlib.ExitStack) -> int:
    """Check, regulate until a signal comes, and leave nothing behind."""
    stop, again = _signals(bool(options.config))
    known = classes_of(options)
    policy = policy_of(options, known)
    hierarchy, topology = find_cgroups(), Topology()
    monitor = Monitor(hierarchy, topology, options.disk)
    if options.disk:
        monitor.check(options.disk)
    for name in options.device:
        monitor.check(name)
    source = source_of(options, known, hierarchy, topology)
    classes.check_paths(classes.named(options.cgroup, options.device), hierarchy)
    settings = Settings(floor_bytes_s=round(options.floor_kib_s * 1024))
    if options.once:
        undo.callback(source.close)
        return _once(source, monitor, policy, settings, options.period_s)
    log = JsonLines(_log_file(options.log, undo))
    actuator = None
    if options.dry_run:
        for one in left_behind.everywhere(options.state):
            log.write("left_behind", **one.record())
    else:
        journal = _journal(hierarchy, options.state, undo)
        actuator = Actuator(hierarchy, monitor.number, journal)
    show = live_table.draw if options.log and sys.stdout.isatty() else None

    def read_again() -> tuple[Policy, Source]:
        known = classes_of(options)
        return policy_of(options, known), source_of(options, known, hierarchy, topology)

    renewal = Renewal(again, read_again)
    loop = Service(source, monitor, policy, settings, actuator, log, renewal, show)
    undo.callback(lambda: loop.source.close())
    if options.metrics_port:
        undo.callback(_serve(options.metrics_port, loop.metrics).shutdown)
    log.write("start", policy=options.policy, law=policy._asdict(), cgroup=hierarchy.version)
    # Called first of all when the stack is left: the last line before the limits are restored.
    undo.callback(lambda: log.write("stop", missed=loop.missed, restored=loop.limited()))
    loop.run(options.period_s, stop)
    return 0


def _signals(reloads: bool) -> tuple[threading.Event, threading.Event]:
    """Return the events of being told to stop, and to read the file of classes again."""
    stop, again = threading.Event(), threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    signal.signal(signal.SIGHUP, lambda *_: (again if reloads else stop).set())
    return stop, again


def _log_file(name: str | None, undo: contextlib.ExitStack) -> TextIO:
    if name is None:
        return sys.stdout
    try:
        return undo.enter_context(open(name, "a"))
    except OSError as problem:
        raise Refused(f"expected a file to log to; found {name}: {problem.strerror}") from None


def _journal(hierarchy: Hierarchy, folder: pathlib.Path, undo: contextlib.ExitStack) -> Journal:
    """Restore what a killed regulator left, and return the journal of this one."""
    if not os.access(hierarchy.root, os.W_OK):
        raise Refused(
            f"expected to be allowed to write to {hierarchy.root}; found that it is not; run as "
            "root where cgroups are writable, or use --dry-run"
        )
    folder.mkdir(parents=True, exist_ok=True)
    lock = undo.enter_context(open(folder / "lock", "w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused(
            f"expected to be the only regulator on this host; found another one that holds "
            f"{folder}/lock; stop it first"
        ) from None
    recover(folder)
    journal = undo.enter_context(Journal(folder))
    since = datetime.datetime.now(datetime.timezone.utc)
    journal.will("owner", shlex.join(sys.argv), since.isoformat(timespec="seconds"))
    return journal


def _serve(port: int, page: Callable[[], str]) -> ThreadingHTTPServer:
    try:
        return metrics.serve(port, page)
    except (OSError, OverflowError) as problem:
        raise Refused(
            f"expected a free port for metrics; found 127.0.0.1:{port}: {problem}; choose another"
        ) from None


def _once(
    source: Source, monitor: Monitor, policy: Policy, settings: Settings, period_s: float
) -> int:
    """Print one observation and what the policy would do; set nothing."""
    found, notes = source.targets()
    monitor.observe(found)
    time.sleep(period_s)
    observation = monitor.observe(found)
    assert observation  # the second one
    _, decisions = decide(policy, {}, observation, settings)
    answer = {
        "period_s": observation.period_s,
        "containers": [usage._asdict() for usage in observation.containers],
        "disks": [disk._asdict() for disk in observation.disks.values()],
        "decisions": [decision._asdict() for decision in decisions],
        "notes": notes + monitor.notes,
    }
    print(json.dumps(answer, indent=1))
    return 0
