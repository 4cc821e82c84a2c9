"""Registries: what a study, a testbed or a part of a trial is called, and where it comes from.

Ours are found like anybody else's: a package names what it adds among its entry points, and a
notebook adds something for as long as it runs by a call of `Registry.register`.
"""

from .registry import Registry

__all__ = ["Registry"]
