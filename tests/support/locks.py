"""Locks between the processes that run tests side by side."""

import contextlib

from filelock import FileLock

from elevatorlab.paths import BUILD


def held(name):
    """Return a lock, to be held in a with block: of ``disk``, ``containers`` or ``engine``."""
    BUILD.mkdir(exist_ok=True)
    return FileLock(BUILD / f"tests-{name}.lock")


@contextlib.contextmanager
def in_turn(name):
    """Hold a lock; who has waited for it gets it before who has just let it go."""
    lock = held(name)
    with held(f"{name}-next"):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
