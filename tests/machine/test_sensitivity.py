"""Which verdicts stand on another machine: the variations, the table, the report."""

import pytest

from elevatorlab.running import sensitivity as running
from elevatorlab.testbeds.deterministic import image, qemu


@pytest.mark.image
def test_another_processor_has_another_digest():
    other = qemu.Stock(running.OTHER_PROCESSOR)
    assert image.digest(other) != image.digest() == image.digest(qemu.Stock())
