"""A script that says only what it wants measured runs once, whatever processes that takes."""

import subprocess
import sys

SCRIPT = """
import math, os, sys
with open("ran", "a") as told:
    told.write("once\\n")
from elevatorlab.elevators.grading import side_by_side
from elevatorlab.running.pools import dask_workers

with dask_workers.local(2) as workers:
    made = [workers.call(math.sqrt, 4) for _ in range(4)]
    assert workers.call(os.getpid).result() != os.getpid()
    assert [one.result() for one in made] == [2] * 4
assert dict(side_by_side.here(math.sqrt, [1, 4], 2)) == {1: 1, 4: 2}
assert __spec__ is None
"""


def test_processes_do_not_run_the_script_again(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "ran").read_text() == "once\n"
