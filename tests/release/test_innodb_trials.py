"""A real MariaDB on a device of its own: the same bits, in a container, on a host; and its end."""

import pytest

from commits import commit_trial
from elevatorlab.results import reading
from innodb_trials_support import FILE, phases_of, run_for_real, three_runs  # noqa: F401  (fixtures)

BOXED = ({"name": "main", "isolation": "container"},)


@pytest.mark.image
@pytest.mark.anew
def test_server_client_and_device_give_the_same_bits_three_times(three_runs):
    assert len({reading.digest(folder) for folder in three_runs}) == 1


@pytest.mark.root
@pytest.mark.docker
@pytest.mark.environment_image
def test_in_a_container_of_an_engine(tmp_path, make_trial):
    trial = commit_trial(make_trial, (1, 1, 50), (8, 1, 200), device=FILE, groups=BOXED)
    one, eight = phases_of(run_for_real("docker", trial, tmp_path))
    assert one["fsyncs"] >= 50 and eight["fsyncs"] < 200
