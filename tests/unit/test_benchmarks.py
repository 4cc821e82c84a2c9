"""What the programs in benchmarks/ say to options that make no sense, and to long answers."""

import subprocess
import sys

import pandas as pd
import pytest

from elevatorlab.paths import PROJECT
from helpers import program


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("soak", ("--minutes", "0"), "expected a number above 0, found '0'"),
        ("soak", ("--minutes", "long"), "expected a number above 0, found 'long'"),
        ("soak", ("--kills", "-1"), "expected a whole number from 0 on, found '-1'"),
        ("soak", ("--seed", "1.5"), "expected a whole number from 0 on, found '1.5'"),
        ("inversion", ("--limit-mib-s", "-1"), "expected a number above 0, found '-1'"),
        ("inversion", ("--limit-mib-s", "nan"), "expected a number above 0, found 'nan'"),
        ("inversion", ("--seeds", "0"), "expected a whole number from 1 to 100, found '0'"),
        ("monitor", ("--sizes", "20,many"), "expected whole numbers above 1, found '20,many'"),
        (
            "multicore_iops",
            ("--schedulers", "none,nowhere"),
            "found no such folder. Begin a new one: elevatorlab scheduler new mine",
        ),
        ("monitor", ("--sizes", "1,20"), "expected whole numbers above 1, found '1,20'"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_one_sentence(name, options, sentence):
    command = [sys.executable, PROJECT / f"benchmarks/{name}.py", *options]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.splitlines()[-1].endswith(sentence)


@pytest.fixture
def answer_times(monkeypatch):
    """Return the program that measures how soon commands answer."""
    monkeypatch.setattr(sys, "argv", ["answer_times.py"])
    return program(PROJECT / "benchmarks/answer_times.py")


@pytest.fixture
def times(answer_times, monkeypatch):
    """Return the times of commands that it finds; of all others it finds 0.1 s."""
    found = {}

    def measured(arguments, environment):
        return found.get(" ".join(arguments[2:]), 0.1)

    monkeypatch.setattr(answer_times, "processor_time_s", measured)
    return found


def test_a_command_has_its_limit_beside_its_time(answer_times, times, capsys):
    times |= answer_times.LIMITS_S
    assert answer_times.main() == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line[:32].strip(): line[32:].split() for line in lines}
    assert rows["elevatorlab --help"] == ["0.40", "0.4", "4.0", "4.00"]
    assert rows["elevatorlab claims"] == ["1.00", "1.0", "10.0", "10.00"]
    assert rows["import pandas"] == ["0.10", "1.0", "1.00"]


def test_a_command_above_its_limit_fails_the_measurement(answer_times, times, capsys):
    times |= {"--help": 0.41, "claims": 9.0}
    assert answer_times.main() == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "elevatorlab --help: expected at most 0.4 s, found 0.41 s",
        "elevatorlab claims: expected at most 1.0 s, found 9.00 s",
    ]


def test_a_command_that_fails_has_no_time(answer_times):
    with pytest.raises(subprocess.CalledProcessError):
        answer_times.processor_time_s(["-c", "raise SystemExit(1)"], {})


@pytest.mark.parametrize(
    ("missed_s", "mb_s", "stay"),
    [
        ((0, 0, 0), (1.0, 1.04, 1.06), (False, True, True)),  # the best, and what comes near it
        ((0, 1, 2), (1.0, 0.9, 2.0), (True, False, True)),  # another one misses less and gives more
        ((0, 3, 5), (1.0, 2.0, 3.0), (True, False, False)),  # more than half of the seconds
        ((4, 5), (1.0, 2.0), (False, False)),
    ],
)
def test_a_setting_gets_another_seed_while_no_other_beats_it(monkeypatch, missed_s, mb_s, stay):
    monkeypatch.syspath_prepend(PROJECT / "benchmarks")
    columns = {"judged_s": 5, "missed_s": missed_s, "offenders_mb_s": mb_s}
    cells = pd.DataFrame(columns, dtype=float)
    found = program(PROJECT / "benchmarks/frontier.py").in_play(cells)
    assert tuple(found) == stay
