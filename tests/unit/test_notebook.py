"""What notebooks call, and their tables: words at the left, numbers at the right."""

import re
from types import SimpleNamespace

import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter

from elevatorlab import notebook, studies
from elevatorlab.lectures.tables import EMPTY, filled
from elevatorlab.notebook.tables import as_html, load_ipython_extension
from elevatorlab.paths import PROJECT
from elevatorlab.results import tidying
from synthetic import write_results

REASONS = pd.DataFrame(
    {"verdict": ["reproduced", "contradicted"], "ms": [1.5, 20.0], "reason": ["a <b> c", "d"]}
)


def cells(html, tag):
    """Return whether each cell is at the left, and what it holds."""
    found = re.findall(rf"<{tag}\b([^>]*)>(.*?)</{tag}>", html)
    return [("left" in attributes, words) for attributes, words in found]


def test_words_are_at_the_left_below_their_title():
    html = as_html(REASONS)
    assert cells(html, "td")[:3] == [(True, "reproduced"), (False, "1.5"), (True, "a &lt;b&gt; c")]
    titles = [(False, ""), (True, "verdict"), (False, "ms"), (True, "reason")]
    assert cells(html, "th")[:4] == titles
    assert cells(html, "th")[4:] == [(False, "0"), (False, "1")]


def test_a_dash_among_numbers_is_no_word_and_a_full_column_keeps_its_digits():
    table = filled(pd.DataFrame({"gaps": [1.5, float("nan")], "full": [1.25, 2.0]}))
    found = cells(as_html(table), "td")
    assert found == [(False, "1.5"), (False, "1.25"), (False, EMPTY), (False, "2.00")]
    dashes = pd.DataFrame({"machine": [EMPTY, EMPTY]})
    assert cells(as_html(dashes), "td") == [(True, EMPTY)] * 2


def test_no_cell_is_cut_off():
    words = "mq-deadline 273.5, kyber 271, none 264.5, cfq 255, bfq 236 and many more words"
    assert cells(as_html(pd.DataFrame({"points": [words]})), "td") == [(True, words)]


def test_rows_that_have_names_have_them_at_the_left():
    html = as_html(REASONS.set_index(["verdict", "reason"]))
    assert all(left for left, words in cells(html.partition("<tbody>")[2], "th"))
    assert [left for left, _ in cells(html, "td")] == [False, False]


def test_titles_of_two_lines_stay_where_pandas_puts_them():
    table = pd.DataFrame([["none", 1.0]], columns=pd.MultiIndex.from_product([["VM"], ["a", "b"]]))
    html = as_html(table)
    assert [left for left, _ in cells(html, "td")] == [True, False]
    assert not any(left for left, _ in cells(html.partition("<tbody>")[0], "th")[-2:])


def test_a_table_without_words_or_rows_is_as_pandas_shows_it():
    for table in (pd.DataFrame({"ms": [1.0]}), pd.DataFrame(columns=["reason"]), pd.DataFrame()):
        assert as_html(table) == table._repr_html_()


def test_a_table_that_pandas_shortens_keeps_its_cells():
    wide = pd.DataFrame({f"column {number}": ["word"] for number in range(30)})
    with pd.option_context("display.max_columns", 6):
        assert re.sub(' style="text-align: left"', "", as_html(wide)) == wide._repr_html_()


def test_the_extension_is_used_by_ipython():
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    load_ipython_extension(shell)
    formatted, _ = shell.display_formatter.format(REASONS)
    assert formatted["text/html"] == as_html(REASONS)


STUDY = "vm_vs_container"
NOTEBOOKS = sorted(PROJECT.glob("notebooks/[ae]*/0*.ipynb"))  # analysis, experiments


def test_a_measurement_shows_what_was_asked_for_alone(tmp_path, monkeypatch):
    """Trials of other presets and parameters may have run into the same folder before."""
    for preset, repetitions in (("quick", 2), ("smoke", 2)):
        write_results(tmp_path, arms=("host",), preset=preset, repetitions=repetitions)
    table = tidying.tidy(tmp_path, studies.get(STUDY))
    assert set(table["preset"]) == {"quick", "smoke"} and set(table["repetition"]) == {1, 2}
    monkeypatch.setattr(notebook.jobs, "run_study", lambda *_: table)
    asked = {"testbed": "host", "preset": "smoke", "arms": ["host"], "repetitions": 1}
    asked |= {"backing_schedulers": ["none"]}
    shown = notebook.check(STUDY, asked, frozenset()).measure()
    assert set(shown["preset"]) == {"smoke"} and set(shown["repetition"]) == {1}
    assert list(shown.index) == list(range(len(shown)))
    assert len(shown) == len(table[(table["preset"] == "smoke") & (table["repetition"] == 1)])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"testbed": "moon"}, "testbed: expected one of"),
        ({"testbed": "host,moon"}, "found 'moon'"),
        ({"repetitions": "many"}, "repetitions: "),
        ({"schedulers": ["noop"]}, "schedulers.0: "),
        ({"workers": 0}, "workers: "),
        ({"schedulers": "none,,bfq"}, "schedulers: expected values with commas between"),
        ({"schedulers": ""}, "schedulers: expected values with commas between"),
        ({"scheduler": "bfq"}, "no parameter 'scheduler' here"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(given, said, error_of):
    sentence = error_of(notebook.check, STUDY, given, frozenset())
    assert said in sentence and "\n" not in sentence


@pytest.mark.parametrize(
    ("study", "given", "said"),
    [
        ("vm_vs_container", {"destroy": "maybe"}, "destroy: "),
        # Its disk is a simulated one on every testbed.
        ("container_isolation", {"destroy": True}, "no parameter 'destroy' here; expected one of"),
    ],
)
def test_what_cannot_be_of_one_study_is_refused_too(study, given, said, error_of):
    assert said in error_of(notebook.check, study, given, frozenset())


@pytest.mark.parametrize("text", ["none,bfq,", "none, bfq", "['none','bfq']", '"none","bfq"'])
def test_a_list_is_read_however_it_is_written(text):
    asked = notebook.check(STUDY, {"schedulers": text}, frozenset())
    assert (
        asked.trials == notebook.check(STUDY, {"schedulers": ["none", "bfq"]}, frozenset()).trials
    )


def test_a_folder_with_a_number_for_its_name_is_a_folder():
    assert notebook.check(STUDY, {"results": 2024}, frozenset()).results == "2024"


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_papermill_knows_the_type_of_each_parameter(file):
    import papermill  # takes longer to import than all other tests take to collect

    for parameter in papermill.inspect_notebook(str(file)).values():
        assert parameter["inferred_type_name"] != "None", parameter["name"]
