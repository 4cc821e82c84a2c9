"""Locks between the processes that run tests side by side."""

from filelock import FileLock

from elevatorlab.paths import BUILD


def held(name):
    """Return a lock, to be held in a with block: of the ``containers``, or of the ``engine``."""
    BUILD.mkdir(exist_ok=True)
    return FileLock(BUILD / f"tests-docker-{name}.lock")
