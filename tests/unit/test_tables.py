"""Tidy tables: every column is declared once, and a table that is otherwise is refused."""

import pandas as pd
import pytest

from elevatorlab.plugins import studies
from elevatorlab.results import references, store
from elevatorlab.results.tidy_columns import SHARED, Table, may_lack, number, text, whole
from elevatorlab.showing import dictionary

NAMES = studies.STUDIES.names()

TABLE = Table(
    "timed read",
    text("arm", "what it ran in"),
    whole("threads", "", "how many there were"),
    may_lack(number("time_s", "s", "how long it took; empty: not known")),
)
GOOD = pd.DataFrame({"arm": ["host", "vm"], "threads": [1, 2], "time_s": [0.5, None]})


def test_a_table_as_declared_passes_as_it_is():
    pd.testing.assert_frame_equal(TABLE.checked(GOOD, "table"), GOOD)


def test_whole_numbers_that_pandas_made_floats_pass():
    assert len(TABLE.checked(GOOD.astype({"threads": float}), "table")) == 2


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"time_s": ["x", 1.0]}, "column time_s: expected a number in s, or nothing; found 'x'"),
        ({"time_s": [True, 1.0]}, "column time_s: expected a number in s, or nothing; found True"),
        ({"threads": [1.5, 2]}, "column threads: expected a whole number; found 1.5"),
        ({"threads": [None, 2]}, "column threads: expected a whole number; found nothing"),
        ({"arm": [1, 2]}, "column arm: expected text; found 1"),
        ({"arm": [None, "vm"]}, "column arm: expected text; found nothing"),
        ({"colour": "blue"}, "expected the columns of one row per timed read; found also colour"),
    ],
)
def test_a_wrong_column_is_named(changes, sentence, error_of):
    said = error_of(TABLE.checked, GOOD.assign(**changes), "table of lab")
    assert said.startswith(f"table of lab: {sentence}")


def test_a_missing_column_is_named_and_another_order_is_told(error_of):
    assert "none named arm" in error_of(TABLE.checked, GOOD.drop(columns="arm"), "table")
    other = GOOD[["time_s", "threads", "arm"]]
    assert "found another order" in error_of(TABLE.checked, other, "table")


@pytest.mark.parametrize("name", NAMES)
def test_every_study_declares_its_columns(name):
    table = studies.get(name).TABLE
    assert set(SHARED) <= set(table.names) and len(set(table.names)) == len(table.names)
    assert [column.name for column in table.columns if not column.meaning] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_in_a_name_is_the_unit_that_is_declared(name):
    """`_kib_s` comes before `_s`: the longest ending decides."""
    units = {"_kib_s": "KiB/s", "_gbit_s": "Gb/s", "_ms": "ms", "_us": "us", "_s": "s"}
    units |= {"_ns_per_request": "ns"}
    units |= {"_bytes": "bytes", "_mib": "MiB", "_kib": "KiB", "_mb": "MB", "_iops": "1/s"}
    units |= {"_ratio": "1", "_percent": "%"}
    for column in studies.get(name).TABLE.columns:
        if endings := [ending for ending in units if column.name.endswith(ending)]:
            assert column.unit == units[max(endings, key=len)], column.name


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_reference_is_refused_by_name(name, tmp_path, monkeypatch, error_of):
    table = pd.read_csv(references.FOLDER / f"{name}.csv").astype({"repetition": object})
    table.loc[0, "repetition"] = "first"
    table.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.setattr(references, "FOLDER", tmp_path)
    said = error_of(store.load, name)
    assert f"{name}.csv: column repetition: expected a whole number; found" in said


def test_the_data_dictionary_is_up_to_date():
    assert dictionary.PAGE.read_text() == dictionary.page(), "run: elevatorlab dictionary"


def test_the_data_dictionary_has_every_column():
    page = dictionary.page()
    for study in studies.STUDIES.values():
        assert [name for name in study.COLUMNS if f"| `{name}` |" not in page] == []
