"""Quantities that verdicts, figures and tables all take from the tidy table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
import pandas as pd

from ...analysis import knee as knees
from ...analysis.intervals import Interval
from ...analysis.models import CURVES, FALLING_CURVES, SHARE_CURVES, Model
from ...analysis.rivals import ModelComparison, compare_models
from ..kit.cells import in_order, mean_of, once_a_table, rows_of
from ..kit.tables import PLACE, cells
from .trials_containers import DISKS, MECHANISMS, NORMAL, OVERLOADED

# The disk's scheduler, which the paper does not name: results of several are never pooled.


def by_scheduler(measured: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each scheduler and its rows; the scheduler ``none`` comes first, if it was run.

    Experiment ``comparison`` is left out, because there each mechanism chooses its scheduler.
    """
    of_paper = measured[measured["experiment"] != "comparison"]
    for scheduler in in_order(of_paper, "scheduler", ("none",)):
        yield scheduler, rows_of(of_paper, scheduler=scheduler)


def runs_by_scheduler(measured: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield place, scheduler and rows of each run, once per scheduler (see `by_scheduler`)."""
    for place, run in cells(measured, PLACE):
        for scheduler, rows in by_scheduler(run):
            yield {**place, "scheduler": scheduler}, rows


@once_a_table
def of_first_scheduler(measured: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows that the claims are judged by: in each run, those of its first scheduler.

    The order is that of `by_scheduler`. All rows of experiment ``comparison`` are kept, too.
    """
    kept = measured["experiment"] == "comparison"
    for _, run in cells(measured, PLACE):
        for _, rows in islice(by_scheduler(run), 1):
            kept[rows.index] = True
    return measured[kept]


def without_needless_scheduler(table: pd.DataFrame) -> pd.DataFrame:
    """Drop the column ``scheduler`` from a table if its only value is ``none``."""
    if "scheduler" in table and set(table["scheduler"]) <= {"none"}:
        return table.drop(columns="scheduler")
    return table


# Section 3: loads and waits of equal containers, with and without an overloaded container.


EQUAL, OVERLOAD, SWEEP, OPEN = "equal", "overload", "sweep", "open"
STUDY_DISK = next(iter(DISKS))
"""The disk that the claims are about; the others are there for contrast."""

WIDEST_GAP = 0.15
"""The wait is interpolated between two measured utilisations at most this far apart. The curve
bends too much for a straight line across a wider gap."""

ONE_SERVER = {
    "open arrivals, exponential service": (OPEN, "exponential_server"),
    "open arrivals, constant service": (OPEN, "single_server"),
    "closed writers, constant service": (EQUAL, "single_server"),
}
"""Loads of a disk that is one server without a buffer: experiment and disk, by name."""

QUANTITIES = {
    "iops": "iops",
    "write_kb_s": "write_kib_s",
    "utilization_percent": "utilization_ratio",
    "queue_length": "queue_length",
    "wait_ms": "wait_ms",
}
"""The tidy table's column for each quantity, by its name in the published tables."""

_OF_DISK = [
    *("disk_iops", "disk_wait_ms", "disk_queue_length", "disk_utilization_ratio"),
    *("disk_busy_ratio", "service_ms", "cpu_busy_ratio"),
]


def by_load(
    table: pd.DataFrame, experiment: str = EQUAL, disk: str | None = STUDY_DISK
) -> pd.DataFrame:
    """Average over the normal containers of each trial.

    Returns: One row per disk, number of containers, offered load and repetition, sorted; columns as
    in the tidy table.
    """
    rows = table[(table["experiment"] == experiment) & (table["role"] == NORMAL)]
    if disk is not None:
        rows = rows[rows["disk"] == disk]
    keys = ["disk", "containers", "offered_ratio", "repetition"]
    columns = [*QUANTITIES.values(), "latency_mean_ms", *_OF_DISK]
    means = rows.groupby(keys, dropna=False)[columns].mean(numeric_only=False)
    return means.astype(float).reset_index().sort_values(keys, ignore_index=True)


def over_repetitions(loads: pd.DataFrame, containers: int, column: str) -> Interval | None:
    """Estimate a column's mean at one number of containers; None if that was not measured."""
    return mean_of(loads.loc[loads["containers"] == containers, column])


@once_a_table
def overloads(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return one table for each number of writers of the overload; the key is this number in words.

    The first table is for one writer: its overload is experiment ``overload``. In each further
    table, these rows are replaced by those of experiment ``sweep`` with another number of writers.
    All other rows are the same in every table.
    """
    swept = table["experiment"] == SWEEP
    others = table[~swept & (table["experiment"] != OVERLOAD)]
    found = {"1 writer": table[~swept]}
    for words, rows in table[swept].groupby("load"):
        found[str(words)] = pd.concat([others, rows.assign(experiment=OVERLOAD)])
    return found


@once_a_table
def overload_settings(measured: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return `overloads` under each scheduler; the key names a scheduler other than none, too."""
    return {
        words if scheduler == "none" else f"{words}, {scheduler}": rows
        for scheduler, of_one in by_scheduler(measured)
        for words, rows in overloads(of_one).items()
    }


def waits(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean waits on the study's disk, with and without an overloaded container.

    Returns: One row per number of normal containers, number of overloaded ones and repetition:
    columns containers, overloaded, repetition, normal_ms, overloaded_ms.
    """
    rows = table[(table["disk"] == STUDY_DISK) & table["experiment"].isin([EQUAL, OVERLOAD])]
    keys = ["containers", "overloaded", "repetition"]
    means = rows.assign(wait_ms=rows["wait_ms"].astype(float)).pivot_table(
        index=keys, columns="role", values="wait_ms", aggfunc="mean"
    )
    for role in (NORMAL, OVERLOADED):
        if role not in means:
            means[role] = np.nan
    return means.rename(columns={NORMAL: "normal_ms", OVERLOADED: "overloaded_ms"}).reset_index()


def rises(table: pd.DataFrame) -> pd.DataFrame:
    """Return how much longer the overloaded container makes the waits: the paper's dW and dSW.

    Returns: One row per number of normal containers and repetition, with the columns rise_ms (mean
    dW of the normal containers), overloaded_rise_ms (wait of the overloaded container minus its
    wait alone; NaN if it did not run alone) and system_rise_ms (dSW: the sum of the rises of the
    normal containers and the overloaded one).
    """
    found = waits(table)
    keys = ["containers", "repetition"]
    before = found[(found["overloaded"] == 0)].set_index(keys)["normal_ms"]
    after = found[found["overloaded"] == 1].set_index(keys)
    alone = after.xs(0, level="containers")["overloaded_ms"] if 0 in after.index else None
    beside = after.drop(index=0, level="containers", errors="ignore")
    rise = (beside["normal_ms"] - before).dropna().rename("rise_ms").to_frame()
    own = beside["overloaded_ms"].reindex(rise.index)
    repetition = rise.index.get_level_values("repetition")
    own = own - (np.nan if alone is None else alone.reindex(repetition).to_numpy())
    count = rise.index.get_level_values("containers").to_numpy()
    return rise.assign(
        overloaded_rise_ms=own, system_rise_ms=rise["rise_ms"] * count + own
    ).reset_index()


def at_utilization(loads: pd.DataFrame, utilization_ratio: float) -> Interval | None:
    """Estimate the wait in ms at a utilisation, by interpolation in each repetition.

    None if no repetition has two loads around this utilisation that are at most `WIDEST_GAP` apart.
    """
    found = []
    for _, rows in loads.groupby("repetition"):
        rows = rows.sort_values("utilization_ratio")
        ratios = rows["utilization_ratio"].to_numpy()
        after = int(np.searchsorted(ratios, utilization_ratio))
        if 0 < after < len(ratios) and ratios[after] - ratios[after - 1] <= WIDEST_GAP:
            found.append(float(np.interp(utilization_ratio, ratios, rows["wait_ms"])))
    return mean_of(pd.Series(found, dtype=float))


# Rival curves fitted to the measurements, and the knee of the wait.


FEWEST_PLACES = 3
"""The smallest number of different loads that tells the shapes of curves apart."""

RIVALS = {
    "iops": FALLING_CURVES,
    "write_kb_s": FALLING_CURVES,
    "utilization_percent": SHARE_CURVES,
    "queue_length": SHARE_CURVES,
    "wait_ms": CURVES,
}
"""The curves that a quantity may follow. One of them is the closed law: in one form for a rate that
the containers share, in another for the share of time in which a container waits."""


def curves_over_containers(loads: pd.DataFrame, quantity: str) -> ModelComparison | None:
    """Compare the curves that a quantity may follow over the number of containers."""
    return compare_curves(loads, RIVALS[quantity], "containers", QUANTITIES[quantity])


def compare_curves(
    loads: pd.DataFrame, models: Sequence[Model], x: str, y: str
) -> ModelComparison | None:
    """Compare curves fitted to the means of each load; None if there are too few loads.

    The repetitions of a load are averaged, because they are not independent points of a curve. A
    load at which one of the curves is undefined (a utilisation of 1) is left out for all curves.
    """
    fewest = max(len(model.parameters) for model in models) + 3  # as AICc needs
    columns = list({x, y, "iops"} - {"containers"})
    of_loads = loads.groupby(["containers", "offered_ratio"], dropna=False)[columns]
    points = of_loads.mean().reset_index()[list({x, y, "iops"})].dropna().astype(float)
    points = points[np.logical_and.reduce([model.valid(points[x]) for model in models])]
    if len(points) < fewest or points[x].nunique() < FEWEST_PLACES:
        return None
    return _compared(tuple(models), *(tuple(points[name]) for name in (x, y, "iops")))


@functools.cache
def _compared(models: tuple[Model, ...], *points: tuple[float, ...]) -> ModelComparison:
    """Compare curves once, since claims, figures and tables ask for the same ones."""
    x, y, iops = map(np.asarray, points)
    return compare_models(models, x, y, iops=iops)


def knee_of(loads: pd.DataFrame) -> knees.Knee | None:
    """Find the knee of the mean wait over the mean utilisation; None if there are too few loads."""
    means = loads.groupby("containers")[["utilization_ratio", "wait_ms"]].mean()
    try:
        return knees.knee(means["utilization_ratio"], means["wait_ms"])
    except ValueError:
        return None


# Sections 4.2 and 4.3: rates and waits before and after the regulator's start.


KIB_S_PER_MB_S = 1e6 / 1024
"""The paper writes "MB/s" and "Mb/S"; both are taken as 10^6 bytes per second."""

SETTLING_S = 2
"""The regulator must have settled this long (two control periods) after its start. The time after
that is "after"."""

LEAST_SHARE = 0.9
"""The target for the disk: the smallest share of time in which its server must be busy."""

PHASES = ("before", "after")


def seconds(measured: pd.DataFrame, experiment: str, **where: str) -> pd.DataFrame:
    """Return the rows of single seconds of an experiment, with further column values `where`."""
    return rows_of(_seconds(measured), experiment=experiment, **where)


def totals(measured: pd.DataFrame, experiment: str, **where: str) -> pd.DataFrame:
    """Return the rows of whole trials of an experiment, one per container and trial."""
    return rows_of(_totals(measured), experiment=experiment, **where)


@once_a_table
def _seconds(measured: pd.DataFrame) -> pd.DataFrame:
    return measured[measured["time_s"].notna()]


@once_a_table
def _totals(measured: pd.DataFrame) -> pd.DataFrame:
    return measured[measured["time_s"].isna()]


def phase(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of seconds before the regulator began, or after it had time to settle."""
    if name == "before":
        return rows[rows["time_s"] <= rows["onset_s"]]
    return rows[rows["time_s"] > rows["onset_s"] + SETTLING_S]


def rate_mb_s(rows: pd.DataFrame) -> Interval | None:
    """Return the mean write rate of a container in MB/s, over all containers of `rows`."""
    return _over_repetitions(rows, "write_kib_s", lambda values: values.mean() / KIB_S_PER_MB_S)


def wait_ms(rows: pd.DataFrame) -> Interval | None:
    """Return the mean wait of a write in ms, from rows of single seconds of any containers.

    Each write counts once: a second is weighted with the number of writes that ended in it.
    """
    weighted = rows.assign(latency_mean_ms=rows["latency_mean_ms"] * rows["requests"])
    sums = weighted.groupby("repetition")[["latency_mean_ms", "requests"]].sum(min_count=1)
    return mean_of(sums["latency_mean_ms"] / sums["requests"])


def longest_wait_ms(rows: pd.DataFrame) -> Interval | None:
    """Return the longest mean wait of one container in one second, in ms, over repetitions."""
    return _over_repetitions(rows, "latency_mean_ms", lambda values: values.max())


def longest_p99_ms(rows: pd.DataFrame) -> Interval | None:
    """Return the longest 99th percentile of one container's waits in one second, in ms."""
    return _over_repetitions(rows, "latency_p99_ms", lambda values: values.max())


def of_trials(rows: pd.DataFrame, column: str) -> Interval | None:
    """Return the mean over repetitions of a column that is the same in all rows of a trial."""
    return _over_repetitions(rows, column, lambda values: values.iloc[0])


def share_of_rate(rows: pd.DataFrame) -> Interval | None:
    """Return the share of time in which the disk's server was busy, at most 1."""
    return _over_repetitions(rows, "disk_busy_ratio", lambda values: min(1.0, values.iloc[0]))


def _over_repetitions(
    rows: pd.DataFrame, column: str, reduce: Callable[[pd.Series[float]], float]
) -> Interval | None:
    if rows.empty:
        return None
    return mean_of(rows.groupby("repetition")[column].agg(reduce))


# Names of the mechanisms for people. The paper's policies are sharp unless the name says mild.


class Labels(dict[str, str]):
    """Names for people by mechanism; a registered policy that is not listed keeps its name."""

    def __missing__(self, mechanism: str) -> str:
        return mechanism


LABELS = Labels(
    {
        "none": "nothing",
        "slae-paper": "paper's SLAE",
        "slae-paper-mild": "paper's SLAE, mild",
        "slae-paper-speed": "paper's SLAE, by speed",
        "slae-paper-utilization": "paper's SLAE, by utilisation",
        "ute-paper": "paper's UTE",
        "ute-paper-mild": "paper's UTE, mild",
        "ute-paper-shared": "paper's UTE, shared disk",
        "ute-paper-shared-mild": "paper's UTE, shared disk, mild",
        "slae": "our SLAE",
        "ute": "our UTE",
        "aimd": "AIMD",
        "pi": "PI",
        "guard": "guard",
        "share": "share",
        "io_max": "io.max, 1 MB/s",
        "bfq": "BFQ, 10:1000",
        "io_cost": "io.cost, 10:100",
    }
)
UNTESTED = (
    "io.latency is not compiled into Debian's kernel (CONFIG_BLK_CGROUP_IOLATENCY): not testable "
    "here."
)

LOAD_LABELS = {
    "step": "step: 3 writers",
    "ramp": "ramp: 1, 2, 3 writers",
    "burst": "bursts: 3 writers, on and off",
    "two": "two offenders: 2 writers each",
}

FRONTIER_LABELS = Labels(
    {
        "alone": "no offenders",
        **LABELS,
        "io_max": "io.max",
        "io_cost": "io.cost",
        "io_class": "mq-deadline, idle class",
        "bfq": "BFQ",
        "bfq_tuned": "BFQ, no idling",
    }
)
"""As `LABELS`, but for experiment ``frontier``, in which a mechanism has several settings."""

FRONTIER_LOADS = {
    "step": "step",
    "ramp": "ramp",
    "burst-0.2": "bursts of 0.2 s",
    "burst-1": "bursts of 1 s",
    "burst-5": "bursts of 5 s",
    "two": "two offenders",
    "many": "sixteen small ones",
    "mixed": "small and large requests",
}


def present(rows: pd.DataFrame) -> list[str]:
    """Return the mechanisms that were run, in the order of `MECHANISMS`; then the others."""
    return in_order(rows, "mechanism", MECHANISMS)


def loads_in(rows: pd.DataFrame) -> list[str]:
    """Return the loads that were run, in order."""
    return [name for name in LOAD_LABELS if name in set(rows["load"])]


# Experiment frontier: a point for each trial, and the front of the best settings.


CELL = ["load", "disk", "mechanism", "setting"]
"""Columns that identify a cell. The points of one cell are repetitions: they differ in the seed."""

MOST_MISSED = 0.5
"""A mechanism protects somebody if it misses at most this part of the seconds."""

MOST_SLAS = 1.5
"""Settings with a wait above this multiple of the SLA are not drawn: the best lie near the SLA."""

SETTLED_S = 2
"""The oscillation is measured from this many seconds after the overload began."""


def points(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each trial of experiment ``frontier``.

    Beside `CELL`, ``trial`` and ``repetition``, a row has:

    ==================  =======================================================================
    ``judged_s``        seconds that are judged
    ``missed_s``        those in which a normal container's mean wait was above the SLA
    ``missed_p99_s``    those in which the 99th percentile of its waits was above the SLA
    ``wait_ms``         longest mean wait of a normal container, averaged over the seconds
    ``p99_ms``          longest 99th percentile of their waits, averaged over the seconds
    ``offenders_mb_s``  write rate of all offenders together
    ``recovery_s``      time until no normal container missed the SLA any more
    ``oscillation``     standard deviation of the offenders' rate over its mean, when settled
    ``more_busy``       the disk's busy share, minus that with the normal containers alone
    ``cpu_busy_ratio``  share of time in which the processors were busy
    ==================  =======================================================================
    """
    whole = totals(measured, "frontier")
    if whole.empty:
        return pd.DataFrame(columns=[*CELL, "trial", "repetition"])
    whole = whole.assign(setting=whole["setting"].fillna(""))
    keys = [*CELL, "trial", "repetition"]
    first = whole.groupby(keys)[["violation_s", "recovery_s", "disk_busy_ratio", "cpu_busy_ratio"]]
    found = first.first().rename(columns={"violation_s": "missed_s"}).reset_index()
    offenders = whole[whole["role"] == OVERLOADED].groupby("trial")["write_kib_s"].sum()
    found["offenders_mb_s"] = found["trial"].map(offenders).fillna(0) / KIB_S_PER_MB_S
    judged = seconds(measured, "frontier")
    judged = judged[judged["time_s"] > judged["onset_s"] + 1]  # not the onset's second
    found = found.merge(_waits(judged[judged["role"] == NORMAL]), on="trial")
    found["oscillation"] = found["trial"].map(_oscillation(judged))
    alone = found[found["mechanism"] == "alone"].groupby("disk")["disk_busy_ratio"].mean()
    found["more_busy"] = found["disk_busy_ratio"] - found["disk"].map(alone)
    return found


def _waits(normal: pd.DataFrame) -> pd.DataFrame:
    """Return what `points` says of the waits of each trial, from its rows of single seconds."""
    columns = {"latency_mean_ms": "wait_ms", "latency_p99_ms": "p99_ms"}
    longest = normal.groupby(["trial", "time_s"])[list(columns)].max().rename(columns=columns)
    sla_ms = normal.groupby(["trial", "time_s"])["sla_wait_ms"].first()
    longest["missed_p99_s"] = (~(longest["p99_ms"] <= sla_ms)).astype(float)
    by_trial = longest.groupby("trial")
    found = by_trial[["wait_ms", "p99_ms"]].mean().join(by_trial["missed_p99_s"].sum())
    return found.assign(judged_s=by_trial.size()).reset_index()


def _oscillation(judged: pd.DataFrame) -> pd.Series[float]:
    """Return the oscillation of the offenders' rate by trial, from rows of single seconds."""
    late = judged[judged["time_s"] > judged["onset_s"] + SETTLED_S]
    rates = late[late["role"] == OVERLOADED].groupby(["trial", "time_s"])["write_kib_s"].sum()
    by_trial = rates.groupby("trial")
    ratio: pd.Series[float] = by_trial.std() / by_trial.mean()
    return ratio


def cells_of(found: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the repetitions of each cell of `points`, and their number."""
    numbers = found.drop(columns=["trial"]).groupby(CELL, sort=False)
    means = numbers.mean(numeric_only=True).drop(columns=["repetition"])
    return means.join(numbers.size().rename("repetitions")).reset_index()


def for_all_loads(found: pd.DataFrame) -> pd.DataFrame:
    """Return each mechanism's setting that suits all loads best, by the first seed of `points`.

    It misses the fewest seconds under all loads together, and of such settings gives the offenders
    the most. Later seeds have no part in the choice, so they can judge it. A row has ``disk``,
    ``mechanism``, ``setting``, and the sums over the loads of ``judged_s``, ``missed_s`` and
    ``offenders_mb_s``.
    """
    first = found[found["repetition"] == 1]
    of_settings = first.groupby(["disk", "mechanism", "setting"])
    whole = of_settings["load"].transform("nunique") == first["load"].nunique()
    sums = first[whole].groupby(["disk", "mechanism", "setting"], as_index=False)
    ranked = sums[["judged_s", "missed_s", "offenders_mb_s"]].sum()
    ranked = ranked.sort_values(["missed_s", "offenders_mb_s"], ascending=[True, False])
    return ranked.groupby(["disk", "mechanism"]).head(1)


def protecting(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `for_all_loads` of those mechanisms that protect somebody."""
    best = for_all_loads(found)
    return best[best["missed_s"] <= MOST_MISSED * best["judged_s"]]


def front(cells: pd.DataFrame, cost: str = "missed_s") -> pd.DataFrame:
    """Return the cells that no other cell beats both in cost and in the offenders' rate.

    `cost`: The column of `cells` that says what the normal containers suffer.
    """
    ranked = cells.sort_values([cost, "offenders_mb_s"], ascending=[True, False])
    best = ranked["offenders_mb_s"].cummax().shift(fill_value=-1.0)
    return ranked[ranked["offenders_mb_s"] > best]


def best_for_each_load(found: pd.DataFrame) -> pd.DataFrame:
    """Return the setting of each mechanism that suits each load best, if it has all seeds.

    It misses the fewest seconds a seed, and of such settings gives the offenders the most. A row is
    that of `cells_of`, but for the sum over the seeds of ``missed_s``.
    """
    ranked = cells_of(found).sort_values(["missed_s", "offenders_mb_s"], ascending=[True, False])
    best: pd.DataFrame = ranked.groupby(["load", "disk", "mechanism"]).head(1)
    whole = best["repetitions"] == best["disk"].map(found.groupby("disk")["repetition"].max())
    return best[whole].assign(missed_s=best["missed_s"] * best["repetitions"])
