"""One recipe, three environments: the same packages in the container, the VM and the image."""

import fnmatch
import itertools
import subprocess

import pytest

from elevatorlab.paths import ENVIRONMENTS, PROJECT
from elevatorlab.testbeds.deterministic import image
from machines import shell

TAG = "elevatorlab-environment"
BASE = "debian:bookworm-slim"
LIST = r"dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n'"


def lines(name):
    content = (ENVIRONMENTS / name).read_text().splitlines()
    return [line for whole in content if (line := whole.partition("#")[0].strip())]


BOOT = lines("boot-packages.txt")


def starts_a_machine(package):
    return any(fnmatch.fnmatchcase(package, pattern) for pattern in BOOT)


def packages(listed):
    """Return name -> version of what `LIST` has printed."""
    rows = [line.split() for line in listed.splitlines()]
    assert rows and {status for status, *_ in rows} == {"installed"}
    return {name: version for _, name, version in rows}


def docker_run(*arguments):
    run = subprocess.run(["docker", "run", "--rm", *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def container():
    make = ["make", "--no-print-directory", "environment-image"]
    subprocess.run(make, cwd=PROJECT, check=True, stdin=subprocess.DEVNULL)
    return packages(docker_run(TAG, "sh", "-c", LIST))


@pytest.fixture(scope="module")
def machine(vm):
    return packages(shell(vm, LIST))


@pytest.fixture(scope="module")
def deterministic():
    return image.current()["packages"]


def differences(one, other):
    """Return package -> its two versions, for what is not the same and starts no machine."""
    names = {name for name in one.keys() | other.keys() if not starts_a_machine(name)}
    both = {name: (one.get(name, "absent"), other.get(name, "absent")) for name in sorted(names)}
    return {name: versions for name, versions in both.items() if len(set(versions)) == 2}


REBUILD = (
    "a base of another day has other versions; build all three anew: make environment-image "
    "DOCKER_BUILD_ARGS=--no-cache; environments/make-base-box.sh; elevatorlab image build --force"
)


@pytest.mark.docker
@pytest.mark.image
def test_container_and_deterministic_image_have_the_same_packages(container, deterministic):
    assert differences(container, deterministic) == {}, REBUILD


@pytest.mark.docker
@pytest.mark.vagrant
@pytest.mark.timeout(1800)
def test_container_and_virtual_machine_have_the_same_packages(container, machine):
    assert differences(container, machine) == {}, REBUILD


@pytest.mark.image
@pytest.mark.vagrant
@pytest.mark.timeout(1800)
def test_virtual_machine_and_deterministic_image_have_the_same_packages(machine, deterministic):
    assert differences(machine, deterministic) == {}, REBUILD


def test_a_difference_is_named():
    one, other = {"fio": "3.33", "crun": "1.8", "cpio": "2"}, {"fio": "3.36", "bash": "5"}
    assert differences(one, other) == {
        "bash": ("absent", "5"),
        "crun": ("1.8", "absent"),
        "fio": ("3.33", "3.36"),
    }


@pytest.mark.docker
def test_nothing_in_a_container_counts_as_kernel_or_boot_loader(container):
    """Or the comparison would overlook a package that trials use."""
    assert [name for name in container if starts_a_machine(name)] == []


@pytest.mark.docker
def test_the_container_has_what_is_listed_and_it_runs(container):
    assert [name for name in lines("packages.txt") if name not in container] == []
    docker_run(TAG, "sh", "-ec", "crun --version; fio --version; iostat -V; python3 --version")


@pytest.mark.docker
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


@pytest.mark.docker
@pytest.mark.timeout(600)
def test_on_a_users_host_nothing_is_removed_or_upgraded(on_a_host):
    before, after, again = on_a_host
    assert "ed" in before
    assert before.items() <= after.items()
    assert again == "provision: nothing to do\n"


@pytest.mark.docker
@pytest.mark.timeout(600)
def test_on_a_users_host_what_trials_run_is_there_and_no_server(on_a_host):
    _, after, _ = on_a_host
    assert {"python3", "fio", "crun", "sysstat"} <= after.keys()
    assert not {"openssh-server", "systemd-sysv", "ifupdown", "isc-dhcp-client"} & after.keys()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--exactly"], "expected no argument or --exact, found: --exactly"),
        (["--exact", "now"], "expected no argument or --exact, found: --exact now"),
        (["--exact"], "removes all that is not listed"),
    ],
)
def test_what_would_remove_packages_of_this_machine_is_refused(arguments, said):
    command = ["sh", ENVIRONMENTS / "provision.sh", *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1 and said in run.stderr and run.stdout == ""


def test_each_list_names_a_package_once():
    listed = lines("packages.txt") + BOOT
    assert [name for name, many in itertools.groupby(sorted(listed)) if len(list(many)) > 1] == []


def sources_of(tmp_path, before):
    """Return a Debian's package sources after provision.sh has enabled non-free in them."""
    script = (ENVIRONMENTS / "provision.sh").read_text()
    function = script[script.index("enable_non_free() {") :].partition("\n}\n")[0] + "\n}\n"
    folder = tmp_path / "apt"
    (folder / "sources.list.d").mkdir(parents=True)
    for name, content in before.items():
        (folder / name).write_text(content)
    command = function.replace("/etc/apt", str(folder)) + "enable_non_free\n"
    for _ in range(2):  # the second time nothing is left to do
        subprocess.run(["sh", "-euc", command], check=True)
    return {name: (folder / name).read_text() for name in before}


def test_images_of_ours_get_the_component_non_free_beside_main(tmp_path):
    deb822 = "Types: deb\nSuites: bookworm\nComponents: main\n"
    line = "deb mirror bookworm main contrib\n"
    assert sources_of(
        tmp_path, {"sources.list.d/debian.sources": deb822, "sources.list": line}
    ) == {
        "sources.list.d/debian.sources": deb822.replace("main", "main non-free"),
        "sources.list": line.replace("contrib", "contrib non-free"),
    }


def test_firmware_alone_is_not_the_component(tmp_path):
    before = "Types: deb\nComponents: main non-free-firmware\n"
    after = sources_of(tmp_path, {"sources.list.d/debian.sources": before})
    assert after["sources.list.d/debian.sources"].endswith("main non-free-firmware non-free\n")


@pytest.mark.image
def test_the_deterministic_image_has_iozone(deterministic):
    assert "iozone3" in deterministic
