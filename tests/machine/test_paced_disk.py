"""A paced disk in the deterministic machine: its writer against fio, and what goes wrong."""

import pytest

from deterministic_runs import run  # noqa: F401  (fixture)
from elevatorlab.errors import TrialFailed
from elevatorlab.studies.container_isolation import trials_containers as disks
from helpers import fio, result_of

pytestmark = pytest.mark.image

THINK_US = 2000
DISK = {"kind": "paced_disk", "profile": "server", "size_mib": 16, "service_us": 1850}


def writes(name="writes", group="main", duration_s=2, **more):
    phase = {"duration_s": duration_s, "think_us": THINK_US}
    plain = {"kind": "paced_writes", "name": name, "group": group, "request_bytes": 4096}
    return {**plain, "spread": "constant", "phases": (phase,), **more}


def test_the_writer_is_as_fast_as_fio(run, make_trial):
    """One writer each, the same disk and think time: so no program in C is needed."""
    ours = result_of(run(make_trial(device=DISK, workloads=(writes(),))))
    options = {"rw": "write", "bs": "4k", "thinktime": THINK_US, "ioengine": "psync", "sync": 1}
    by_fio = make_trial(device=DISK, workloads=(fio(**options, runtime="2s", time_based=1),))
    theirs = result_of(run(by_fio))
    fio_write = theirs["workloads"]["reader"]["write"]
    assert ours["device"]["write_iops"] == pytest.approx(fio_write["iops"], rel=0.03)
    for found in (ours, theirs):
        assert found["device"]["write_await_ms"] == pytest.approx(1.95, abs=0.12)
        assert found["server"]["service_ms"] == pytest.approx(1.85)


def test_a_disk_too_small_to_divide_is_refused(run, make_trial):
    names = ("one", "two")
    trial = make_trial(
        device={**DISK, "size_mib": 1},
        divided=True,
        groups=[{"name": name} for name in names],
        workloads=[writes(f"of-{name}", name) for name in names],
    )
    with pytest.raises(TrialFailed, match="expected at least 1 MiB for each of 2 groups"):
        run(trial)


def test_a_disk_whose_server_dies_fails_the_trial_at_once(run, make_trial):
    trial = make_trial(
        device=DISK,
        groups=({"name": "main"}, {"name": "other"}),
        workloads=(
            writes(duration_s=50),
            fio(
                "killer",
                "other",
                rw="write",
                number_ios=1,
                exec_prerun="sleep 0.3; kill -9 $(pgrep -f 'paced-disk /run'); true",
            ),
        ),
        deadline_s=60,
    )
    with pytest.raises(TrialFailed, match="paced_writes in group 'main': OSError|killer"):
        run(trial)


def test_the_calibrated_disk_meets_its_points(run, make_trial):
    """One container: 0.82 ms and 328 writes/s. It shows that the calibration was done."""
    phase = {"duration_s": 10, "think_us": disks.THINK_US}
    load = writes(request_bytes=disks.REQUEST_BYTES, spread="exponential", phases=(phase,))
    folder = run(make_trial(device=disks.disk("write_behind", 1), workloads=(load,)))
    found = result_of(folder)["device"]
    assert found["write_await_ms"] == pytest.approx(0.82, rel=0.05)
    assert found["write_iops"] == pytest.approx(328, rel=0.05)
