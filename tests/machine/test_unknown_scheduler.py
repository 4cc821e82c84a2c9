"""A scheduler that nobody has registered, and rows without numbers, are drawn or named."""

import functools

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from elevatorlab.judging.verdicts import Verdict
from elevatorlab.plugins import scheduler_folders, studies
from elevatorlab.plugins.schedulers import SCHEDULERS, colour_of
from elevatorlab.results.store import load
from helpers import FIXTURES

#: By study: which of its reference suffices, and the quantity that all its figures rest on.
FEW = {
    "vm_vs_container": ("repetition == 1", "time_s"),
    "iozone_ranking": ("arm == 'notebook-5400' and variant == 'direct'", "throughput_kib_s"),
    "container_isolation": ("repetition == 1", "write_kib_s"),
    "innodb_commit": ("repetition < 3", "tps"),
    "stream_batching": ("repetition == 1", "throughput_iops"),
}
MINE = "scheduler-of-mine"
ONE_LIST = FIXTURES / "schedulers" / "one-list"


def few(name):
    return load(name, "reference/paper").query(FEW[name][0])


def with_mine(table, own, name=MINE):
    """Return the table, and the rows of its scheduler `own` once more, as another one's."""
    mine = table[table["scheduler"] == own]
    mine = mine.assign(scheduler=name, trial=mine["trial"] + "-mine")
    return pd.concat([table, mine], ignore_index=True)


def own_of(name):
    """Return the scheduler of a study that stands for somebody's own."""
    return "sbq" if name == "stream_batching" else "none"


def drawn(name, measured):
    study = studies.get(name)
    return study.figures(study.published(), measured)


def words(figure):
    return {text.get_text() for text in figure.findobj(Text)}


def colours(figure):
    """Every colour of a line, a bar, or a legend's entry."""
    parts = [*figure.findobj(lambda part: hasattr(part, "get_facecolor")), *figure.findobj()]
    found = set()
    for part in parts:
        for ask in ("get_facecolor", "get_color"):
            try:
                found.add(to_hex(getattr(part, ask)()))
            except (AttributeError, TypeError, ValueError):
                continue
    return found


@pytest.mark.parametrize("name", FEW)
def test_a_scheduler_that_nobody_registered_is_shown(name):
    """By its own name, and in a colour of its own; the study's tables have it, too."""
    table = with_mine(few(name), own_of(name))
    both = drawn(name, table)
    showing = [
        title
        for title, one in both.items()
        if any(MINE in text for text in words(one.figure)) and one.figure.axes
    ]
    assert showing
    own_colour = colour_of(MINE).lower()
    assert [title for title in showing if own_colour in colours(both[title].figure)]
    tables = studies.get(name).tables(table)
    assert all(caption for caption, _ in tables)


@pytest.fixture
def one_list():
    """Register a scheduler of somebody else's, whose label is not its name."""
    yield scheduler_folders.register(ONE_LIST)
    SCHEDULERS.unregister("one-list")


@pytest.mark.parametrize("name", FEW)
def test_a_stranger_s_scheduler_is_shown_by_its_label(name, one_list):
    both = drawn(name, with_mine(few(name), own_of(name), "one-list"))
    said = {title: words(one.figure) | {one.caption, one.details} for title, one in both.items()}
    assert [title for title, texts in said.items() if any("one list" in text for text in texts)]
    assert {
        title: [text for text in texts if "one-list" in text] for title, texts in said.items()
    } == dict.fromkeys(said, [])


@pytest.mark.parametrize("name", FEW)
def test_a_scheduler_that_a_document_has_not_changes_no_verdict(name):
    """It stands beside what the document claims, whatever was measured with it."""
    table = few(name)
    judge = studies.get(name).judge
    verdicts = [
        {claim.id: claim.verdict for claim in judge(rows)}
        for rows in (table, with_mine(table, table["scheduler"].iloc[0]))
    ]
    assert verdicts[0] == verdicts[1]


def test_a_scheduler_that_a_document_has_not_is_pooled_with_no_other():
    """Study 3's tables have lines of their own for it, and those of the others stay."""
    study, stored = studies.get("container_isolation"), few("container_isolation")
    table = stored[stored["scheduler"] == "none"]
    mine = table.assign(
        scheduler=MINE, trial=table["trial"] + "-mine", write_kib_s=1.0, wait_ms=9.0
    )
    mine = mine[mine["experiment"] != "comparison"]  # there a mechanism chooses its scheduler
    before = study.tables(table)
    after = study.tables(pd.concat([table, mine], ignore_index=True))
    told_apart = 0
    for (caption, alone), (same, both) in zip(before, after, strict=True):
        assert caption == same
        if "scheduler" in both:
            assert set(both["scheduler"]) == {"none", MINE}
            both = both[both["scheduler"] == "none"].drop(columns="scheduler")
            told_apart += 1
        pd.testing.assert_frame_equal(both.reset_index(drop=True), alone)
    assert told_apart == 6


@pytest.mark.parametrize("name", FEW)
def test_a_scheduler_alone_is_shown_though_nothing_compares_with_it(name):
    """Without the ones that the document compares with, and without a record."""
    table = few(name)
    alone = table[table["scheduler"] == own_of(name)]
    assert drawn(name, alone.assign(scheduler=MINE))


@pytest.mark.parametrize("name", FEW)
def test_rows_without_numbers_are_left_out_and_the_details_say_so(name):
    table = few(name)
    if name == "stream_batching":  # some of whose figures are of these rows alone
        table = table[table["cores"].isna()]
    nothing = drawn(name, table.assign(**{FEW[name][1]: float("nan")}))
    said = f"Nothing measured is shown: no row of the results has a number in {FEW[name][1]}."
    assert all(said in one.details and not one.trials for one in nothing.values())
    some = table.copy()
    some.loc[some.index[0], FEW[name][1]] = float("nan")
    said = f"ot shown: 1 of {len(some)} rows of the results (no number in {FEW[name][1]})"
    assert all(said in one.details for one in drawn(name, some).values())


@functools.cache
def as_measured():
    """Return study 3's tables, and its verdicts by claim, of what it has; once for all columns."""
    study, table = studies.get("container_isolation"), few("container_isolation")
    return study.tables(table), {claim.id: claim.verdict for claim in study.judge(table)}


@pytest.mark.parametrize("column", ["wait_ms", "latency_mean_ms", "recovery_s", "jain_ratio"])
def test_what_a_container_without_a_write_lacks_is_no_number_in_tables_and_verdicts(column):
    """The table of the study may lack it; other columns are refused where they are read."""
    study, table = studies.get("container_isolation"), few("container_isolation")
    lacking = table.assign(**{column: float("nan")})
    (before, kept), after = as_measured(), study.tables(lacking)
    assert [len(lines) for _, lines in after][0] == len(before[0][1])
    assert not any("nan" in f"{cell}" for _, lines in after for cell in lines.to_numpy().flat)
    lost = [one for one in study.judge(lacking) if one.verdict != kept[one.id]]
    assert all(one.verdict == Verdict.NOT_TESTABLE for one in lost)
