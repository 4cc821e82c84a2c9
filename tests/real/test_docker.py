"""Trials in containers of a real Docker engine, here and on a machine that SSH reaches."""

import json

import pytest

from container_trials import container_of, engine, make_container_trial, run  # noqa: F401  (fixtures)
from elevatorlab import testbeds
from elevatorlab.agent.groups import cgroups, hierarchies
from elevatorlab.errors import NotReady, TrialFailed
from elevatorlab.running import campaign
from elevatorlab.testbeds.docker import groups
from elevatorlab.testbeds.docker import testbed as docker_testbed
from helpers import cli, fio, result_of
from state import assert_restored, machine_state

pytestmark = [pytest.mark.docker, pytest.mark.environment_image, pytest.mark.root]

LIMITS = {"read_iops": 150, "write_bytes_s": 1 << 20}


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
    result = result_of(folder)
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
    result = result_of(run(trial))
    (weight,) = (proof for proof in result["proofs"] if "weight" in proof["knob"])
    assert weight["read"] in ("300", "default 300")


def test_a_trial_that_fails_leaves_nothing(run, make_container_trial):
    with pytest.raises(TrialFailed, match="fio ended with status"):
        run(make_container_trial(workloads=(fio(ioengine="no-such-engine", size="1M"),)))


class TestEngine:
    """The engine, or what it needs, is not there."""

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
        assert_restored(before, limit_s=0)
