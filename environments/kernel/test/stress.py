# SPDX-License-Identifier: GPL-2.0-only
"""Stress tests of a scheduler, run inside the test guest; prints one line a test.

usage: stress.py [--scheduler NAME --module MODULE] [TEST...]

By default the scheduler is SBQ, which has tests of its own beside those of any scheduler.
"""

import argparse
import subprocess
import sys
import time
import traceback

import stress_changes
import stress_data
import stress_nvme_tcp
from rig import LIMIT_S, UNDER_TEST, holds_batches, load, trouble, write

OF_ANY = [
    stress_data.data_survive_every_kind_of_completion_size_and_queue,
    stress_data.flush_and_fua_storms_end,
    stress_data.a_request_that_is_inserted_again_is_served,
    stress_changes.a_device_goes_away_under_load,
    stress_nvme_tcp.an_nvme_controller_is_deleted_under_load,
    stress_nvme_tcp.an_nvme_controller_is_reset_under_load,
    stress_nvme_tcp.data_survive_nvme_over_tcp,
    stress_nvme_tcp.flush_and_fua_storms_end_over_nvme_tcp,
    stress_nvme_tcp.switches_over_nvme_tcp_lose_nothing,
    stress_changes.the_module_unloads_only_when_unused,
    stress_changes.a_processor_goes_and_comes_under_load,
    stress_changes.a_thousand_switches_under_load_lose_nothing,
]

#: What only SBQ has: knobs, counters, holds.
OF_SBQ = [
    stress_data.knobs_have_defaults_and_refuse_what_is_out_of_range,
    stress_data.each_cause_of_release_is_counted,
    stress_data.a_bio_is_merged_into_a_held_request,
    stress_changes.knobs_and_depth_change_under_load,
    stress_nvme_tcp.passthrough_commands_go_past_the_hold,
    stress_changes.holds_per_cpu_lose_nothing,
]


#: What was in flight on a device that is taken away under load fails: that is no trouble.
TAKEN_AWAY = ("goes_away", "deleted", "holds")


def run(test):
    """Run one test; return its outcome, and what it said or what is wrong."""
    try:
        said, outcome = test(), "ok"
    except Exception:
        said, outcome = traceback.format_exc(), "FAILED"
    complaints = trouble()
    if any(word in test.__name__ for word in TAKEN_AWAY):
        complaints = [line for line in complaints if "I/O error" not in line]
    return ("FAILED", (said, complaints[:20])) if complaints else (outcome, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheduler", default=UNDER_TEST.name)
    parser.add_argument("--module", default=UNDER_TEST.module)
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    UNDER_TEST.name, UNDER_TEST.module, wanted = given.scheduler, given.module, given.tests
    write("/proc/sys/kernel/hung_task_timeout_secs", LIMIT_S // 2)  # a slow host is no trouble
    subprocess.run(["dmesg", "--console-off"], check=True)
    load("null_blk", "nr_devices=0")
    load(UNDER_TEST.module)
    trouble()
    outcomes = []
    for test in [*OF_ANY, *(OF_SBQ if holds_batches() else [])]:
        if not wanted or test.__name__ in wanted:
            began = time.monotonic()
            outcome, said = run(test)
            outcomes.append(outcome)
            print(f"{outcome} {test.__name__} ({time.monotonic() - began:.1f} s)", said or "")
    sys.exit(1 if "FAILED" in outcomes else 0)


if __name__ == "__main__":
    main()
