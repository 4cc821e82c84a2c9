"""The same bits from every run, quiet or loaded, and from every boot."""

import pytest

from deterministic_support import busy, busy_result, fingerprint, run  # noqa: F401  (fixtures)
from elevatorlab.testbeds.deterministic import template

pytestmark = [pytest.mark.image, pytest.mark.anew]


def test_two_boots_give_the_same_machine(busy, busy_result, run, tmp_path, monkeypatch):
    kept = template.ready(busy.memory_mib)
    template.boot(busy.memory_mib, tmp_path)
    assert (tmp_path / "about.json").read_text() == (kept / "about.json").read_text()
    # The saved state also has QEMU's own clock, which the guest never sees: same results.
    monkeypatch.setattr(template, "ready", lambda *_: tmp_path)
    assert fingerprint(run(busy)) == fingerprint(busy_result)
