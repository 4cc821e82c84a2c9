"""iostat beside the sampler: a second witness of the same counters."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from ..errors import AgentError
from .base import Workload

if TYPE_CHECKING:
    from typing import Any


class Iostat(Workload):
    """``iostat -x`` over the trial's device, as a foreground workload of fixed length."""

    def run(self) -> None:
        """Watch for `count` intervals of `interval_s`."""
        interval_s, count = self.specification["interval_s"], self.specification["count"]
        argv = ["iostat", "-x", "-y", "-d", "-o", "JSON", self.device, str(interval_s), str(count)]
        run = subprocess.run(argv, capture_output=True, text=True)
        if run.returncode:
            raise AgentError(
                f"iostat ended with status {run.returncode}: {run.stderr.strip()}; "
                "expected its report on the device under test"
            )
        (self.raw / f"{self.name}.iostat.json").write_text(run.stdout)
        host = json.loads(run.stdout)["sysstat"]["hosts"][0]
        self.reports = [report["disk"][0] for report in host["statistics"]]

    def measurements(self) -> dict[str, Any]:
        return {"reports": self.reports}
