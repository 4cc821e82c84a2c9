# SPDX-License-Identifier: GPL-2.0-only
"""What goes wrong while a trial runs over NVMe/TCP; run inside the test guest, with the agent.

usage: faults.py [FAULT...]

Beside it are ``agent.pyz``, ``trial.json`` (fio over NVMe/TCP with SBQ) and two archives with what
travels beside it: ``modules.zip``, and ``no-modules.zip``, which has no module in it.

For each fault the trial is started, broken, and waited for; a line of JSON says how it ended, what
it said, how long that took in the guest's time, and what is left in the kernel of what the agent
had made: at once, and after ``agent clean``, which undoes what an agent that was killed could not.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

from rig import SBQ, write

HERE = pathlib.Path("/kernel-test")
AGENT = ["python3", str(HERE / "agent.pyz")]
DISK = pathlib.Path("/sys/block/nvme0n1")
NVMET = pathlib.Path("/sys/kernel/config/nvmet")
UPDATES = pathlib.Path("/lib/modules", os.uname().release, "updates")
LIMIT_S = 120

#: What a trial makes in the kernel, as files that are there or not.
TRACES = [
    *("/sys/class/nvme/nvme*", "/sys/kernel/config/nvmet/subsystems/*"),
    *("/sys/kernel/config/nvmet/ports/*", "/sys/kernel/config/nullb/elevatorlab"),
    *("/run/netns/*", "/sys/class/net/elevatorlab*", "/sys/module/nvme_tcp*"),
    *("/sys/module/nvme_core", "/sys/module/nvmet*", "/sys/fs/cgroup/elevatorlab"),
    *("/run/elevatorlab/journal/*", "/sys/module/veth", "/run/modprobe.d/*"),
    f"/sys/module/{SBQ.module.replace('-', '_')}",
]


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def target_is_killed(_):
    (NVMET / "ports/4420/subsystems/elevatorlab").unlink()


def connection_is_reset(_):
    inside = ["nsenter", "--net=/run/netns/elevatorlab-target"]
    subprocess.run([*inside, "ss", "--kill", "state", "established"], check=True)


def cable_is_down(_):
    ip("link set elevatorlab0 down")


def disk_of_the_target_is_gone(_):
    write(NVMET / "subsystems/elevatorlab/namespaces/1/enable", 0)


def network_namespace_loses_its_name(_):
    ip("netns delete elevatorlab-target")


def agent_is_terminated(agent):
    agent.terminate()


def agent_is_killed(agent):
    agent.kill()


WHILE_IT_RUNS = [
    target_is_killed,
    connection_is_reset,
    cable_is_down,
    disk_of_the_target_is_gone,
    network_namespace_loses_its_name,
    agent_is_terminated,
    agent_is_killed,
]


def driver_is_missing():
    """Our driver is not there when the trial starts."""
    file = UPDATES / "nvme-tcp-one-send.ko"
    aside = file.with_suffix(".aside")
    file.rename(aside)
    return lambda: aside.rename(file)


def scheduler_is_missing():
    """The trial brings no module, as on a real machine, and the kernel has none either."""
    archive = HERE / "modules.zip"
    whole = archive.read_bytes()
    archive.write_bytes((HERE / "no-modules.zip").read_bytes())
    return lambda: archive.write_bytes(whole)


def loaded_before(*modules):
    """Return a fault: somebody has loaded modules in another way than the trial needs."""

    def fault():
        for module in modules:
            subprocess.run(["modprobe", module], check=True)
        return lambda: subprocess.run(["rmmod", *reversed(modules)], check=True)

    return fault


BEFORE_IT_STARTS = {
    "scheduler_is_missing": scheduler_is_missing,
    "driver_is_missing": driver_is_missing,
    "other_driver_is_loaded": loaded_before("nvme-core", "nvme-fabrics", "nvme-tcp"),
    "nvme_core_hides_schedulers": loaded_before("nvme-core"),
}


def start(name):
    result = HERE / f"result-{name}"
    log = open(HERE / f"{name}.log", "wb")
    argv = [*AGENT, "trial", str(HERE / "trial.json"), str(result)]
    return subprocess.Popen(argv, stdout=log, stderr=log), result


def wait_for_requests(agent):
    """Return when the trial's fio is at work."""
    until = time.monotonic() + LIMIT_S
    while not DISK.exists() or int((DISK / "stat").read_text().split()[0]) < 2000:
        assert agent.poll() is None and time.monotonic() < until, "the trial never got to work"
        time.sleep(0.01)


def ending(name, agent, result, before, began):
    """Wait for the agent; tell how it ended, and what is left that was not there before it."""
    status = agent.wait(LIMIT_S)
    took_s = time.monotonic() - began
    left = traces() - before
    subprocess.run([*AGENT, "clean", str(HERE / "no-runs")], check=True, capture_output=True)
    failure = result / "failure.txt"
    return {
        "fault": name,
        "status": status,
        "said": failure.read_text() if failure.exists() else "",
        "took_s": round(took_s, 1),
        "left": sorted(left),
        "left_after_clean": sorted(traces() - before),
        "log": (HERE / f"{name}.log").read_text()[-600:],
    }


def traces():
    return {str(path) for trace in TRACES for path in pathlib.Path("/").glob(trace[1:])}


def while_it_runs(fault):
    before = traces()
    agent, result = start(fault.__name__)
    wait_for_requests(agent)
    began = time.monotonic()
    fault(agent)
    return ending(fault.__name__, agent, result, before, began)


def before_it_starts(name, fault):
    mend = fault()
    try:
        before = traces()  # the modules that the fault itself has loaded among them
        began = time.monotonic()
        agent, result = start(name)
        return ending(name, agent, result, before, began)
    finally:
        mend()


def main():
    pathlib.Path("/sys/fs/cgroup").mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"], check=True)
    subprocess.run(["dmesg", "--console-off"], check=True)  # a line for each request that fails
    wanted = sys.argv[1:]
    # First what needs modules that are not loaded yet: a scheduler's stays.
    jobs = [
        (name, lambda name=name, one=one: before_it_starts(name, one))
        for name, one in BEFORE_IT_STARTS.items()
    ]
    jobs += [(one.__name__, lambda one=one: while_it_runs(one)) for one in WHILE_IT_RUNS]
    for name, job in jobs:
        if not wanted or name in wanted:
            print("FAULT", json.dumps(job()), flush=True)


if __name__ == "__main__":
    main()
