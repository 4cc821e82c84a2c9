"""Trials in containers of a real Docker engine, here and on a machine that SSH reaches."""

import pytest

import clients
import sshd
from container_trials import container_of, engine, make_container_trial, run  # noqa: F401  (fixtures)
from elevatorlab.testbeds.docker import testbed as docker_testbed
from helpers import cli, fio, result_of, wait_until
from state import agents, assert_restored, machine_state

pytestmark = [pytest.mark.docker, pytest.mark.environment_image, pytest.mark.root]


def test_a_killed_client_finds_its_trial_again_when_it_has_ended(
    engine, make_container_trial, tmp_path
):
    """Nobody waits for containers any more. The next test finds one that still runs."""
    before = machine_state()
    trial = make_container_trial(workloads=(fio(runtime="3s", time_based=1, size="4M"),))
    results, log = tmp_path / "results", tmp_path / "log"
    clients.kill_one_that_runs("docker", trial, results, log)
    wait_until(lambda: not agents())
    assert clients.run("docker", trial, results, log) == 0, log.read_text()
    (said,) = results.rglob("log.txt")
    assert said.read_text().count("start\n") == 1, "the trial was not run twice"
    assert_restored(before)


def test_another_trial_does_not_end_the_one_that_a_killed_client_left(
    engine, make_container_trial, tmp_path
):
    """Its agent lives in a container of its own, which is not taken away below it."""
    before = machine_state()
    trial = make_container_trial(workloads=(fio(runtime="15s", time_based=1, size="4M"),))
    results, log = tmp_path / "results", tmp_path / "log"
    clients.kill_one_that_runs("docker", trial, results, log)
    other = make_container_trial(seed=2)
    assert clients.run("docker", other, tmp_path / "other", tmp_path / "log2") == 1
    assert "another trial runs on this machine" in (tmp_path / "log2").read_text()
    assert clients.run("docker", trial, results, log) == 0, log.read_text()
    (said,) = results.rglob("log.txt")
    assert said.read_text().count("start\n") == 1
    assert_restored(before)


def test_the_host_cleans_up_after_a_killed_agent_container(engine, make_container_trial, tmp_path):
    """What the journal names has the same path on the machine as in the agent's container."""
    before = machine_state()
    trial = make_container_trial(
        backing_scheduler="kyber", workloads=(fio(runtime="30s", time_based=1, size="4M"),)
    )
    clients.kill_one_that_runs("docker", trial, tmp_path / "results", tmp_path / "log")
    engine.containers.get(docker_testbed.AGENT_NAME).kill()
    assert machine_state()["loops"] != before["loops"]
    said = cli("clean", "--testbed", "host").stdout
    assert "1 killed trials were cleaned up after" in said
    assert machine_state()["loops"] == before["loops"]
    assert machine_state()["schedulers"] == before["schedulers"]
    assert cli("clean", "--testbed", "docker").returncode == 0
    assert machine_state() == before


@pytest.mark.ssh
def test_the_engine_of_another_machine(run, make_container_trial, tmp_path, monkeypatch):
    """Over SSH, with what the user's own SSH configuration says of that machine."""
    (tmp_path / "sshd").mkdir()
    (tmp_path / "home/.ssh").mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with sshd.running(tmp_path / "sshd") as server:
        (tmp_path / "home/.ssh/config").write_text(
            f"Host laboratory\n HostName 127.0.0.1\n Port {server.port}\n User root\n"
            f" IdentityFile {server.key}\n"
        )
        known = server.known_hosts.read_text()
        (tmp_path / "home/.ssh/known_hosts").write_text(known + known.replace("[", "", 1))
        folder = run(make_container_trial(), name=f"docker+ssh://root@laboratory:{server.port}")
    assert result_of(folder)["outcome"] == "finished"
