"""What is shown of the measured rates: a figure, and a small table."""

from matplotlib.figure import Figure

from elevatorlab.plugins.schedulers import colour_of, label_of, marker_of
from elevatorlab.showing.figures import of_every_run


def figures(table, measured):
    """Return the figures with their captions."""
    captions = {"rates": "Bytes moved a second, by size of the reads."}
    return of_every_run(measured, _draw, captions, {"host": "plain processes"}, "kib_s")


def _draw(rows, run):
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    for name, some in rows.groupby("scheduler"):
        means = some.groupby("size_kib")["kib_s"].mean()
        look = {"color": colour_of(name), "marker": marker_of(name), "label": label_of(name)}
        axes.plot(means.index, means, **look)
    if len(rows):
        axes.legend()
    axes.set(xlabel="size of a read (KiB)", ylabel="KiB/s")
    return {"rates": figure}


def overview_table(measured):
    """Return a caption and a small table."""
    shown = measured.pivot_table("kib_s", "size_kib", "scheduler")
    return "KiB/s, means over repetitions.", shown.round(0)


def tables(measured):
    """Return all small tables."""
    return [overview_table(measured)] if len(measured) else []
