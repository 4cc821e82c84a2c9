"""A page of Prometheus metrics, served while the regulator runs."""

from __future__ import annotations

import http.server
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    #: Labels and value; what has none is left out.
    Samples = list[tuple[dict[str, str], float | None]]

    from ..regulator.observation import Observation, Usage

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


def page(
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


def serve(port: int, text: Callable[[], str]) -> http.server.ThreadingHTTPServer:
    """Serve `text()` on the loopback address until the returned server is shut down."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path.split("?")[0] == "/metrics"
            body = text().encode() if known else b"see /metrics\n"
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
