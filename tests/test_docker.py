"""Trials in containers of a real Docker engine, here and on a machine that SSH reaches."""

import json

import docker
import pytest

import clients
import sshd
from elevatorlab import testbeds
from elevatorlab.agent.groups import cgroups, hierarchies
from elevatorlab.errors import NotReady, TrialFailed
from elevatorlab.results import store
from elevatorlab.running import campaign
from elevatorlab.testbeds.docker import groups
from elevatorlab.testbeds.docker import testbed as docker_testbed
from helpers import cli, fio, wait_until
from state import agents, assert_restored, machine_state

pytestmark = [pytest.mark.docker, pytest.mark.environment_image, pytest.mark.root]

LIMITS = {"read_iops": 150, "write_bytes_s": 1 << 20}


@pytest.fixture(scope="module", autouse=True)
def nothing_left_of_before():
    testbed = testbeds.get("docker", say=lambda _: None)
    testbed.clean()
    testbed.close()


@pytest.fixture
def make_container_trial(make_real_trial):
    """Return a factory of trials: a second of fio in a container."""

    def make(**changes):
        plain = {
            "groups": ({"name": "main", "isolation": "container"},),
            "filesystem": "ext4",
            "workloads": (fio(runtime="1s", time_based=1, iodepth=4, size="4M"),),
        }
        return make_real_trial(**{**plain, **changes})

    return make


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a trial and returns its result's folder."""

    def one(trial, note=lambda _: None, name="docker"):
        before = machine_state()
        testbed = testbeds.get(name, say=lambda _: None)
        try:
            campaign.run([campaign.Share(testbed, [trial])], tmp_path / "results", note=note)
        finally:
            assert_restored(before)
        return store.folder(tmp_path / "results", testbed) / trial.hash

    return one


@pytest.fixture
def engine():
    client = docker.from_env()
    yield client
    client.close()


def container_of(engine, trial, group):
    (found,) = engine.containers.list(filters={"name": f"elevatorlab-{trial.hash}.*-{group}"})
    return found


def inside(container, *argv):
    status, output = container.exec_run(argv)
    assert status == 0, output
    return output.decode()


def test_a_trial_from_beginning_to_end(run, engine, make_container_trial):
    trial = make_container_trial(
        groups=(
            {"name": "held", "isolation": "container", "limits": LIMITS},
            {"name": "free", "isolation": "container"},
        ),
        workloads=tuple(
            fio(f"in-{name}", name, runtime="2s", time_based=1, iodepth=4, size="4M")
            for name in ("held", "free")
        ),
    )
    seen = {}

    def look(text):
        if "files are ready" in text:
            for name in ("held", "free"):
                container = container_of(engine, trial, name)
                seen[name] = {
                    "host": container.attrs["HostConfig"],
                    "mounts": inside(container, "cat", "/proc/mounts"),
                    "disks": inside(container, "sh", "-c", "ls /dev"),
                    "first": inside(container, "cat", "/proc/1/cmdline").split("\0"),
                    "limits": limits_of(container.attrs["State"]["Pid"]),
                }

    folder = run(trial, look)
    result = json.loads((folder / "result.json").read_text())
    held, free = (result["workloads"][f"in-{name}"]["read"]["iops"] for name in ("held", "free"))
    assert held == pytest.approx(LIMITS["read_iops"], rel=0.25)
    assert free > 1.5 * held
    proofs = [proof for proof in result["proofs"] if "cgroup" in proof["knob"]]
    assert len(proofs) == len(LIMITS)
    assert all(proof["read"] == proof["written"] for proof in proofs)
    assert json.loads((folder / "provenance.json").read_text())["testbed"] == "docker"

    assert set(seen) == {"held", "free"}
    for name in ("held", "free"):
        host, mounts = seen[name]["host"], seen[name]["mounts"].splitlines()
        assert not host["Privileged"] and not host["CapAdd"] and host["NetworkMode"] == "none"
        assert not host["Devices"] and "loop" not in seen[name]["disks"]
        own = [line.split() for line in mounts if line.split()[1] == "/work"]
        assert len(own) == 1 and own[0][0].startswith("/dev/loop") and own[0][2] == "ext4"
        assert seen[name]["first"][1] == groups.AGENT_INSIDE
    assert seen["held"]["limits"] == sorted(LIMITS.values())
    assert seen["free"]["limits"] == []


def limits_of(process):
    """Return the limits that the kernel has for a container, read past agent and testbed."""
    tree = cgroups.find()
    path = tree.of_process(process)
    if tree.number == 2:
        words = (path / "io.max").read_text().replace("=", " ").split()
    else:
        files = [path / file for file, _ in hierarchies.LIMITS.values()]
        words = " ".join(file.read_text() for file in files).split()
    return sorted(int(word) for word in words if word.isdigit())


def test_weights_are_set_in_the_containers_cgroup(run, make_container_trial):
    container = {"name": "main", "isolation": "container", "limits": {"weight": 300}}
    trial = make_container_trial(groups=(container,), scheduler={"name": "bfq"})
    result = json.loads((run(trial) / "result.json").read_text())
    (weight,) = (proof for proof in result["proofs"] if "weight" in proof["knob"])
    assert weight["read"] in ("300", "default 300")


def test_a_trial_that_fails_leaves_nothing(run, make_container_trial):
    with pytest.raises(TrialFailed, match="fio ended with status"):
        run(make_container_trial(workloads=(fio(ioengine="no-such-engine", size="1M"),)))


def test_a_deadline(run, make_container_trial):
    endless = fio(thinktime=1_000_000, number_ios=100_000, size="1M")
    with pytest.raises(TrialFailed, match="did not end within its 3.0 s"):
        run(make_container_trial(workloads=(endless,), deadline_s=3))


def test_a_workload_container_that_is_killed(run, engine, make_container_trial):
    trial = make_container_trial(
        workloads=(fio(runtime="20s", time_based=1, size="4M"),), deadline_s=30
    )

    def kill(text):
        if "files are ready" in text:
            container_of(engine, trial, "main").kill()

    with pytest.raises(TrialFailed, match="worker of group 'main' ended"):
        run(trial, kill)


def run_with_a_killed_client(trial, results, log):
    client = clients.start("docker", trial, results, log)
    wait_until(lambda: log.exists() and "files are ready" in log.read_text())
    client.kill()
    client.join()


@pytest.mark.parametrize("ended", [False, True])
def test_a_killed_client_finds_its_trial_again(ended, engine, make_container_trial, tmp_path):
    """While it runs; and when it has ended, so that nobody waits for containers any more."""
    before = machine_state()
    trial = make_container_trial(workloads=(fio(runtime="3s", time_based=1, size="4M"),))
    results, log = tmp_path / "results", tmp_path / "log"
    run_with_a_killed_client(trial, results, log)
    if ended:
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
    run_with_a_killed_client(trial, results, log)
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
    log = tmp_path / "log"
    client = clients.start("docker", trial, tmp_path / "results", log)
    wait_until(lambda: log.exists() and "files are ready" in log.read_text())
    client.kill()
    client.join()
    engine.containers.get(docker_testbed.AGENT_NAME).kill()
    assert machine_state()["loops"] != before["loops"]
    said = cli("clean", "--testbed", "host").stdout
    assert "1 killed trials were cleaned up after" in said
    assert machine_state()["loops"] == before["loops"]
    assert machine_state()["schedulers"] == before["schedulers"]
    assert cli("clean", "--testbed", "docker").returncode == 0
    assert machine_state() == before


class TestEngine:
    """The engine, or what it needs, is not there."""

    def test_not_running(self, monkeypatch, tmp_path, error_of, make_container_trial):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
        testbed = testbeds.get("docker")
        said = error_of(campaign.run, [campaign.Share(testbed, [make_container_trial()])], tmp_path)
        assert "no Docker engine answers" in said and "environments/start-docker.sh" in said
        assert said.count("\n") == 0 and "Traceback" not in said
        testbed.close()
        (finding,) = [one for one in testbed.findings() if one.what == "engine and image"]
        assert finding.needed and not finding.ready

    def test_an_address_that_is_none(self, monkeypatch, error_of):
        monkeypatch.setenv("DOCKER_HOST", "carrier-pigeon://coop")
        assert "no Docker engine answers" in error_of(testbeds.get("docker").machine)

    def test_no_image(self, monkeypatch, error_of):
        monkeypatch.setattr(docker_testbed, "IMAGE", "elevatorlab-no-such-image")
        said = error_of(testbeds.get("docker").machine)
        assert "the engine has no image elevatorlab-no-such-image" in said
        assert "make environment-image" in said

    def test_a_trial_of_another_testbed(self, make_real_trial):
        with pytest.raises(NotReady, match="belong on another testbed than docker"):
            campaign.divide([(testbeds.get("docker"), [make_real_trial()])])

    def test_asking_what_it_can_do_leaves_nothing(self):
        before = machine_state()
        run = cli("doctor", "--testbed", "docker", "--json")
        findings = {finding["what"]: finding for finding in json.loads(run.stdout)}
        assert findings["engine"]["ready"] and findings["image"]["ready"]
        assert findings["scheduler bfq"]["ready"] and findings["limits"]["ready"]
        assert run.returncode == 0
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
    assert json.loads((folder / "result.json").read_text())["outcome"] == "finished"


@pytest.mark.ssh
def test_the_engine_of_a_machine_that_is_away(error_of):
    testbed = testbeds.get(f"docker+ssh://root@127.0.0.1:{sshd.free_port()}")
    said = error_of(testbed.machine)
    assert "no Docker engine answers" in said and said.count("\n") == 0
