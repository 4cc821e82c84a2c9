"""Elevator Lab: a reproducible laboratory for Linux I/O schedulers and container isolation."""

from importlib.metadata import version

__version__ = version("elevatorlab")
