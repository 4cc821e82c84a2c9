"""What several tiers of `test_regulator_docker` share."""

import pytest

from elevatorlab.agent.operations import engine
from elevatorlab.agent.operations.containers import EngineContainers
from elevatorlab.agent.regulator.topology import Topology, find_cgroups
from regulator_host import loop_devices, single_server_disk, stop

NORMAL = ["regulated-1", "regulated-2", "regulated-3"]

OVER = "regulated-over"


@pytest.fixture
def loops(tmp_path):
    """Return four devices of one single-server disk; containers on them end first."""
    with loop_devices(4) as names, single_server_disk(tmp_path, names, 0.05, 6000):
        try:
            yield names
        finally:
            stop(*NORMAL, OVER)


def containers(names=(), path=engine.SOCKET, classes=()):
    hierarchy, topology = find_cgroups(), Topology()
    return EngineContainers(engine.reach(path), set(names), [], classes, hierarchy, topology)


def found(source):
    return {target.name: target for target in source.targets()[0]}
