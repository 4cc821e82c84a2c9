"""What a trial might leave behind: the state of the machine, to compare before and after."""

import subprocess
import time
from pathlib import Path

from elevatorlab import testbeds
from elevatorlab.results import store
from elevatorlab.running import campaign
from helpers import of_each_process

CGROUPS = ("/sys/fs/cgroup/elevatorlab", "/sys/fs/cgroup/*/elevatorlab")


def machine_state():
    """Return everything that a trial changes and has to give back, by kind."""
    return {
        "schedulers": schedulers(),
        "loops": loops(),
        "mounts": mounts(),
        "cgroups": [str(path) for pattern in CGROUPS for path in Path("/").glob(pattern[1:])],
        "files": files(),
        "containers": _docker("ps", "--all", "--format", "{{.Names}}"),
        "volumes": _docker("volume", "ls", "--format", "{{.Name}}"),
        "agents": agents(),
    }


def schedulers():
    """Return the scheduler and the queue depth of each disk; of loop devices, what is unusual.

    The kernel makes a loop device when one is asked for, and keeps it.
    """
    found = {}
    for queue in sorted(Path("/sys/class/block").glob("*/queue")):
        if (queue / "scheduler").exists():
            knobs = [(queue / name).read_text().strip() for name in ("scheduler", "nr_requests")]
            if not queue.parent.name.startswith("loop") or "[none]" not in knobs[0]:
                found[queue.parent.name] = knobs
    return found


def loops():
    """Return the loop devices over files of ours, under whatever path they are seen."""
    listed = _said("losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE")
    return sorted(line for line in listed if "elevatorlab" in line or "/disk-" in line)


def mounts():
    """Return the mounts of loop devices and those in places of ours: source, type and place."""
    seen = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, more = line.partition(" - ")
        place, kind, source = fields.split()[4], *more.split()[:2]
        if source.startswith("/dev/loop") or "elevatorlab" in place:
            seen.append((source, kind, place))
    return sorted(seen)


def files():
    """Return the files of ours, but for what is meant to stay: agents, locks, empty folders."""
    kept = [
        *Path("/run/elevatorlab").glob("journal/*"),
        *Path("/run/elevatorlab").glob("bundles/*"),
        *Path("/run/elevatorlab").glob("rendezvous/*"),
        *Path("/run/elevatorlab").glob("disk"),
        *Path("/var/tmp").glob("elevatorlab-*/scratch/*"),
        *Path("/var/tmp").glob("elevatorlab-*/runs/*"),
    ]
    return sorted(map(str, kept))


def agents():
    """Return the process ids of agents that run a trial: supervisors, agents, workers."""
    found = []
    for file in of_each_process("cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:  # ended meanwhile
            continue
        if any(b"elevatorlab-" in word and word.endswith(b".pyz") for word in words):
            found.append(int(file.parent.name))
    return sorted(found)


def _said(*argv):
    run = subprocess.run(argv, capture_output=True, text=True)
    return [line.strip() for line in run.stdout.splitlines()]


def _docker(*arguments):
    """Return what the engine lists; nothing where there is none."""
    try:
        return sorted(_said("docker", *arguments, "--filter", "label=elevatorlab"))
    except FileNotFoundError:
        return []


def assert_restored(before, limit_s=300, name="afterwards"):
    """Assert that the machine is, or within a moment will be, in the state that it was in."""
    until_s = time.monotonic() + limit_s
    while (changed := _changed(before)) and time.monotonic() < until_s:
        time.sleep(0.1)
    assert changed == {}, f"{name}: {changed}"


def _changed(before):
    """Return what has changed, before and now.

    Agents of other tests, and the containers that they look into an engine with, may have ended.
    """
    now = machine_state()
    ended = {
        what: [one for one in before[what] if one not in now[what] and _is_agent(one)]
        for what in ("agents", "containers")
    }
    known = {
        what: [one for one in found if one not in ended[what]] if what in ended else found
        for what, found in before.items()
    }
    return {what: (known[what], now[what]) for what in now if now[what] != known[what]}


def _is_agent(one):
    """Tell whether this is an agent's process id, or the name of an agent's container."""
    return isinstance(one, int) or one.startswith("elevatorlab-agent-")


def run_and_restore(name, trial, folder, note=lambda _: None):
    """Run a trial, after which the machine is as it was; return the folder of its result."""
    before = machine_state()
    testbed = testbeds.get(name, say=lambda _: None)
    try:
        campaign.run([campaign.Share(testbed, [trial])], folder, note=note)
        return store.folder(folder, testbed) / trial.hash
    finally:
        testbed.close()
        assert_restored(before)
