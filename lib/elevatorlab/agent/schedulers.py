"""Select the I/O scheduler of a device, set its tunables, and prove both."""

import pathlib
import re

from .errors import KnobFailed, TrialFailed
from .modules import load_module

MODULES = {"bfq": "bfq", "kyber": "kyber-iosched", "sbq": "sbq-iosched"}

#: A tunable that only this scheduler has: its presence shows which code is running.
SIGNATURES = {
    "mq-deadline": "fifo_batch",
    "bfq": "slice_idle",
    "kyber": "read_lat_nsec",
    "sbq": "batch_timeout_us",
}

#: Set beside the scheduler's own tunables; `rotational` says whether the disk turns (bfq looks).
OF_THE_QUEUE = ("nr_requests", "rotational")


def selected(text):
    """Return the bracketed name of a ``queue/scheduler`` file.

    >>> selected("mq-deadline [bfq] none")
    'bfq'
    """
    match = re.search(r"\[(.+?)\]", text)
    return match.group(1) if match else text.strip()


def offered(device):
    """Return the schedulers that the kernel offers for `device` now."""
    text = pathlib.Path("/sys/class/block", device, "queue/scheduler").read_text()
    return text.replace("[", "").replace("]", "").split()


def select(device, scheduler, journal, proofs):
    """Switch `device` to the trial's scheduler and set the scheduler's tunables.

    Raises
    ------
    TrialFailed
        When the kernel has no such scheduler or no such tunable.
    KnobFailed
        When a value did not take.
    """
    name = scheduler["name"]
    if name in MODULES and name not in offered(device):
        load_module(MODULES[name])
    if name not in offered(device):
        raise TrialFailed(
            f"the kernel does not offer scheduler {name!r} for {device}; "
            f"it offers {', '.join(offered(device))}"
        )
    queue = pathlib.Path("/sys/class/block", device, "queue")
    proofs.set(queue / "scheduler", name, journal, read_as=selected)
    proofs.records[-1]["probe"] = _probe(queue, name)
    for tunable, value in scheduler.get("tunables", {}).items():
        folder = queue if tunable in OF_THE_QUEUE else queue / "iosched"
        proofs.set(folder / tunable, value, journal)


def _probe(queue, name):
    """Look for the tunables that only the running scheduler's code can have made."""
    folder = queue / "iosched"
    tunables = sorted(file.name for file in folder.iterdir()) if folder.exists() else []
    signature = SIGNATURES.get(name)
    if (signature and signature not in tunables) or (name == "none" and tunables):
        raise KnobFailed(folder, f"tunables of {name}", " ".join(tunables) or "nothing")
    return "tunables: " + (" ".join(tunables) or "none, as expected without a scheduler")
