"""Elevator Lab: a reproducible laboratory for Linux I/O schedulers and container isolation."""


def __getattr__(name: str) -> str:
    # Looking it up takes longer than all that a command needs to say what it does.
    if name == "__version__":
        from importlib.metadata import version

        return version("elevatorlab")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
