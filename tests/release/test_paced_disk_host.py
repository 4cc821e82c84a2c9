"""A paced disk on this machine: what is killed leaves nothing, and containers have parts of it."""

import random
import time

import pytest

from elevatorlab import studies, testbeds
from elevatorlab.results import tidying
from elevatorlab.running import campaign
from elevatorlab.studies import container_isolation
from elevatorlab.studies.container_isolation.tables import regulation_tables
from helpers import result_of
from kills import NOT_BEFORE, divided, kill_both, killed_again_and_again, processes
from state import assert_restored, machine_state

pytestmark = [pytest.mark.root, pytest.mark.programs("losetup", "ps"), pytest.mark.timeout(1200)]


def measured_with_docker(choice, results):
    """Return the rows of study 3 and the folder of its results, and leave nothing."""
    before = machine_state()
    docker = testbeds.get("docker", say=lambda _: None)
    study = container_isolation
    trials = study.trials(studies.parameters(study, "smoke", choice, docker.defaults))
    campaign.run([campaign.Share(docker, trials)], results)
    assert_restored(before)
    return tidying.tidy(results, study), results / docker.folder_name()


@pytest.mark.docker
@pytest.mark.environment_image
def test_the_regulator_works_on_containers_of_an_engine(tmp_path):
    """With Docker, too: a limit on the overload, and a wait that is much shorter."""
    table, folder = measured_with_docker({"experiments": ("regulation",)}, tmp_path)
    decided = result_of(folder / table["trial"][0])["regulator"]
    throttled = [one for one in decided if one.get("action") == "throttle"]
    assert throttled and throttled[0]["numbers"]["victim"] != throttled[0]["container"]
    ((_, shown),) = regulation_tables(table)
    before, after = shown["normal_wait_ms"].astype(float)
    assert after < 0.6 * before
    before, after = shown["overloaded_mb_s"].astype(float)
    assert after < 0.6 * before


@pytest.mark.docker
@pytest.mark.environment_image
def test_containers_of_an_engine_share_the_disk(tmp_path):
    """Parts equal and overload with Docker: the rows are whole, and the laws hold."""
    choice = {"experiments": ("equal", "overload"), "containers": (1, 3), "normal_containers": (1,)}
    choice |= {"disks": ("write_behind",), "duration_s": 2}
    table, folder = measured_with_docker(choice, tmp_path)
    assert len(table) == 1 + 3 + 1 + 2
    assert (table["requests"] > 50).all()
    busy = table["disk_iops"] * table["service_ms"] / 1000
    assert busy.to_numpy() == pytest.approx(table["disk_busy_ratio"].to_numpy(), rel=0.05)
    little = table["iops"] * table["wait_ms"] / 1000
    assert little.to_numpy() == pytest.approx(table["queue_length"].to_numpy(), rel=0.02)
    # What a container sees has its wait for a processor in it, too.
    assert (table["latency_mean_ms"] > 0.85 * table["wait_ms"]).all()
    assert result_of(folder / table["trial"][0])


MOMENTS = random.Random(3)


def kill_both_while_it_is_there(**tools):
    if not processes("paced-disk"):
        return False
    time.sleep(MOMENTS.uniform(0, 0.8))
    return kill_both(**tools)


# Earlier, nobody is left to hear that the disk is ready, and the disk ends by an error of its own.
NOT_BEFORE[kill_both_while_it_is_there] = "is ready, with"


def test_a_killed_agent_is_recovered_from(make_trial, tmp_path):
    trial = make_trial(**divided(1, deadline_s=20))
    victim = kill_both_while_it_is_there
    killed_again_and_again(3, "host", victim, trial, tmp_path, window_s=(0, 0.01))
