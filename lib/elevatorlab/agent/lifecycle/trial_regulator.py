"""A trial's regulator: the process that `regulation` starts."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from ..errors import Refused
from ..regulator import catalogue
from ..regulator.actuator import Actuator
from ..regulator.control import Settings
from ..regulator.event_log import JsonLines
from ..regulator.loop import Loop
from ..regulator.monitor import Monitor
from ..regulator.targets import NamedCgroups, Pattern
from ..regulator.topology import Topology, find_cgroups
from . import plugin_archive
from .journal import Journal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def main(specification: str) -> int:
    """Regulate as the JSON text `specification` says, until told to stop; return the status.

    That is by a signal, or by the end of standard input: where the agent is killed, its regulator
    must not meet the groups of the next trial, which have the same names.
    """
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    threading.Thread(target=_end_with_input, args=(stop,), daemon=True).start()
    wanted = json.loads(specification)
    if wanted["plugins"]:
        plugin_archive.load(wanted["plugins"])
    try:
        regulate(wanted, stop)
    except Refused as problem:
        print(f"the trial's regulator: {problem}", file=sys.stderr)
        return 2
    return 0


def _end_with_input(stop: threading.Event) -> None:
    os.read(0, 1)
    stop.set()


def regulate(wanted: Mapping[str, Any], stop: threading.Event) -> None:
    """Regulate the trial's groups until the event `stop` is set; the limits are restored."""
    hierarchy, topology = find_cgroups(), Topology()
    monitor = Monitor(hierarchy, topology, wanted["disk"])
    monitor.check(wanted["disk"])
    cgroups = [Pattern(path, (device,)) for path, device in wanted["cgroups"].items()]
    source = NamedCgroups(cgroups, list(wanted["classes"]), hierarchy, topology)
    slas = {"": wanted["sla_wait_ms"], **wanted["classes"]}
    options = wanted.get("options", {})
    policy = catalogue.made(wanted["policy"], slas, "wait_ms", wanted["threshold"], options)
    settings = Settings(floor_bytes_s=round(wanted["floor_kib_s"] * 1024))
    with open(wanted["log"], "w") as log, Journal() as journal:
        actuator = Actuator(hierarchy, monitor.number, journal)
        loop = Loop(source, monitor, policy, settings, actuator, JsonLines(log))
        loop.run(wanted["period_s"], stop)
