"""Progress that a log can hold."""

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from elevatorlab.running import progress
from helpers import wait_until


def test_a_log_gets_the_first_line_the_last_and_few_between(monkeypatch, capsys):
    now_s = 1000
    monkeypatch.setattr(progress.time, "monotonic", lambda: now_s)
    lines = progress.Lines()
    for done in range(1, 61):
        now_s = 1000 + done  # a second a trial
        lines.update(done, 60, None)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "trials: 1 of 60, about 1 min left"
    assert told[-1] == "trials: 60 of 60, about 0 min left"
    assert [int(line.split()[1]) for line in told] == [1, 16, 31, 46, 60]


def test_notes_within_a_trial_are_told_now_and_then(monkeypatch, capsys):
    now_s = 100
    monkeypatch.setattr(progress.time, "monotonic", lambda: now_s)
    lines = progress.Lines()
    for now_s in range(100, 131):  # noqa: B007  (the clock)
        lines.note(f"at {now_s}")
    assert capsys.readouterr().err.splitlines() == ["at 100", "at 115", "at 130"]


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that a test sets, and a terminal that goes by it."""
    clock = SimpleNamespace(now_s=1000, shown=io.StringIO())

    def terminal(stderr):
        return Console(
            file=clock.shown, force_terminal=True, width=100, get_time=lambda: clock.now_s
        )

    monkeypatch.setattr(progress, "Console", terminal)
    return clock


def test_a_terminal_tells_the_time_left_of_long_trials(clock):
    """Two at a time, 40 s each: between two ends nothing moves for longer than rich looks back."""
    with progress.shown() as (update, note):
        update(0, 100, None)
        for pair in range(1, 6):
            clock.now_s = 1000 + 40 * pair
            update(2 * pair - 1, 100, None)
            update(2 * pair, 100, None)
        wait_until(lambda: "10/100" in clock.shown.getvalue())
    shown = [line for line in re.split(r"[\r\n]+", clock.shown.getvalue()) if "10/100" in line]
    hours, minutes, seconds = map(
        int, re.search(r"left: .*?(\d+):(\d\d):(\d\d)", shown[-1]).groups()
    )
    truth_s = 90 / 2 * 40
    assert 3600 * hours + 60 * minutes + seconds == pytest.approx(truth_s, rel=0.15)


@pytest.fixture
def cell(monkeypatch):
    """Return a clock that a test sets, and what is shown by it below a notebook's cell."""
    cell = SimpleNamespace(now_s=0, shown=[])

    def show(table):
        cell.shown.append(table._repr_mimebundle_((), ())["text/plain"])

    def display(table, display_id):
        show(table)
        return SimpleNamespace(update=show)

    def notebook(**options):
        return Console(force_jupyter=True, width=100, get_time=lambda: cell.now_s)

    monkeypatch.setattr(progress, "Console", notebook)
    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr("rich._console", Console(width=100, color_system=None))
    return cell


def test_a_notebook_tells_the_time_left_by_the_mean(cell):
    with progress.shown() as (update, note):
        cell.now_s = 500  # the machine boots, say
        update(0, 8, None)
        for done in range(1, 5):
            cell.now_s = 500 + 30 * ((done + 1) // 2)
            update(done, 8, None)
        note("trial abc: in the guest")
        assert "4/8 0:01:00 left: 0:01:00 trial abc: in the guest" in cell.shown[-1]


def test_a_notebook_keeps_its_bar(cell):
    with progress.shown() as (update, note):
        update(0, 2, None)
        assert "left: -:--:--" in cell.shown[0]
        note("trial abc: in the guest")
        update(2, 2, None)
    assert "2/2" in cell.shown[-1] and "trial abc" not in cell.shown[-1]


def test_a_notebook_shows_no_bar_where_there_is_nothing_to_do(cell):
    with progress.shown():
        pass
    assert not cell.shown
