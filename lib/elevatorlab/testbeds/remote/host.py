"""Trials on this machine."""

from ..base import Say
from .shell import LocalShell
from .shell_testbed import ShellTestbed


class HostTestbed(ShellTestbed):
    """The machine on which this program runs."""

    name = "host"

    def __init__(self, say: Say = print) -> None:
        super().__init__(LocalShell(), say)
