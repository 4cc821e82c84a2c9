"""One recipe, three environments: the same packages in the container, the VM and the image."""

import pytest

from elevatorlab.paths import ENVIRONMENTS
from package_versions import (  # noqa: F401  (fixtures)
    LIST,
    REBUILD,
    TAG,
    container,
    deterministic,
    differences,
    docker_run,
    lines,
    packages,
    starts_a_machine,
)

pytestmark = pytest.mark.docker

BASE = "debian:bookworm-slim"


@pytest.mark.image
def test_container_and_deterministic_image_have_the_same_packages(container, deterministic):
    assert differences(container, deterministic) == {}, REBUILD


def test_nothing_in_a_container_counts_as_kernel_or_boot_loader(container):
    """Or the comparison would overlook a package that trials use."""
    assert [name for name in container if starts_a_machine(name)] == []


def test_the_container_has_what_is_listed_and_it_runs(container):
    assert [name for name in lines("packages.txt") if name not in container] == []
    docker_run(TAG, "sh", "-ec", "crun --version; fio --version; iostat -V; python3 --version")


def test_no_key_and_no_machine_id_is_in_the_image(container):
    # Empty, and there: a machine without this file would be given an id while it is built.
    assert docker_run(TAG, "sh", "-c", "wc -c </etc/machine-id") == "0\n"
    keys = "ls /etc/ssh/ssh_host_*_key* 2>/dev/null; true"
    assert docker_run(TAG, "sh", "-c", keys) == ""


@pytest.fixture(scope="module")
def on_a_host(container):
    """Lists of a container before and after provision.sh without --exact ran in it, twice."""
    script = f"""
        apt-get -qq update && apt-get -qq install --no-install-recommends ed >/dev/null 2>&1
        {LIST}; echo ----
        sh /environments/provision.sh >/tmp/log 2>&1 || {{ cat /tmp/log; exit 1; }}
        {LIST}; echo ----
        sh /environments/provision.sh"""
    volume = f"{ENVIRONMENTS}:/environments:ro"
    before, after, again = docker_run("--volume", volume, BASE, "sh", "-ec", script).split("----\n")
    return packages(before), packages(after), again


@pytest.mark.timeout(600)
def test_on_a_users_host_nothing_is_removed_or_upgraded(on_a_host):
    before, after, again = on_a_host
    assert "ed" in before
    assert before.items() <= after.items()
    assert again == "provision: nothing to do\n"


@pytest.mark.timeout(600)
def test_on_a_users_host_what_trials_run_is_there_and_no_server(on_a_host):
    _, after, _ = on_a_host
    assert {"python3", "fio", "crun", "sysstat"} <= after.keys()
    assert not {"openssh-server", "systemd-sysv", "ifupdown", "isc-dhcp-client"} & after.keys()
