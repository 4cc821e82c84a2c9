"""Clients that run trials in a process of their own, so that they can be killed."""

import multiprocessing
import os
import sys

# A process with everything imported, of which clients are made in milliseconds.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["elevatorlab.running.campaign", "elevatorlab.testbeds"])


def start(testbed, trial, results, log):
    """Start a client that runs one trial as the command line would; return its process.

    The file `log` gets what client and agent say; its last line is the error, if there was one.
    """
    arguments = (testbed, trial.canonical_json(), str(results), str(log))
    client = SERVER.Process(target=_run, args=arguments, daemon=True)
    client.start()
    return client


def run(testbed, trial, results, log):
    """Run a trial in a client; return its exit status."""
    client = start(testbed, trial, results, log)
    client.join()
    return client.exitcode


def kill_one_that_runs(testbed, trial, results, log):
    """Kill a client when the files of its trial are ready."""
    from helpers import wait_until  # here, since each client imports this module

    client = start(testbed, trial, results, log)
    wait_until(lambda: log.exists() and "files are ready" in log.read_text())
    client.kill()
    client.join()


def _run(testbed, trial_json, results, log):
    import json

    from elevatorlab import testbeds, trial
    from elevatorlab.errors import ElevatorLabError
    from elevatorlab.running import campaign

    sys.stdout = sys.stderr = open(log, "a", buffering=1)
    share = campaign.Share(testbeds.get(testbed), [trial.parse(json.loads(trial_json))])
    try:
        campaign.run([share], results, note=print)
    except ElevatorLabError as problem:
        print(f"{type(problem).__name__}: {problem}")
        sys.stdout.flush()
        os._exit(1)
