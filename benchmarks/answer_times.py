"""How much processor time a command takes to answer, beside Python's own start.

    .venv/bin/python benchmarks/answer_times.py [--times 5]

Prints the least of several measurements, since whatever else runs can only add to one. The second
column is that time over the time of ``python -c pass``; the third is over the time of importing
pandas, which no analysis does without.
"""

import argparse
import os
import subprocess
import sys
import tempfile

CALL = "import sys; sys.argv[0] = 'elevatorlab'; from elevatorlab.cli import main; main()"
NOTHING, PANDAS = "python -c pass", "import pandas"
COMMANDS = ["--help", "--version", "run --help", "claims", "claims --all", "cache"]


def processor_time_s(arguments, environment):
    """Return user and system time of a Python process and its children."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(
        getattr(after, name) - getattr(before, name)
        for name in ("children_user", "children_system")
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=5, help="measurements of each command")
    times = parser.parse_args().times
    calls = {NOTHING: ["-c", "pass"], PANDAS: ["-c", "import pandas"]}
    calls |= {f"elevatorlab {one}": ["-c", CALL, *one.split()] for one in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ELEVATORLAB_CACHE": folder}
        found = {
            "elevatorlab claims, first time": processor_time_s(["-c", CALL, "claims"], environment)
        }
        for name, arguments in calls.items():
            found[name] = min(processor_time_s(arguments, environment) for _ in range(times))
    print(f"{'':32} {'s':>6} {'/ pass':>7} {'/ pandas':>9}")
    for name in [*calls, *(found.keys() - calls)]:
        ratios = found[name] / found[NOTHING], found[name] / found[PANDAS]
        print(f"{name:32} {found[name]:6.2f} {ratios[0]:7.1f} {ratios[1]:9.2f}")


if __name__ == "__main__":
    main()
