"""Registries: the studies, testbeds and parts of trials, by name, and the packages they come from.

This package's own entries are found in the same way as those of other packages: a package names
what it adds among its entry points. A notebook calls `Registry.register` to add an entry for as
long as the notebook runs.
"""

from .registry import Registry

__all__ = ["Registry"]
