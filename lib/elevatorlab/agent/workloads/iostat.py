"""iostat beside the sampler: a second witness of the same counters."""

import json
import subprocess

from ..errors import TrialFailed
from .base import Workload


class Iostat(Workload):
    """``iostat -x`` over the trial's device, as a foreground workload of fixed length."""

    def run(self):
        """Watch for `count` intervals of `interval_s`."""
        interval_s, count = self.specification["interval_s"], self.specification["count"]
        argv = ["iostat", "-x", "-y", "-d", "-o", "JSON", self.device, str(interval_s), str(count)]
        run = subprocess.run(argv, capture_output=True, text=True)
        if run.returncode:
            raise TrialFailed(
                f"iostat ended with status {run.returncode}: {run.stderr.strip()}; "
                "expected its report on the device under test"
            )
        (self.raw / f"{self.name}.iostat.json").write_text(run.stdout)
        host = json.loads(run.stdout)["sysstat"]["hosts"][0]
        self.reports = [report["disk"][0] for report in host["statistics"]]

    def figures(self):
        return {"reports": self.reports}
