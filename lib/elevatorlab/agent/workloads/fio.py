"""fio, with its own JSON report kept as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..groups.worker import ending
from .base import Workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Fio(Workload):
    """Run fio with the trial's options on the device, or on a file where it has a file system."""

    def run(self) -> None:
        """Run fio to its end."""
        argv = ["fio", "--output-format=json", f"--name={self.name}", f"--randseed={self.seed}"]
        options = dict(self.specification["options"])
        if "filename" not in options:
            on_device = self.group.work is None
            options["filename"] = self.node if on_device else self.path(self.name)
        argv += [f"--{key}={value}" for key, value in options.items()]
        run = self.worker.call("run", argv=argv)
        report = self.raw / f"{self.name}.fio.json"
        report.write_text(run["output"])
        if run["status"]:
            raise AgentError(f"{ending('fio', run['status'], run['errors'])}\nOptions: {options}")
        self.summary = summarise(run["output"])

    def measurements(self) -> dict[str, Any]:
        return self.summary


def summarise(text: str) -> dict[str, Any]:
    """Reduce fio's JSON report to the figures of ``result.json``.

    For ``read`` and ``write``, where there was any: requests, bytes, IOPS, KiB/s, mean and
    percentiles of the completion latency in nanoseconds.
    """
    return by_direction(
        text,
        lambda counts: {
            "requests": counts["total_ios"],
            "bytes": counts["io_bytes"],
            "iops": counts["iops"],
            "kib_s": counts["bw_bytes"] / 1024,
            "latency_mean_ns": counts["clat_ns"]["mean"],
            "latency_percentile_ns": counts["clat_ns"]["percentile"],
        },
    )


def by_direction(text: str, figures: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return ``figures(counts)`` for ``read`` and ``write``, where a report's one job did any."""
    try:
        job = json.loads(text[text.index("{") :])["jobs"][0]
        return {
            direction: figures(job[direction])
            for direction in ("read", "write")
            if job[direction]["total_ios"]
        }
    except (ValueError, KeyError, IndexError, TypeError) as problem:
        raise AgentError(
            f"fio's report is not whole: expected its JSON with one job, found {len(text)} "
            f"characters that end in {text[-40:]!r} ({type(problem).__name__}); run the trial again"
        ) from None
