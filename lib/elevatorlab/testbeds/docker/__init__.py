"""Trials in Docker containers."""

from .testbed import DockerTestbed

__all__ = ["DockerTestbed"]
