"""Progress that a log can hold."""

from elevatorlab import progress


def test_a_log_gets_the_first_line_the_last_and_few_between(monkeypatch, capsys):
    clock = iter(range(0, 1000))  # a second a trial
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines = progress.Lines()
    for done in range(1, 61):
        lines.update(done, 60, None)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "trials: 1 of 60, about 1 min left"
    assert told[-1] == "trials: 60 of 60, about 0 min left"
    assert [int(line.split()[1]) for line in told] == [1, 16, 31, 46, 60]
