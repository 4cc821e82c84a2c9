"""Why an arm turns a verdict: where the time of each request goes, by scheduler.

usage: where_arms_go.py [--write]

Runs the trials of studies 1 and 2 on drives once more, with a trace of the arm, and prints for
each scheduler how many requests reached the drive, how large they were, and how long one waited for
an arm that was busy when it came. `arm` counts those for which the arm worked before the answer: it
read or wrote their data, or other data to make room in the buffer. For these, the mean time in
overhead, seek, rotation and transfer is printed as well. `--write` stores the table as
data/drives/causes.csv, which the tests hold docs/drives.md against.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pandas as pd

from elevatorlab.paths import BUILD, DATA
from elevatorlab.plugins.studies import STUDIES
from elevatorlab.results import reading, store, trace
from elevatorlab.running import campaign, expansion
from elevatorlab.testbeds.deterministic import DeterministicTestbed
from elevatorlab.trial import Trial

#: Of each study, what tells the trials of which the page speaks.
CHOSEN = {
    "vm_vs_container": {"variant": "dropped_drive"},
    "iozone_ranking": {"variant": "as_published"},
}

#: Columns of a trace: what the arm does for a request.
WORK = ["seek_us", "rotation_us", "media_us"]

#: Columns of a trace, and what they are called here.
TIMES = {"overhead_us": "overhead_ms", "seek_us": "seek_ms", "rotation_us": "rotation_ms"}

FILE = DATA / "drives" / "causes.csv"


def trials() -> Iterator[Trial]:
    """Yield the chosen trials of each study's first repetition, traced."""
    for name, labels in CHOSEN.items():
        study = STUDIES.get(name)
        for trial in study.trials(expansion.parameters(study, "quick")):
            is_chosen = labels.items() <= trial.labels.items() and trial.seed == 1
            if is_chosen and trial.device.kind == "drive":
                yield Trial.model_validate({**trial.model_dump(), "trace": True})


def row(stored: store.Stored) -> dict[str, object]:
    """Return where the time of one trial's requests went."""
    requests = trace.arm(stored.folder)
    moved = requests[requests[WORK].sum(axis=1) > 0]
    travel = (moved["cylinder"] - moved["from_cylinder"]).abs()
    labels = stored.trial["labels"]
    return {
        "study": stored.trial["study"],
        "test": labels.get("test", labels["variant"]),
        "drive": stored.trial["device"]["profile"],
        "scheduler": stored.trial["scheduler"]["name"],
        "requests": len(requests),
        "arm": len(moved),
        "mean_kib": requests["bytes"].mean() / 1024,
        "waited_ms": requests["waited_us"].mean() / 1000,
        "cylinders": travel.mean(),
        **{name: moved[column].mean() / 1000 for column, name in TIMES.items()},
        "transfer_ms": (moved["media_us"] + moved["bus_us"]).mean() / 1000,
        "span_s": requests["time_s"].max() - requests["time_s"].min(),
    }


def main() -> None:
    """Run what has not run, and print or store the table."""
    testbed = DeterministicTestbed(say=print)
    results = BUILD / "causes"
    campaign.run([campaign.Share(testbed, list(trials()))], results)
    chosen = {trial.hash for trial in trials()}
    found = [row(one) for one in reading.results_in(results) if one.folder.name in chosen]
    table = pd.DataFrame(found).sort_values(["study", "test", "drive", "scheduler"]).round(3)
    print(table.to_string(index=False))
    if "--write" in sys.argv[1:]:
        table.to_csv(FILE, index=False)
        print(f"wrote {FILE}")


if __name__ == "__main__":
    main()
