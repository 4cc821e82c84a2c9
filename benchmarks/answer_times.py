"""How much processor time a command takes to answer, beside Python's own start.

    .venv/bin/python benchmarks/answer_times.py [--times 5]

Prints the least of several measurements, since whatever else runs can only add to one. Beside it
stands the command's limit, and the exit status is 1 if one takes longer. Measure on an idle
machine: two programs on one core take up to twice the processor time. The last two columns are
that time over the time of ``python -c pass``, and over the time of importing pandas, which no
analysis does without.
"""

import argparse
import os
import subprocess
import sys
import tempfile

CALL = "import sys; sys.argv[0] = 'elevatorlab'; from elevatorlab.cli import main; main()"
NOTHING, PANDAS = "python -c pass", "import pandas"

#: What a command says of itself, and what it answers where nothing has changed since the last time.
OF_ITSELF_S, ANSWER_S = 0.4, 1.0
LIMITS_S = {
    "--help": OF_ITSELF_S,
    "--version": OF_ITSELF_S,
    "run --help": OF_ITSELF_S,
    "claims": ANSWER_S,
    "claims --all": ANSWER_S,
    "cache": ANSWER_S,
}


def processor_time_s(arguments, environment):
    """Return user and system time of a Python process and its children."""
    before = os.times()
    command = [sys.executable, *arguments]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return sum(
        getattr(after, name) - getattr(before, name)
        for name in ("children_user", "children_system")
    )


def main():
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=5, help="measurements of each command")
    times = parser.parse_args().times
    calls = {NOTHING: ["-c", "pass"], PANDAS: ["-c", "import pandas"]}
    calls |= {f"elevatorlab {one}": ["-c", CALL, *one.split()] for one in LIMITS_S}
    limits = {f"elevatorlab {one}": limit for one, limit in LIMITS_S.items()}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ELEVATORLAB_CACHE": folder}
        found = {
            "elevatorlab claims, first time": processor_time_s(["-c", CALL, "claims"], environment)
        }
        for name, arguments in calls.items():
            found[name] = min(processor_time_s(arguments, environment) for _ in range(times))
    print(f"{'':32} {'s':>6} {'limit':>6} {'/ pass':>7} {'/ pandas':>9}")
    for name in [*calls, *(found.keys() - calls)]:
        ratios = found[name] / found[NOTHING], found[name] / found[PANDAS]
        limit = f"{limits[name]:.1f}" if name in limits else ""
        print(f"{name:32} {found[name]:6.2f} {limit:>6} {ratios[0]:7.1f} {ratios[1]:9.2f}")
    above = [name for name, limit in limits.items() if found[name] > limit]
    for name in above:
        print(f"{name}: expected at most {limits[name]:.1f} s, found {found[name]:.2f} s")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
