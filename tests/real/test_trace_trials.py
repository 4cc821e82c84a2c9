"""A block trace as the workload of a trial on each kind of real testbed."""

import pytest

from elevatorlab import testbeds
from elevatorlab.drives import trace_trials
from sshd import server  # noqa: F401  (fixture)
from state import assert_restored, machine_state

pytestmark = [pytest.mark.root, pytest.mark.programs("losetup")]

ENGINE = (pytest.mark.docker, pytest.mark.environment_image)


@pytest.fixture(params=["host", "ssh", pytest.param("docker", marks=ENGINE)])
def testbed(request):
    """Return a testbed of each kind that is there without a virtual machine."""
    name = request.param
    if name == "ssh":
        name = request.getfixturevalue("server").address
    made = testbeds.get(name, say=lambda _: None)
    yield made
    made.close()


@pytest.mark.ssh
def test_every_request_of_a_trace_is_answered(testbed, tmp_path):
    """Two hundred requests, 5 ms apart, beyond the disk's end: their addresses are scaled."""
    lines = (f"7,{'RW'[at % 2]},{at << 22},{4096 << at % 3},{5000 * at}\n" for at in range(200))
    file = tmp_path / "trace"
    file.write_text("".join(lines))
    before = machine_state()
    replay = trace_trials.prepare(file, testbed, size_mib=16, results=tmp_path / "results")
    table = replay.measure()
    assert_restored(before)
    assert replay.trace.scale < 1
    assert table["direction"].tolist() == ["read", "write"]
    assert table["requests"].tolist() == [100, 100]
    assert (table["duration_s"] >= 0.995).all() and (table["late_mean_us"] >= 0).all()
