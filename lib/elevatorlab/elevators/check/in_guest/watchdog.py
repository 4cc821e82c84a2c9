"""Feed the machine's watchdog, an Intel 6300ESB, which bites when code keeps the processor.

The bite is a non-maskable interrupt, on which the kernel panics and shows where it was. This is a
process of its own with the highest priority, so that it gets to run under any load. Before it feeds
the watchdog, it runs on each processor.
"""

import mmap
import os
import time
from pathlib import Path

#: Guest time without a feed after which the watchdog bites. It is short, because code that spins
#: on a lock is slow to emulate. A kernel in good order never keeps a processor for so long.
BITES_AFTER_S = 0.1

FEEDS_EVERY_S = 0.02

DEVICE = "0x25ab"
CLOCK_HZ = 33_000_000 >> 15
TIMER_1, TIMER_2, RELOAD = 0x0, 0x4, 0xC  # registers in its memory
UNLOCK, FEED = (0x80, 0x86), 0x100
CONFIG, NO_INTERRUPT = 0x60, 0x1  # registers in its configuration space
LOCK, ENABLE = 0x68, 0x2


def device() -> Path:
    """Return the watchdog's folder in sysfs."""
    for folder in Path("/sys/bus/pci/devices").iterdir():
        if (folder / "device").read_text().strip() == DEVICE:
            return folder
    raise FileNotFoundError(f"no watchdog: expected a PCI device {DEVICE}")


def main() -> None:
    """Start the watchdog, and feed it until the machine ends."""
    os.sched_setscheduler(
        0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO))
    )
    folder = device()
    (folder / "enable").write_text("1")
    at = int((folder / "resource").read_text().split()[0], 16)
    memory = os.open("/dev/mem", os.O_RDWR | os.O_SYNC)
    registers = memoryview(mmap.mmap(memory, mmap.PAGESIZE, offset=at))
    halves, words = registers.cast("H"), registers.cast("I")

    def unlock() -> None:
        for key in UNLOCK:
            halves[RELOAD // 2] = key

    for timer in TIMER_1, TIMER_2:
        unlock()
        words[timer // 4] = int(BITES_AFTER_S / 2 * CLOCK_HZ)
    with open(folder / "config", "r+b", buffering=0) as config:
        for place, value in (CONFIG, NO_INTERRUPT), (LOCK, ENABLE):
            config.seek(place)
            config.write(value.to_bytes(2 if place == CONFIG else 1, "little"))
    processors = sorted(os.sched_getaffinity(0))
    while True:
        for processor in processors:
            os.sched_setaffinity(0, {processor})
        unlock()
        halves[RELOAD // 2] = FEED
        time.sleep(FEEDS_EVERY_S)


if __name__ == "__main__":
    main()
