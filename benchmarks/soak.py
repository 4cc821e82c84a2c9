"""What the regulator leaves behind after half an hour of containers that come and go, and kills.

    sudo .venv/bin/python benchmarks/soak.py [--minutes 30] [--kills 50] [--seed 1]

Needs root, a Docker engine with the image debian:bookworm-slim, and nothing else. Six containers
share one slow disk through a loop device each: four write little, two overload it. Each runs for
half a minute or so and goes; another one takes its place. All the while `elevatorlab regulate`
keeps them apart. In the first half of the time it is killed at random moments, by SIGKILL and by
SIGTERM in turns, and started again at once. Four kills in five come after it has begun to regulate.
The whole second half is one life, so that its memory can be seen to stay. That life ends by SIGKILL
while a limit is in force, too. The regulator that comes next is told to end at once, so it can only
restore. A busy machine, on which each start takes long, adds to the time.

No limit may be left after a SIGTERM, nor at the end, and nothing in the journal. The memory at the
end of the long life may be that at its beginning times MEMORY_BAR. Otherwise the status is 1.
"""

import argparse
import contextlib
import fnmatch
import heapq
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))

from options import positive

from elevatorlab.agent.regulator.topology import find_cgroups
from helpers import children, running, wait_until
from regulator_host import (
    IMAGE,
    loop_devices,
    single_server_disk,
    start_normal,
    start_overload,
    stop,
)

NORMAL = [f"soak-normal-{number}" for number in range(1, 5)]
OVERLOADS = [f"soak-overload-{number}" for number in range(1, 3)]
SERVICE_MS, KIB_S = 0.05, 6000
MEAN_STAY_S, MEAN_AWAY_S, SHORTEST_S = 30, 4, 2
PERIOD_S = 0.5
SAMPLE_S = 5
#: A container that the engine does not start is tried again later, so often in all.
MOST_REFUSALS = 10
MEMORY_BAR = 1.1
#: One kill in five hits a regulator within its first two seconds, in which it starts.
ONE_KILL_IN_A_START, MOST_OF_A_START_S = 5, 2
#: A file of a cgroup in which limits are, by the version of cgroups.
LIMITS = {1: "blkio.throttle.*_bps_device", 2: "io.max"}


class Containers(threading.Thread):
    """Containers that come and go, each on a device of its own, until told to end."""

    def __init__(self, loops, seed):
        super().__init__()
        self.loops = dict(zip(NORMAL + OVERLOADS, loops, strict=True))
        self.chance = random.Random(f"containers {seed}")
        self.seen = self.refusals = 0
        self.refusal = ""
        self.ended = threading.Event()

    def run(self):
        """Start and stop them; an engine that refuses again and again ends it all."""
        begin_s = time.monotonic()
        due = [(begin_s, name, True) for name in self.loops]
        while not self.ended.wait(max(0, due[0][0] - time.monotonic())):
            _, name, comes = heapq.heappop(due)
            if not comes:
                stop(name)
            up = comes and self.start_one(name)
            if self.refusals > MOST_REFUSALS:
                return
            mean_s = MEAN_STAY_S if up else MEAN_AWAY_S
            later_s = max(SHORTEST_S, self.chance.expovariate(1 / mean_s))
            heapq.heappush(due, (time.monotonic() + later_s, name, not up))

    def start_one(self, name):
        """Start a container; return whether it runs."""
        begin = start_normal if name in NORMAL else start_overload
        try:
            begin(name, self.loops[name])
        except subprocess.CalledProcessError as problem:
            self.refusals += 1
            self.refusal = problem.stderr.decode().strip()
            return False
        self.seen += 1
        return True

    def close(self):
        """Remove them all."""
        self.ended.set()
        self.join()
        stop(*self.loops)


class Regulator:
    """The program, as an operator starts it, in a process group of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.log, self.errors = folder / "log.jsonl", folder / "errors"
        self.state = folder / "state"
        temporary = folder / "temporary"
        temporary.mkdir(exist_ok=True)
        named = [f"--container={name}" for name in NORMAL + OVERLOADS]
        program = (
            "from elevatorlab.cli import main; import sys; sys.argv[0] = 'elevatorlab'; main()"
        )
        command = [sys.executable, "-c", program, "regulate", "--policy", "slae"]
        command += ["--sla-wait-ms", "5", "--period-s", str(PERIOD_S), *named]
        self.logged = self.log.stat().st_size if self.log.exists() else 0
        with open(self.errors, "a") as errors:
            self.process = subprocess.Popen(
                [*command, "--log", self.log, "--state", self.state],
                stdout=errors,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(temporary)},
            )

    def events(self, kind):
        """Return the whole lines of this life's log that are of one kind."""
        if not self.log.exists():
            return []
        with open(self.log) as log:
            log.seek(self.logged)
            lines = [json.loads(line) for line in log if line.endswith("\n")]
        return [line for line in lines if line["event"] == kind]

    def memory_kib(self):
        """Return the resident memory of the agent, which does the work; None where it is not up."""
        for pid in children(self.process.pid):
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                    if line.startswith("VmRSS:"):
                        return int(line.split()[1])
        return None

    def end(self, how):
        """Send a signal, and wait until the program and the agent, which does the work, have ended.

        SIGTERM goes to the agent alone once it regulates: the program would pass on another one.
        """
        started = bool(self.events("start"))
        agents = list(children(self.process.pid))
        if how == signal.SIGTERM and started:
            for agent in agents:
                os.kill(agent, how)
        else:
            os.killpg(self.process.pid, how)
        status = self.process.wait()
        wait_until(lambda: not any(running(agent) for agent in agents))
        if how == signal.SIGTERM and started and status:
            sys.exit(f"soak: the regulator ended with status {status}; see {self.errors}")


def limits_of(loops):
    """Return the limits that any cgroup has on these devices, as file -> line."""
    hierarchy = find_cgroups()
    numbers = {Path("/sys/block", loop, "dev").read_text().strip() for loop in loops}
    found = {}
    for folder, _, files in os.walk(hierarchy.root):
        for name in fnmatch.filter(files, LIMITS[hierarchy.version]):
            with contextlib.suppress(OSError):  # its container has just ended
                for line in Path(folder, name).read_text().splitlines():
                    number, *values = line.split()
                    words = {value.rpartition("=")[2] for value in values}
                    if number in numbers and words - {hierarchy.unlimited}:
                        found[f"{folder}/{name}"] = line
    return found


class Soak:
    """One run: its clock, its regulator and what it has seen."""

    def __init__(self, folder, loops, containers):
        self.folder, self.loops, self.containers = folder, loops, containers
        self.kills = dict.fromkeys((signal.SIGKILL, signal.SIGTERM), 0)
        self.with_limit = dict.fromkeys(self.kills, 0)
        self.left = []
        self.throttled = self.begun = 0
        self.regulator = Regulator(folder)

    def check(self):
        """End it all where one of the two has ended by itself."""
        if self.containers.refusals > MOST_REFUSALS:
            sys.exit(f"soak: the engine starts no containers: {self.containers.refusal}")
        if (status := self.regulator.process.poll()) is not None:
            last = self.regulator.errors.read_text().splitlines()[-1:]
            sys.exit(f"soak: the regulator ended by itself with status {status}: {last}")

    def kill(self, how):
        """Kill the regulator; after SIGTERM, note what is left limited."""
        before = limits_of(self.loops)
        self.regulator.end(how)
        self.begun += bool(self.regulator.events("start"))
        self.throttled += sum(
            line["action"] == "throttle" for line in self.regulator.events("decision")
        )
        after = limits_of(self.loops)
        self.kills[how] += 1
        if how == signal.SIGKILL:
            self.with_limit[how] += bool(after)
        else:
            self.with_limit[how] += bool(before)
            self.left += after.items()

    def until(self, moment_s):
        """Wait for a moment."""
        while (rest_s := moment_s - time.monotonic()) > 0:
            self.check()
            time.sleep(min(0.5, rest_s))

    def wait_for_the_start(self):
        """Wait until the regulator has begun to regulate."""
        while not self.regulator.events("start"):
            self.check()
            time.sleep(0.1)

    def live(self, end_s):
        """Let the regulator live until a moment; return [(moment, KiB)] of its memory."""
        samples = []
        while time.monotonic() < end_s:
            self.until(min(end_s, time.monotonic() + SAMPLE_S))
            if kib := self.regulator.memory_kib():
                samples.append((time.monotonic(), kib))
        return samples


def beginning_and_end_kib(samples):
    """Return the median memory in the second tenth of a life, and in its last."""
    first_s, last_s = samples[0][0], samples[-1][0]
    tenth_s = (last_s - first_s) / 10
    pairs = [(int((moment_s - first_s) / tenth_s), kib) for moment_s, kib in samples]
    return [
        statistics.median(kib for tenth, kib in pairs if tenth in tenths)
        for tenths in ((1,), (9, 10))
    ]


def soak(folder, loops, options):
    """Run it; return the exit status."""
    chance = random.Random(f"kills {options.seed}")
    containers = Containers(loops, options.seed)
    containers.start()
    try:
        begin_s, half_s = time.monotonic(), options.minutes * 30
        run = Soak(folder, loops, containers)
        for number in range(options.kills):
            latest_s = MOST_OF_A_START_S
            if number % ONE_KILL_IN_A_START:
                run.wait_for_the_start()
                latest_s = 2 * half_s / options.kills
            run.until(time.monotonic() + chance.uniform(0, latest_s))
            run.kill((signal.SIGKILL, signal.SIGTERM)[number % 2])
            run.regulator = Regulator(folder)
        samples = run.live(max(begin_s + 2 * half_s, time.monotonic() + half_s))
        missed = sum(line["control_periods"] for line in run.regulator.events("missed"))
        wait_until(lambda: limits_of(loops))
        run.kill(signal.SIGKILL)
        run.regulator = Regulator(folder)
        wait_until(lambda: run.regulator.events("start"))
        run.regulator.end(signal.SIGTERM)
        at_end = limits_of(loops)
        took_min = (time.monotonic() - begin_s) / 60
    finally:
        containers.close()
        with contextlib.suppress(NameError, ProcessLookupError):
            if run.regulator.process.poll() is None:
                os.killpg(run.regulator.process.pid, signal.SIGTERM)
                run.regulator.process.wait()
    journal = sorted(file.name for file in run.regulator.state.iterdir() if file.name != "lock")
    first_kib, last_kib = beginning_and_end_kib(samples)
    errors = run.regulator.errors.read_text().splitlines()
    print(f"{took_min:.1f} minutes, seed {options.seed}, cgroup v{find_cgroups().version}")
    for how, count in run.kills.items():
        print(f"{how.name}: {count}, {run.with_limit[how]} of them while a limit was in force")
    print(f"lives that got as far as to regulate: {run.begun} of {sum(run.kills.values())}")
    print(f"containers: {containers.seen}; first limits of a container: {run.throttled}")
    life_min = (samples[-1][0] - samples[0][0]) / 60
    print(
        f"memory over the last {life_min:.1f} minutes (VmRSS): {first_kib / 1024:.2f} MiB, at the "
        f"end {last_kib / 1024:.2f} MiB, ratio {last_kib / first_kib:.3f} (bar {MEMORY_BAR}); "
        f"control periods missed: {missed}"
    )
    print(f"left limited after a SIGTERM: {len(run.left)}; at the end: {len(at_end)}")
    print(f"left in the journal: {len(journal)}; lines on standard error: {len(errors)}")
    for what in (*run.left, *at_end.items(), *journal, *errors):
        print("   ", what)
    bad = run.left or at_end or journal or last_kib > MEMORY_BAR * first_kib
    return 1 if bad else 0


def count(text):
    """Return a whole number from 0 on."""
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, found {text!r}")


def check_host():
    """End with one sentence where something is missing."""
    if os.geteuid() != 0:
        sys.exit("soak: expected to run as root, since it makes loop devices; use sudo")
    if not shutil.which("docker"):
        sys.exit("soak: expected docker; found none; run environments/start-docker.sh")
    if subprocess.run(["docker", "info"], capture_output=True).returncode:
        sys.exit("soak: expected a Docker engine; none answers; run environments/start-docker.sh")
    if subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True).returncode:
        sys.exit(
            f"soak: expected the image {IMAGE}; found none; docker pull {IMAGE}, or run "
            "environments/make-base-image.sh"
        )


def main():
    """Read the options, check the host, and soak."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=positive, default=30)
    parser.add_argument("--kills", type=count, default=50)
    parser.add_argument("--seed", type=count, default=1)
    options = parser.parse_args()
    check_host()
    # The disk throws away what is written to it, so it needs next to no room.
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as folder,
        loop_devices(len(NORMAL + OVERLOADS)) as loops,
        single_server_disk(folder, loops, SERVICE_MS, KIB_S),
    ):
        return soak(Path(folder), loops, options)


if __name__ == "__main__":
    sys.exit(main())
