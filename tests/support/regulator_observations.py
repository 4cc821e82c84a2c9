"""Observations made by hand, or by Hypothesis, and policies run over them."""

from hypothesis import strategies as st

from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.observation import Disk, Observation, Usage


def usage(name, kib_s, wait_ms=1.0, *, sla_class="", request_kib=4, disk="sda"):
    iops = kib_s / request_kib
    queue_length = iops * (wait_ms or 0) / 1000
    return Usage(
        name, name, sla_class, disk, 0.0, iops, 0.0, kib_s * 1024.0,
        wait_ms if iops else None, queue_length, min(1.0, queue_length), round(iops), True,
    )  # fmt: skip


def observe(*usages, utilization=0.5, time_s=0.0):
    disks = {
        name: Disk(name, utilization, 1.0, 0.0, 0.0, True) for name in {u.disk for u in usages}
    }
    return Observation(time_s, 1.0, usages, disks)


def run(law, *observations, state=None):
    """Return the last state and every period's decisions."""
    state, made = state or {}, []
    for observation in observations:
        state, decisions = decide(law, state, observation)
        made.append(decisions)
    return state, made


HURT = (usage("a", 200, 17.7), usage("b", 210, 17.0), usage("over", 4500, 20.0, request_kib=32))

LOADS = st.floats(0, 1e6)
CONTAINERS = st.lists(
    st.tuples(LOADS, st.floats(0.01, 500), st.sampled_from([4, 32, 1024])), min_size=1, max_size=8
)
SEQUENCES = st.lists(st.tuples(CONTAINERS, st.floats(0, 1)), min_size=1, max_size=25)


def observation_of(rows, utilization):
    usages = [
        usage(f"c{i}", kib_s, wait, request_kib=size) for i, (kib_s, wait, size) in enumerate(rows)
    ]
    return observe(*usages, utilization=utilization)
