"""The image that is there: what is in it, and what its digest tells apart."""

import pytest

from elevatorlab.testbeds.deterministic import image, qemu
from package_versions import deterministic  # noqa: F401  (fixtures)

pytestmark = pytest.mark.image


def test_the_deterministic_image_has_iozone(deterministic):
    assert "iozone3" in deterministic


def test_another_processor_has_another_digest():
    other = qemu.usual(qemu.OTHER_PROCESSOR)
    assert image.digest(other) != image.digest() == image.digest(qemu.usual())
