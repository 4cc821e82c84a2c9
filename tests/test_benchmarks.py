"""What the programs in benchmarks/ say to options that make no sense."""

import subprocess
import sys

import pytest

from elevatorlab.paths import PROJECT


@pytest.mark.parametrize(
    ("program", "options", "sentence"),
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
def test_options_that_make_no_sense_are_refused_in_one_sentence(program, options, sentence):
    command = [sys.executable, PROJECT / f"benchmarks/{program}.py", *options]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.splitlines()[-1].endswith(sentence)
