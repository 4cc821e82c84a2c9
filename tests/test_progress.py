"""Progress that a log can hold."""

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console
from tqdm import tqdm

from elevatorlab import jobs, progress
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


def test_a_notebook_tells_the_time_left_by_the_mean():
    now_s = 0
    with tqdm(total=8, smoothing=0, file=io.StringIO()) as bar:
        bar._time = lambda: now_s
        now_s = 500  # the machine boots, say
        jobs._advance(bar, 0, 8, None)
        for done in range(1, 5):
            now_s = 500 + 30 * ((done + 1) // 2)
            jobs._advance(bar, done, 8, None)
        assert "01:00<01:00" in str(bar)
