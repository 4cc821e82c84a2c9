"""One process at a time makes a template, also where several build folders link to one image."""

import os
import subprocess
import sys

from filelock import FileLock

LOCKED = "from elevatorlab.testbeds.deterministic import image\nwith image.lock(): print('locked')"


def locking(build):
    """Start a process that takes the lock of the image in the folder `build`."""
    environment = {**os.environ, "ELEVATORLAB_BUILD": str(build)}
    return subprocess.Popen(
        [sys.executable, "-c", LOCKED], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_a_linked_image_has_one_lock(tmp_path):
    mine, linked, other = (tmp_path / name for name in ("mine", "linked", "other"))
    for build in (mine, linked, other):
        build.mkdir()
    (mine / "image").mkdir()
    (linked / "image").symlink_to(mine / "image")
    with FileLock(mine / "image.lock"):
        waits = locking(linked)
        # A process that shares no image is not held up, and shows how long a start takes.
        assert locking(other).communicate(timeout=60)[0] == "locked\n"
        assert waits.poll() is None
    assert waits.communicate(timeout=60)[0] == "locked\n"


def test_an_image_that_is_not_there_yet_has_a_lock(tmp_path):
    assert locking(tmp_path / "new").communicate(timeout=60)[0] == "locked\n"
    assert (tmp_path / "new" / "image.lock").exists()
