"""The second route: the same bits from a container."""

import json
import subprocess

import pytest

from elevatorlab.paths import PROJECT
from elevatorlab.results import reading

pytestmark = [
    pytest.mark.docker,
    pytest.mark.image,
    pytest.mark.own_root,
    pytest.mark.timeout(2400),
]

TAG = "elevatorlab-test"
#: What README gives the container for the namespaces in which modules are compiled.
NAMESPACES = ["--cap-add", "SYS_ADMIN", "--security-opt", "seccomp=unconfined"]
NAMESPACES += ["--security-opt", "apparmor=unconfined"]
CHOICE = ["vm_vs_container", "--preset", "smoke", "-p", "variants=dropped", "-p", "arms=container"]


def docker(*arguments):
    run = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    assert run.returncode == 0, (run.stdout + run.stderr)[-3000:]
    return run.stdout


@pytest.fixture(scope="module")
def image():
    subprocess.run([PROJECT / "environments" / "make-base-image.sh"], check=True)
    docker("build", "--tag", TAG, str(PROJECT))
    yield TAG
    docker("image", "rm", TAG)


def test_the_container_builds_the_same_image(image, testbed):
    printed = docker("run", "--rm", image, "image", "build")
    assert testbed.identity() in printed


def test_the_container_prints_the_same_bits(image, testbed, tmp_path):
    inside, here = tmp_path / "inside", tmp_path / "here"
    docker(
        "run", "--rm", "--volume", f"{inside}:/out", image, "run", *CHOICE, "--results", "/out/r"
    )
    command = [PROJECT / ".venv/bin/elevatorlab", "run", *CHOICE, "--results", here]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)

    def digests(results):
        return {one.folder.name: reading.digest(one.folder) for one in reading.results_in(results)}

    assert len(digests(here)) == 4
    assert digests(inside / "r") == digests(here)
    provenance = next(iter(inside.rglob("provenance.json")))
    assert json.loads(provenance.read_text())["image_digest"] == testbed.identity()


def test_the_container_builds_a_schedulers_module(image):
    choice = ["iozone_ranking", "--preset", "smoke", "-p", 'schedulers=["none","cfq"]']
    docker("run", "--rm", *NAMESPACES, image, "run", *choice, "--results", "/tmp/r")
