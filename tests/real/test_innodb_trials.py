"""A real MariaDB on a device of its own: the same bits, in a container, on a host; and its end."""

import pytest

from commits import FILE, commit_trial, inserts, phases_of
from elevatorlab.errors import TrialFailed
from state import run_and_restore

pytestmark = [
    pytest.mark.root,
    pytest.mark.programs("losetup", "mariadbd", "mkfs.ext4", "sysbench"),
]


def test_on_this_machine(tmp_path, make_trial):
    trial = commit_trial(make_trial, (1, 1, 1), (8, 1, 1), device=FILE)
    one, eight = phases_of(run_and_restore("host", trial, tmp_path))
    assert one["fsyncs"] >= one["commits"] and eight["fsyncs"] < eight["commits"]
    assert one["tps"] > 0 < eight["utilization_ratio"]


def test_a_failed_start_leaves_nothing_on_this_machine(tmp_path, make_trial):
    workloads = (inserts((1, 1, 0.01), start_limit_s=0.01),)
    trial = commit_trial(make_trial, device=FILE, workloads=workloads)
    with pytest.raises(TrialFailed, match="did not answer within 0.01 s"):
        run_and_restore("host", trial, tmp_path)
