"""The Python environment has what the lock file names, from the cache, and nothing else."""

import re
import zipfile

import pytest

from checkout_clone import MAKEFILE, clone, make, take_wheel  # noqa: F401  (fixtures)

#: What the program that installs needs, which is installed before it.
INSTALLER = re.search(r"^INSTALLER := (.*)$", MAKEFILE, re.MULTILINE)[1].split()


@pytest.mark.programs("make")
def test_a_second_clone_needs_no_network_for_what_installs(clone, tmp_path):
    """The wheels in the cache are enough, if they are the locked ones; or else pip asks around."""
    place = tmp_path / "another cache"
    folder = place / "python-packages/a-digest"

    def locked():
        return make(clone, ".venv/locked", ELEVATORLAB_CACHE=f"{place}")

    empty = locked()
    assert empty.returncode != 0 and f"{INSTALLER[0]}==" in empty.stderr
    for name in INSTALLER:
        take_wheel(name, folder)
    (wheel,) = folder.glob(f"{INSTALLER[0]}-*.whl")
    content = wheel.read_bytes()
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("more.py", "")
    bent = locked()
    assert bent.returncode != 0 and f"{INSTALLER[0]}==" in bent.stderr
    wheel.write_bytes(content)
    whole = locked()
    assert (whole.returncode, whole.stderr) == (0, "")
    assert whole.stdout.splitlines()[-1] == "all the others come next"
