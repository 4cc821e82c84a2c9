"""Trials in a virtual machine that Vagrant makes."""

from .testbed import VagrantTestbed

__all__ = ["VagrantTestbed"]
