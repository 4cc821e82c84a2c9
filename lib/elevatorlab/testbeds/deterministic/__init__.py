"""The deterministic testbed: a real Debian kernel in which time is counted instructions."""

from .testbed import DeterministicTestbed

__all__ = ["DeterministicTestbed"]
