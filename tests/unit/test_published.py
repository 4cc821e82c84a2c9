"""The published tables against the article."""

import subprocess
import sys

import pytest

from elevatorlab.errors import ElevatorLabError
from elevatorlab.judging.families import read_published
from elevatorlab.paths import DATA
from elevatorlab.studies.vm_vs_container.published import (
    TEST_2,
    high_read_latency,
    times,
    writes_starving_reads,
)

# Straight from the article: table, row -> VM, container, percentage.
ARTICLE = {
    ("Table 1", "10MB"): (0.003, 0.002, 33.33),
    ("Table 1", "100MB"): (0.017, 0.013, 23.53),
    ("Table 2", "40MB"): (0.036, 0.005, 86.11),
    ("Table 3", "90MB"): (0.122, 0.013, 89.34),
    ("Table 4", "30MB"): (0.093, 0.004, 95.7),
    ("Table 4", "80MB"): (0.072, 0.014, 80.56),
    ("Table 5", "none"): (94.133, 79.805, 17.9537623),
    ("Table 5", "bfq"): (114.214, 92.577, 23.37189583),
}
# Each column's sum, added up from the article's text: one wrong digit shows.
SUMS = {
    "none": (0.098, 0.077, 232.8),
    "mq-deadline": (0.456, 0.077, 833.72),
    "bfq": (0.580, 0.078, 849.45),
    "kyber": (1.019, 0.085, 891.78),
}
VALUES = ["vm_time_s", "container_time_s", "improvement_percent"]


@pytest.mark.parametrize(("place", "printed"), ARTICLE.items())
def test_spot_rows_are_as_printed(place, printed):
    """Rows picked from every table."""
    table = high_read_latency() if place[0] == "Table 5" else writes_starving_reads()
    row = table.set_index(["table", "row"]).loc[place]
    assert tuple(row[VALUES]) == printed


@pytest.mark.parametrize(("scheduler", "sums"), SUMS.items())
def test_columns_add_up(scheduler, sums):
    """Every digit of Tables 1 to 4."""
    table = writes_starving_reads().query("scheduler == @scheduler")
    assert table[VALUES].sum().tolist() == pytest.approx(sums, abs=1e-9)


def test_every_row_is_there_with_its_source():
    """Ten sizes for four schedulers, and four schedulers."""
    first, second = writes_starving_reads(), high_read_latency()
    order = ("none", "mq-deadline", "bfq", "kyber")
    tables = {(f"Table {number}", name): 10 for number, name in enumerate(order, 1)}
    assert first.groupby(["table", "scheduler"], sort=False).size().to_dict() == tables
    assert (first["row"] == first["published_size_mb"].astype(str) + "MB").all()
    assert second["row"].tolist() == ["none", "mq-deadline", "kyber", "bfq"]
    assert first["document"].nunique() == 1
    assert set(first["document"]) == set(second["document"])


def test_a_missing_table_is_named():
    """With what there is instead."""
    with pytest.raises(ElevatorLabError, match="table_9.*found.*high_read_latency"):
        read_published("vm_vs_container", "table_9")


def test_rows_without_a_source_are_refused(tmp_path):
    """A number must say where it stands."""
    folder = tmp_path / "published" / "study"
    folder.mkdir(parents=True)
    (folder / "bare.csv").write_text("table,row,time_s\nTable 1,a,1\n")
    with pytest.raises(ElevatorLabError, match="document"):
        read_published("study", "bare", tmp_path)


def test_what_a_caller_does_to_a_table_stays_with_the_caller():
    mine = times()
    mine["time_s"] = 0.0
    mine.loc[:, "arm"] = "other"
    assert set(times()["arm"]) == {"vm", "container"}
    assert times()["time_s"].min() > 0
    assert read_published("vm_vs_container", TEST_2)["vm_time_s"].iloc[0] == 94.133


READ_ONCE = """
import collections, pandas
read, opened = pandas.read_csv, collections.Counter()
def counted(path, *args, **options):
    opened[str(path)] += 1
    return read(path, *args, **options)
pandas.read_csv = counted
from elevatorlab.plugins.studies import STUDIES
from elevatorlab.results import store
for name, study in STUDIES.items():
    measured = store.load(name, "published")
    study.judge(measured), study.tables(measured), study.published()
    study.figures(study.published(), measured)
print(len(opened), max(opened.values()))
"""


def test_a_published_table_is_read_once():
    """By statements, judges, tables and figures together."""
    found = subprocess.run(
        [sys.executable, "-c", READ_ONCE], capture_output=True, text=True, check=True
    )
    tables = list((DATA / "published").glob("*/*.csv"))
    assert found.stdout.split() == [str(len(tables)), "1"]
