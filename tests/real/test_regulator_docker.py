"""The regulator on a real Docker engine: whom it finds, Figures 8 and 9, and engine faults."""

import pytest

from helpers import wait_until
from regulator_host import (  # noqa: F401  (fixtures)
    BLKIO_MARKS,
    CONTAINERS,
    containers,
    found,
    loops,
    start,
    start_normal,
    stop,
)

pytestmark = [pytest.mark.docker, *BLKIO_MARKS]


def test_containers_are_found_with_their_cgroup_device_and_class(loops):
    start_normal(CONTAINERS[0], loops[0], "--label=elevatorlab.class=db")
    start_normal(CONTAINERS[1], loops[1])
    start(CONTAINERS[2], loops[1], ["sleep", "60"])
    source = containers(CONTAINERS, classes=["regulated-2"])
    targets = found(source)
    assert set(targets) == set(CONTAINERS)
    first, second, third = (targets[name] for name in CONTAINERS)
    assert (first.devices, first.own, first.sla_class) == ((loops[0],), True, "db")
    assert (second.devices, second.own, second.sla_class) == ((loops[1],), False, "regulated-2")
    assert (third.own, third.sla_class) == (False, "")
    assert (first.folder / "blkio.throttle.write_bps_device").exists()
    stop(CONTAINERS[1])
    wait_until(lambda: set(found(source)) == {CONTAINERS[0], CONTAINERS[2]}, 10)
    assert found(source)[CONTAINERS[2]].own
    source.close()
