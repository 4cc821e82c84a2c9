"""The limit of a machine: what waits for nothing is ended, what is kept from a processor is not."""

import os
import subprocess
import sys

import pytest

import needs
from elevatorlab.testbeds.deterministic import timeouts
from helpers import wait_until

WORKS = "import time\nwhile time.process_time() < 1: pass"


@pytest.fixture
def one_core():
    """Return a function that starts a program of Python on one core, with those before it."""
    if not os.path.exists("/proc/self/schedstat"):
        needs.skip_on_this_machine("its kernel does not count how long a process waits")
    core = min(os.sched_getaffinity(0))
    started = []

    def start(program):
        begin = f"import os; os.sched_setaffinity(0, [{core}])\n"
        started.append(subprocess.Popen([sys.executable, "-c", begin + program], text=True))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def test_the_time_of_others_does_not_count(one_core):
    for _ in range(4):
        one_core("while True: pass")
    # Four others: a second of a processor takes five, of which it waits for four.
    assert timeouts.wait(one_core(WORKS), 3) == 0


def test_who_is_kept_waiting_is_known(one_core):
    one_core("while True: pass")
    busy = one_core("while True: pass")
    wait_until(lambda: timeouts.run_queue_wait_s(busy.pid) > 0.5)


def test_who_sleeps_is_not_waited_for(one_core):
    with pytest.raises(subprocess.TimeoutExpired):
        timeouts.wait(one_core("import time; time.sleep(3600)"), 0.5)


def test_who_has_ended_waits_for_nothing(one_core):
    ended = one_core("pass")
    ended.wait()
    assert timeouts.run_queue_wait_s(ended.pid) == 0
