"""Virtual machines inside the deterministic one: what may be asked for, and what is said."""

import pytest

from elevatorlab.errors import NotReady
from elevatorlab.testbeds.deterministic import image, inner


@pytest.mark.image
def test_qemu_for_another_image_is_not_used(tmp_path, monkeypatch):
    for name in inner.FILES:
        (tmp_path / name).write_text("")
    (tmp_path / "made_of").write_text("another")
    monkeypatch.setattr(inner, "folder", lambda: tmp_path)
    with pytest.raises(NotReady, match="belongs to another image"):
        inner.ready()


@pytest.mark.image
def test_the_default_digest_has_no_part_of_it():
    assert "virtual machines" not in image.digest_parts()
