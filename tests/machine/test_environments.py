"""One recipe, three environments: the same packages in the container, the VM and the image."""

import pytest

from environments_support import deterministic  # noqa: F401  (fixtures)


@pytest.mark.image
def test_the_deterministic_image_has_iozone(deterministic):
    assert "iozone3" in deterministic
