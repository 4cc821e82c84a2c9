"""A real MariaDB on a device of its own: the same bits, in a container, on a host; and its end."""

import pytest

from commits import FILE, commit_trial, inserts, phases_of, plain, run, three_runs  # noqa: F401  (fixtures)
from elevatorlab.errors import TrialFailed
from elevatorlab.results import reading
from helpers import fio
from state import run_and_restore

BOXED = ({"name": "main", "isolation": "container"},)


@pytest.mark.image
def test_server_client_and_device_give_the_same_bits_three_times(three_runs):
    assert len({reading.digest(folder) for folder in three_runs}) == 1


@pytest.mark.root
@pytest.mark.docker
@pytest.mark.environment_image
def test_in_a_container_of_an_engine(tmp_path, make_trial):
    trial = commit_trial(make_trial, (1, 1, 1), (8, 1, 1), device=FILE, groups=BOXED)
    one, eight = phases_of(run_and_restore("docker", trial, tmp_path))
    assert one["fsyncs"] >= one["commits"] and eight["fsyncs"] < eight["commits"]


@pytest.mark.image
def test_a_server_killed_in_the_middle_is_one_sentence_and_its_log(run, make_trial):
    kill = "sh -c 'sleep 1; kill -9 $(cat /run/elevatorlab/disk/main/data/pid)'; true"
    killer = fio("killer", rw="write", size="64k", bs="64k", exec_prerun=kill)
    trial = commit_trial(make_trial, workloads=(inserts((8, 1, 60)), killer))
    with pytest.raises(TrialFailed, match="sysbench ended with status") as problem:
        run(trial)
    assert "ready for connections" in str(problem.value)


@pytest.mark.image
def test_a_disk_that_fills_in_the_middle_is_one_sentence(run, make_trial):
    filler = {"kind": "endless_write", "name": "filler", "group": "main"}
    workloads = (inserts((8, 0, 30)), filler)
    trial = commit_trial(make_trial, workloads=workloads, settle_s=1)
    with pytest.raises(TrialFailed, match="sysbench ended with status.*is full"):
        run(trial)
