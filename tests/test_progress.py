"""Progress that a log can hold."""

from elevatorlab import progress


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
