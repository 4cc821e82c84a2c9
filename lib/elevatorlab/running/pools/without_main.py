"""Start processes that do not run the user's script again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec

#: A process that multiprocessing starts imports the script of its parent, and so runs all of it,
#: unless the script is the __main__ of a package.
NOTHING = ModuleSpec("elevatorlab.__main__", None)

_lock = threading.Lock()
_inside = 0
_spec: ModuleSpec | None = None


@contextmanager
def without_main() -> Iterator[None]:
    """Within the context, let processes that start import nothing of the user's script.

    A script may call this package without `if __name__ == "__main__":`. What processes are to run
    is found in modules, so they need no script. Contexts of several threads may overlap.
    """
    global _inside, _spec
    main = sys.modules["__main__"]
    with _lock:
        if not _inside:
            _spec, main.__spec__ = main.__spec__, NOTHING
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                main.__spec__ = _spec
