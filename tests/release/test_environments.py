"""One recipe, three environments: the same packages in the container, the VM and the image."""

import pytest

from machines import shell
from package_versions import LIST, REBUILD, container, deterministic, differences, packages  # noqa: F401  (fixtures)


@pytest.fixture(scope="module")
def machine(vm):
    return packages(shell(vm, LIST))


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
