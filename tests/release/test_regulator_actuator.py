"""The actuator: limits are proved, noted before they are set, and always taken back.

Against the real blkio controller where this machine has one that may be written to, and
against io.max files as cgroup v2 writes them.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from elevatorlab.agent.lifecycle.journal import recover
from elevatorlab.paths import PROJECT
from regulator_host import blkio_cgroup, loop_device, needs_blkio

LIB = PROJECT / "lib"


def limits_of(folder):
    names = ("read_bps_device", "write_bps_device")
    return [(folder / f"blkio.throttle.{name}").read_text().strip() for name in names]


KILLED = """
import random, sys
from pathlib import Path
from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.regulator import cgroups
from elevatorlab.agent.regulator.actuator import Actuator
from elevatorlab.agent.regulator.targets import Target
number, journal, seed, *folders = sys.argv[1:]
chance = random.Random(int(seed))
actuator = Actuator(cgroups.find(), lambda _: number, Journal(Path(journal)))
targets = [Target(f, f, "", Path(f), ("d",), True) for f in folders]
print("ready", flush=True)
while True:
    actuator.set(chance.choice(targets), chance.choice([None, 1 << 18, 1 << 20, 1 << 22]))
"""


@needs_blkio
def test_fifty_kills_leave_nothing(tmp_path):
    journal = tmp_path / "journal"
    environment = {**os.environ, "PYTHONPATH": str(LIB)}
    changed = 0
    with loop_device(tmp_path) as loop, blkio_cgroup("kill-a") as a, blkio_cgroup("kill-b") as b:
        number = Path(f"/sys/block/{loop}/dev").read_text().strip()
        (b / "blkio.throttle.write_bps_device").write_text(f"{number} 9000000\n")
        before = [limits_of(folder) for folder in (a, b)]
        for seed in range(50):
            command = [sys.executable, "-c", KILLED, number, journal, str(seed), a, b]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
            process.stdout.readline()
            time.sleep(random.Random(seed).uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            changed += [limits_of(folder) for folder in (a, b)] != before
            recover(journal)
            assert [limits_of(folder) for folder in (a, b)] == before
            assert list(journal.iterdir()) == []
    assert changed >= 10  # the kills did come while limits were set
