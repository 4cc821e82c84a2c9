"""What the operator sees beside the log: a live table, a page of Prometheus metrics."""

from __future__ import annotations

import http.server
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

    #: Labels and value; what has none is left out.
    Samples = list[tuple[dict[str, str], float | None]]

    from ..regulator.control import Decision
    from ..regulator.observation import Observation, Usage

HOME, CLEAR_BELOW, CLEAR_LINE = "\x1b[H", "\x1b[J", "\x1b[K"

COLUMNS = (
    "container            class    role       IOPS  read KiB/s write KiB/s  wait ms  queue  util %"
    "  limit KiB/s"
)

#: How many decisions of one period the live table shows.
SHOWN_DECISIONS = 4


def table(
    observation: Observation,
    limits: Mapping[str, int],
    decisions: Sequence[Decision],
    width: int = 120,
) -> list[str]:
    """Return the live table of one period as lines.

    A wait, queue or utilisation with ``~`` is that of a shared device. An offender is under a
    limit; a victim is whose wait, queue or utilisation led to a decision of this period.
    """
    lines = []
    for name, disk in sorted(observation.disks.items()):
        source = "" if disk.has_counters else " (mean of the containers' devices)"
        lines.append(f"disk {name}: utilisation {disk.utilization_ratio:.1%}{source}")
    lines += decided(decisions)
    lines.append(COLUMNS)
    victims = {decision.numbers.get("victim") for decision in decisions}
    for usage in sorted(observation.containers, key=lambda usage: (-usage.load, usage.name)):
        wait = "-" if usage.wait_ms is None else f"{usage.wait_ms:.2f}"
        shared = " " if usage.own_device else "~"
        limit = limits.get(usage.key)
        shown = "-" if limit is None else f"{limit / 1024:.0f}"
        role = "offender" if limit is not None else "victim" if usage.name in victims else ""
        lines.append(
            f"{usage.name[:20]:20} {usage.sla_class[:8]:8} {role:8} {usage.iops:6.0f} "
            f"{usage.read_bytes_s / 1024:11.0f} {usage.write_bytes_s / 1024:11.0f} "
            f"{wait:>8}{shared}{usage.queue_length:6.2f}{shared}"
            f"{100 * usage.utilization_ratio:6.1f}{shared}{shown:>13}"
        )
    return [line[:width] for line in lines]


def decided(decisions: Sequence[Decision]) -> list[str]:
    """Return a period's decisions as lines, the first ones where there are many."""
    if not decisions:
        return ["decision: none, all limits stay as they are"]
    lines = []
    for decision in decisions[:SHOWN_DECISIONS]:
        what = f"{decision.action} {decision.name}".strip()
        if decision.limit_bytes_s is not None:
            what += f" to {decision.limit_bytes_s / 1024:.0f} KiB/s"
        lines.append(f"decision: {what}: {decision.cause}")
    more = len(decisions) - SHOWN_DECISIONS
    return lines + [f"decision: {more} more, see the log"] * (more > 0)


def draw(
    observation: Observation,
    limits: Mapping[str, int],
    decisions: Sequence[Decision],
    file: TextIO | None = None,
) -> None:
    """Draw the table over the last one on a terminal."""
    file = file or sys.stdout
    lines = [f"{line}{CLEAR_LINE}\n" for line in table(observation, limits, decisions)]
    file.write(HOME + "".join(lines) + CLEAR_BELOW)
    file.flush()


#: Metric -> (help, value of a `Usage`).
CONTAINER_METRICS: dict[str, tuple[str, Callable[[Usage], float | None]]] = {
    "requests_per_second": ("Requests served", lambda usage: usage.iops),
    "read_bytes_per_second": ("Bytes read", lambda usage: usage.read_bytes_s),
    "write_bytes_per_second": ("Bytes written", lambda usage: usage.write_bytes_s),
    "wait_seconds": (
        "Mean time of a request on the device",
        lambda usage: None if usage.wait_ms is None else usage.wait_ms / 1000,
    ),
    "queue_length": ("Mean requests on the device", lambda usage: usage.queue_length),
    "utilization_ratio": ("Part of the time with a request", lambda usage: usage.utilization_ratio),
}


def metrics_page(
    observation: Observation | None,
    limits: Mapping[str, int],
    counts: Mapping[str, int],
    missed: int,
) -> str:
    """Return the text of the metrics (Prometheus exposition format 0.0.4)."""
    lines = []

    def family(name: str, kind: str, text: str, samples: Samples) -> None:
        lines.append(f"# HELP elevatorlab_{name} {text}.")
        lines.append(f"# TYPE elevatorlab_{name} {kind}")
        for labels, value in samples:
            if value is not None:
                inside = ",".join(f'{key}="{_escaped(of)}"' for key, of in labels.items())
                lines.append(f"elevatorlab_{name}{{{inside}}} {value}".replace("{}", ""))

    usages = observation.containers if observation else ()
    for name, (text, value) in CONTAINER_METRICS.items():
        samples = [({"container": usage.name}, value(usage)) for usage in usages]
        family(f"container_{name}", "gauge", text, samples)
    samples = [({"container": usage.name}, limits.get(usage.key)) for usage in usages]
    family("container_limit_bytes_per_second", "gauge", "Limit of reads and writes each", samples)
    disks = observation.disks.values() if observation else ()
    samples = [({"disk": disk.name}, disk.utilization_ratio) for disk in disks]
    family("disk_utilization_ratio", "gauge", "Utilisation of a shared disk", samples)
    samples = [({"action": action}, number) for action, number in sorted(counts.items())]
    family("decisions_total", "counter", "Decisions by action", samples)
    family("missed_periods_total", "counter", "Control periods missed", [({}, missed)])
    family("cpu_seconds_total", "counter", "CPU time of the regulator", [({}, time.process_time())])
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def serve_metrics(port: int, page: Callable[[], str]) -> http.server.ThreadingHTTPServer:
    """Serve `page()` on the loopback address until the returned server is shut down."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path.split("?")[0] == "/metrics"
            body = page().encode() if known else b"see /metrics\n"
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent: standard error is for the operator."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
