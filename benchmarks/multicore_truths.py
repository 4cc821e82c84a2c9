"""What processors in parallel must do, beside what they do: known truths, and the error of a slot.

    .venv/bin/python benchmarks/multicore_truths.py [--cpus 4] [--slots 200,1000]
        [--transfers 0,100] [--only compute,lock]

Takes a minute a machine. A kernel module does the work in the
machine (benchmarks/multicore/truths), so an experiment's truth is arithmetic:

compute    independent work takes as long on all processors as on one
lock       sections under one lock, a ms: as many as all can do, but no more than one can
amdahl     a serial part, and one that is divided among all
queue      M/M/c: what the same customers wait by arithmetic; and Erlang's C, for many more of them
interrupt  from one processor to another and back
wake       two threads that wake each other, as a futex or a pipe does

The last two have no truth. They say what a slot costs, and stand for the whole band. Status 1 when
compute, Amdahl's law or the queue is off by more than 2 % with slots of 200 or less, or the lock by
more than 5 %.
"""

import argparse
import sys
from math import factorial

from multicore import machines

MS = 1_000_000

COMPUTE_NS = 2 * MS
# All together want the lock a third more than one after the other can have it.
LOCKED, OUTSIDE, WINDOW_NS = 5000, 10000, 2 * MS
SERIAL, SHARED, TIMES = 100_000, 400_000, 10
SERVICE_NS, LOAD, CUSTOMERS = 50_000, 0.8, 1000
ROUND_TRIPS = 100

#: By which a ratio may miss 1, with slots that short.
BARS = {"compute": 0.02, "lock": 0.05, "amdahl": 0.02, "queue": 0.02}
SHORT_SLOT = 200


def numbers(name, cpus):
    """Return an experiment as the module takes it."""
    return {
        "compute": (name, cpus, COMPUTE_NS),
        "lock": (name, cpus, LOCKED, OUTSIDE, WINDOW_NS),
        "amdahl": (name, cpus, SERIAL, SHARED, TIMES),
        "queue": (name, cpus, round(SERVICE_NS / LOAD / cpus), SERVICE_NS, CUSTOMERS),
        "interrupt": (name, 2, ROUND_TRIPS),
        "wake": (name, 2, ROUND_TRIPS),
    }[name]


def figures(name, cpus, answer):
    """Return what was measured, and what is true where that is known."""
    ns = answer["ns"]
    return {
        "compute": lambda: (ns, COMPUTE_NS),
        "lock": lambda: (answer["count"] / ns * MS, sections_a_ms(cpus)),
        "amdahl": lambda: (ns, TIMES * (SERIAL + SHARED / cpus)),
        "queue": lambda: (
            response_ns(answer["wait_ns"]),
            response_ns(answer["must_wait_ns"]),
        ),
        "interrupt": lambda: (ns / ROUND_TRIPS, None),
        "wake": lambda: (ns / ROUND_TRIPS, None),
    }[name]()


def sections_a_ms(cpus):
    """Return how many sections under one lock processors can do."""
    return MS * min(cpus / (LOCKED + OUTSIDE), 1 / LOCKED)


def response_ns(waits_ns):
    """Return the mean time of a customer, service included."""
    return waits_ns / CUSTOMERS + SERVICE_NS


def erlang_response_ns(servers):
    """Return the mean response time of M/M/c.

    >>> round(erlang_response_ns(1) / SERVICE_NS, 6)
    5.0
    """
    offered = LOAD * servers
    waits = offered**servers / factorial(servers) / (1 - LOAD)
    others = sum(offered**number / factorial(number) for number in range(servers))
    return SERVICE_NS * (1 + waits / (others + waits) / servers / (1 - LOAD))


def listed(kind):
    """Return a function that takes a list with commas apart."""
    return lambda text: [kind(one) for one in text.split(",")]


def main():
    """Print a row for each experiment on each machine."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--cpus", type=int, default=4)
    options.add_argument("--slots", type=listed(int), default=[200, 1000])
    options.add_argument("--transfers", type=listed(int), default=[0, 100])
    names = [*BARS, "interrupt", "wake"]
    options.add_argument("--only", type=listed(str), default=names)
    given = options.parse_args()
    sys.exit(any([row_is_off(*row) for row in rows(given)]))


def rows(given):
    """Yield the experiments of each machine, with their figures."""
    print(
        f"{'experiment':12}{'cpus':>5}{'slot':>6}{'transfer':>9}{'measured':>12}{'true':>12} ratio"
    )
    for slot in given.slots:
        for transfer in given.transfers:
            where = machines.address(given.cpus, slot, transfer)
            trial = machines.truths(*(numbers(name, given.cpus) for name in given.only))
            (measured,) = machines.measured(where, trial)
            for name, answer in zip(given.only, measured["answers"], strict=True):
                yield name, given.cpus, slot, transfer, *figures(name, given.cpus, answer)
    if "queue" in given.only:
        print(f"Erlang's C says {erlang_response_ns(given.cpus):.0f} ns, of endless customers")


def row_is_off(name, cpus, slot, transfer, measured, true):
    """Print a row; tell whether it is off by more than the bar."""
    ratio = f"{measured / true:6.3f}" if true else ""
    shown = f"{true:12.1f}" if true else f"{'':12}"
    print(f"{name:12}{cpus:5}{slot:6}{transfer:9}{measured:12.1f}{shown}{ratio}", flush=True)
    return bool(true) and slot <= SHORT_SLOT and abs(measured / true - 1) > BARS[name]


if __name__ == "__main__":
    main()
