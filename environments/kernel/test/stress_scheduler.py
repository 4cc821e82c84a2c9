# SPDX-License-Identifier: GPL-2.0-only
"""Build the scheduler of a folder, and run the stress tests of any scheduler on two processors.

    .venv/bin/python environments/kernel/test/stress_scheduler.py FOLDER|NAME [TEST...]

Prints one line a test; the status is 0 if all passed. Unlike `elevatorlab scheduler check`, the
machine's time is not counted: it has two processors that run at the same moment, so no two runs
are alike. It also has disks over NVMe/TCP.
"""

import argparse
import pathlib
import sys

import harness

from elevatorlab.plugins import scheduler_folders
from elevatorlab.testbeds.deterministic import image, modules

HERE = pathlib.Path(__file__).parent

#: All tests take two minutes on two cores.
LIMIT_S = 1800


def run(folder, tests=(), limit_s=LIMIT_S, show=print):
    """Run the tests, or those that are named; return the status and the lines that were said.

    Raises
    ------
    RuntimeError
        When the machine crashed, or hung until `limit_s`.
    """
    record = scheduler_folders.ZOO.get(str(folder)) or scheduler_folders.read(folder)
    built = modules.build(record.folder).file
    arguments = ["--scheduler", record.name, "--module", built.stem, *tests]
    stress = HERE / "stress.py"
    return harness.run(
        image.FOLDER, stress, arguments, files=built.parent, smp=2, timeout_s=limit_s, show=show
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="of a scheduler; or the name of one of ours")
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--limit-s", type=int, default=LIMIT_S, help="(default: %(default)s)")
    given = parser.parse_args()
    try:
        status, _ = run(
            given.folder, given.tests, given.limit_s, lambda line: print(line, flush=True)
        )
    except RuntimeError:
        sys.exit(
            f"In the test after the last line, the machine crashed, or hung until {given.limit_s} "
            "s had passed. A scheduler that passes the check and hangs here often lacks a lock"
        )
    sys.exit(status)


if __name__ == "__main__":
    main()
