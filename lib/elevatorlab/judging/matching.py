"""Which measured rows may be compared with each other.

Times are compared only within one machine. Arms that different testbeds measured on the same
physical machine belong together. Rows of different machines, of different presets, or of different
schedulers of the physical disk below are never pooled.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..plugins.schedulers import OF_THE_KERNEL

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "unknown"
"""The machine of results that do not say where they were measured."""

DETERMINISTIC = "deterministic"

PRIMARY = (OF_THE_KERNEL[0], None, *OF_THE_KERNEL[1:])
"""Schedulers of the physical disk: a comparison takes the first of these that was measured.

The scheduler ``none`` leaves the order of requests to the scheduler under test. The value None
stands for the machine's own scheduler.
"""

EMULATED = "TCG"
"""The accelerator of an arm has this in its name if QEMU emulates the processor."""


COUNTED = "1 instruction = 1 ns"
"""The accelerator of an arm has this in its name if the machine is deterministic.

That includes machines with several processors, and those with a virtual machine inside.
"""


class Run(NamedTuple):
    """Rows of one machine and preset, each arm from one testbed."""

    #: The testbeds' names, joined: "docker+host".
    testbed: str
    machine: str
    preset: str
    #: Scheduler of the physical disk below, in all of `rows`; None: the machine's own.
    backing_scheduler: str | None
    #: The rows to compare.
    rows: pd.DataFrame
    #: `rows`, and the rows with other schedulers of the physical disk.
    crossed: pd.DataFrame

    @property
    def label(self) -> str:
        """Name the run: "deterministic, quick" or "docker+host, quick, machine 1a2b3c4d"."""
        return label(self.testbed, self.preset, self.machine)

    @property
    def deterministic(self) -> bool:
        """Whether all rows come from deterministic machines, with any number of processors."""
        if self.machine == DETERMINISTIC:
            return True
        return all(COUNTED in text for text in accelerators(self.rows).values())


def label(testbed: str, preset: str, machine: str) -> str:
    """Name a run in words.

    Examples
    --------
    >>> label("docker+host", "quick", "b3b104e57a10774d")
    'docker+host, quick, machine b3b104e5'
    """
    real = [] if machine in ("", DETERMINISTIC) else [f"machine {machine[:8]}"]
    return ", ".join(part for part in (testbed, preset, *real) if part)


def in_words(testbed: str, preset: str, machine: str) -> str:
    """Name a run within a sentence, after "on" or "of".

    Examples
    --------
    >>> in_words("docker+host", "quick", "b3b104e57a10774d")
    'the testbeds docker and host with the preset quick (machine b3b104e5)'
    """
    *others, last = testbed.split("+")
    named = f"the testbeds {', '.join(others)} and {last}" if others else f"the testbed {testbed}"
    real = "" if machine in ("", DETERMINISTIC) else f" (machine {machine[:8]})"
    return f"{named}{f' with the preset {preset}' if preset else ''}{real}"


def runs(measured: pd.DataFrame) -> list[Run]:
    """Divide a tidy table into runs; the rows of one run may be compared.

    Two testbeds may have measured the same arm on one machine, such as ``host``, and ``ssh://`` to
    the same host. Then there is a run with each of them. Rows of an unknown machine are compared
    only with rows of the same testbed.

    `measured`: Tidy table with the columns testbed, machine, preset and backing_scheduler. Without
    a column arm, each testbed gives a run of its own. Returns: By machine and preset, the
    deterministic machine first; empty for an empty table.
    """
    unknown = measured["machine"] == UNKNOWN
    machine = measured["machine"].mask(unknown, UNKNOWN + " (" + measured["testbed"] + ")")
    keys = [machine.rename("machine"), measured["preset"]]
    found = [
        _run(str(machine), str(preset), rows)
        for (machine, preset), group in measured.groupby(keys, observed=True)
        for rows in _choices(group)
    ]
    return sorted(found, key=lambda run: run.machine != DETERMINISTIC)


def _choices(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the rows of one testbed per arm, for every possible choice of testbeds."""
    arm = rows["arm"] if "arm" in rows else rows["testbed"].map(lambda _: "")
    testbeds = rows["testbed"].groupby(arm).unique().map(sorted)
    for chosen in itertools.product(*testbeds):
        yield rows[rows["testbed"] == arm.map(dict(zip(testbeds.index, chosen, strict=True)))]


def _run(machine: str, preset: str, crossed: pd.DataFrame) -> Run:
    testbed = joined_testbeds(crossed)
    there = backing_schedulers(crossed)
    backing = next((one for one in PRIMARY if one in there), None)
    return Run(testbed, machine, preset, backing, with_backing(crossed, backing), crossed)


def joined_testbeds(rows: pd.DataFrame) -> str:
    """Return the names of the testbeds in `rows`, joined by "+"."""
    return "+".join(sorted(rows["testbed"].unique()))


def backing_schedulers(rows: pd.DataFrame) -> list[str | None]:
    """Return the schedulers of the physical disk in `rows`, in the order of `PRIMARY`."""
    there = set(_text_or_none(rows["backing_scheduler"]))
    return [one for one in PRIMARY if (one or "") in there]


def with_backing(rows: pd.DataFrame, backing: str | None) -> pd.DataFrame:
    """Return the rows that were measured with the scheduler `backing` on the physical disk.

    None stands for the machine's own scheduler.
    """
    return rows[_text_or_none(rows["backing_scheduler"]) == (backing or "")]


def _text_or_none(column: pd.Series) -> pd.Series:
    return column.astype(object).where(column.notna(), "")


def accelerators(rows: pd.DataFrame) -> dict[str, str]:
    """Return the accelerator of each arm: what executed the processor's instructions."""
    pairs = rows[["arm", "accelerator"]].drop_duplicates()
    return {
        str(arm): " or ".join(sorted(set(some["accelerator"])))
        for arm, some in pairs.groupby("arm")
    }


def emulated_apart(rows: pd.DataFrame, arms: Collection[str]) -> dict[str, str]:
    """Return the emulated arms with their accelerators, if any other arm is not emulated.

    An emulated processor is slower by a factor of ten or more, and the factor differs between
    pieces of code. So a comparison with a real processor shows the emulator, not the system under
    test. If all arms are emulated, as on the deterministic testbed, they are comparable, and the
    result is empty.

    `arms`: The arms to compare; arms without `rows` are ignored.
    """
    found = {arm: text for arm, text in accelerators(rows).items() if arm in arms}
    emulated = {arm: text for arm, text in found.items() if EMULATED in text}
    return emulated if len(emulated) < len(found) else {}


def without_needless_machine(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table to be shown, without the column ``machine`` if all is deterministic."""
    if "machine" in table and set(table["machine"]) <= {DETERMINISTIC}:
        return table.drop(columns="machine")
    return table
