"""Claims made by hand, and synthetic measured tables for the tests of study 1."""

import functools
import itertools
import json

import pandas as pd

import stored
from elevatorlab import studies
from elevatorlab.judging.claim import Claim, Role, Source
from elevatorlab.judging.comparison import Comparison
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.studies import vm_vs_container
from elevatorlab.studies.vm_vs_container.claims import judge
from elevatorlab.studies.vm_vs_container.columns import COLUMNS
from elevatorlab.studies.vm_vs_container.measures import SCHEDULERS
from elevatorlab.studies.vm_vs_container.published import TEST_1, TEST_2, times

VARIANTS = ("as_published", "dropped", "direct")
NONE_YET = pd.DataFrame(columns=COLUMNS)
ARMS = ("host", "container", "vm")
TESTBEDS = {"host": "host", "container": "docker", "vm": "vagrant"}
TCG = "TCG (QEMU, no hardware virtualisation)"
BARE = "none (bare metal)"
MACHINE = "0123456789abcdef"
GUESTS = "5d" * 32


@functools.cache
def judged(*arms):
    """Return the claims, judged on `as_printed` of these arms: once for all tests of a process."""
    return judge(as_printed(arms=arms))


def sample_claim(**changes):
    """Return a claim, but for `changes`; not made at import, since to judge takes a second."""
    return judged("host", "container")[0].model_copy(update=changes)


def plain_claim(**changes):
    """Return an undecided claim of a study called s, but for `changes`."""
    words = {"quantity": "q", "formula": "f", "datum": "d", "unit": "s", "reason": "So it is."}
    usual = {"id": "s/one", "study": "s", "role": Role.PREDICTION, "kind": "time", **words}
    usual |= {"source": Source(document="D", place="Table 1", row="1")}
    usual |= {"tolerance": None, "threshold": None, "published": 2.0, "measured": 3.0}
    usual |= {"testbed": "deterministic", "machine": "deterministic", "preset": "quick"}
    usual |= {"verdict": Verdict.UNDECIDED}
    return Claim(**{**usual, **changes})


def sample_comparison(value, low, high, published=(2.0, 2.0), neutral=1.0, **changes):
    """Return an estimate with its interval, held against what was published."""
    ranges = {"published": published, "allowed": published, "neutral": neutral}
    return Comparison(value=value, low=low, high=high, **{**ranges, **changes})


def as_printed(arms=("container", "vm"), repetitions=3, jitter=0.0, factor=None, **columns):
    """Return a table in which a rerun gives the article's own times.

    Each arm comes from its own testbed on one machine, the virtual one with KVM; `columns` says
    otherwise. `factor(row)` multiplies a time; `jitter` is the relative spread of repetitions.
    """
    printed = times()
    rows = []
    for arm, variant, repetition in itertools.product(arms, VARIANTS, range(1, repetitions + 1)):
        like = printed[printed["arm"] == (arm if arm == "vm" else "container")]
        for one in like.to_dict("records"):
            size_mib = one["published_size_mb"] if one["test"] == TEST_1 else 50.0
            bytes_read = int(size_mib * 2**20)
            row = {
                "trial": f"{arm}-{variant}-{one['scheduler']}-{repetition}",
                "study": "vm_vs_container",
                "testbed": TESTBEDS[arm],
                "machine": MACHINE,
                "accelerator": "KVM" if arm == "vm" else BARE,
                "preset": "full",
                "arm": arm,
                "device": "file_backed, 3072 MiB",
                "backing_scheduler": "none",
                "scheduler": one["scheduler"],
                "variant": variant,
                "test": one["test"],
                "published_size_mb": one["published_size_mb"],
                "size_mib": size_mib,
                "programs": 1 if one["test"] == TEST_1 else 300,
                "seed": repetition,
                "repetition": repetition,
                "time_s": one["time_s"] * (1 + jitter * (repetition - 2)),
                "bytes_read": bytes_read,
                "device_read_bytes": 0 if variant == "as_published" else bytes_read,
                "storage_read_bytes": 0 if variant == "as_published" else bytes_read,
                "image_digest": "",
                **dict.fromkeys(("window_s", "busy_s", "requests", "exits")),
                **columns,
            }
            row["time_s"] *= factor(row) if factor else 1
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def deterministic(**more):
    """Return a table of the deterministic testbed, which has no virtual machine."""
    place = {"testbed": "deterministic", "machine": "deterministic", "backing_scheduler": None}
    place |= {"accelerator": "TCG, instruction counting (1 instruction = 1 ns)"}
    return as_printed(**{"arms": ("host", "container"), "preset": "quick", **place, **more})


def emulated(table):
    """Return the table as a machine without KVM gives it: the virtual one is ten times slower."""
    vm = table["arm"] == "vm"
    slower = table["time_s"].where(~vm, table["time_s"] * 10)
    return table.assign(accelerator=table["accelerator"].mask(vm, TCG), time_s=slower)


def write_results(folder, arms=ARMS, accelerator=TCG, repetitions=2, preset="smoke"):
    """Write results of a preset as real testbeds of one machine leave them; return the trials."""
    device = {"device": "file_backed", "backing_schedulers": ("none",)}
    written = []
    for arm in arms:
        choice = {"arms": [arm], "repetitions": repetitions}
        parameters = studies.parameters(vm_vs_container, preset, choice, device)
        for trial in vm_vs_container.trials(parameters):
            written.append(trial)
            place = folder / f"{TESTBEDS[arm]}-{MACHINE[:8]}" / trial.hash
            place.mkdir(parents=True)
            (place.parent / "identity").touch()
            files = {
                "trial": trial.model_dump(mode="json"),
                "result": stored.result(_figures(trial)),
                "provenance": {
                    **stored.provenance(testbed=TESTBEDS[arm], machine=MACHINE, wall_s=1.5),
                    **{"accelerator": accelerator if arm == "vm" else BARE, "clock_skew_s": 0.0},
                    **{"image_digest": f"of {arm}", "agent_digest": "a"},
                    "host": {**stored.provenance()["host"], "disks": ["sda"]},
                },
            }
            for name, content in files.items():
                (place / f"{name}.json").write_text(json.dumps(content))
    return written


def guest_trials(preset="quick", **more):
    """Return the trials of a preset in all three arms, with all pairs of schedulers."""
    everything = {
        "arms": ["host", "container", "vm"],
        "variants": ["as_published", "dropped", "direct"],
        "tests": [TEST_1, TEST_2],
        "schedulers": ["none", "mq-deadline", "bfq", "kyber"],
    }
    given = studies.parameters(vm_vs_container, preset, {**everything, **more})
    return vm_vs_container.trials(given)


def write_guest_results(folder, trials):
    """Write results as the deterministic testbed leaves them, exits included."""
    accelerator = "TCG, instruction counting (1 instruction = 1 ns)"
    where = {"testbed": "deterministic", "machine": "deterministic"}
    told = stored.provenance(**where, accelerator=accelerator)
    told |= {"image_digest": GUESTS, "qemu": "10.0.2", "boot_ram_sha256": "r", "wall_s": 20.0}
    for trial in trials:
        place = folder / "deterministic" / trial.hash
        place.mkdir(parents=True)
        (place.parent / "identity").write_text(GUESTS + "\n")
        inside = trial.groups[0].virtual_machine
        files = {
            "trial": trial.model_dump(mode="json"),
            "result": stored.result(_figures(trial)),
            "provenance": told,
        }
        if inside:
            (place / "raw").mkdir()
            files["raw/main.exits"] = {"exits": 400, "halt_exits": 100, "io_exits": 90}
        for name, content in files.items():
            (place / f"{name}.json").write_text(json.dumps(content))


def _figures(trial):
    """Return what each workload measured; the others only keep the disk busy."""
    by_kind = {"timed_reads": {}, "timed_tree_read": {"files": 20}}
    return {
        one.name: {**by_kind[one.kind], "reads": _reads(trial)}
        if one.kind in by_kind
        else {"command": "true"}
        for one in trial.workloads
    }


def _reads(trial):
    """Return reads that take longer in a VM, with bfq, and in later repetitions."""
    inside = trial.groups[0].virtual_machine
    slower = 10 if trial.machine == "virtual_machine" or inside else 1
    slower *= 1.5 if trial.scheduler.name == "bfq" else 1
    slower *= 1.2 if inside and inside.scheduler.name == "bfq" else 1
    slower *= 1 + 0.02 * trial.repetition
    if trial.labels["test"] == TEST_1:
        sizes = [{"size_mib": size_mib} for size_mib in trial.workloads[1].sizes_mib]
    else:
        sizes = [{}]
    for read in sizes:
        size_bytes = int(read.get("size_mib", 0.5) * 2**20)
        cold = 0 if trial.labels["variant"] == "as_published" else size_bytes
        read |= {"bytes_read": size_bytes, "time_ns": int(size_bytes * slower)}
        read |= {"device_read_bytes": cold, "storage_read_bytes": cold}
    return sizes


__all__ = ["ARMS", "BARE", "MACHINE", "TCG", "TESTBEDS", "deterministic", "emulated"]
__all__ += ["guest_trials", "write_guest_results", "write_results"]
__all__ += ["NONE_YET", "SCHEDULERS", "TEST_1", "TEST_2", "VARIANTS", "as_printed"]
