"""Trials on any machine that SSH reaches."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ...errors import ElevatorLabError
from ..base import Say
from . import openssh
from .shell_testbed import ShellTestbed
from .ssh_shell import SshShell

#: Options after the question mark of a testbed's address: how to log in, and the target of a pair
#: (see `elevatorlab.testbeds.remote.pair`).
OPTIONS = {"key": "key_file", "known_hosts": "known_hosts", "config": "ssh_config"}
OPTIONS |= {"target": "target", "address": "address"}


class SshTestbed(ShellTestbed):
    """Another machine, by its address: ``ssh://USER@HOST:PORT?key=FILE&known_hosts=FILE&config=yes``."""

    name = "ssh"

    def __init__(self, address: str, say: Say = print) -> None:
        super().__init__(SshShell(**parse(address)), say)


def parse(address: str) -> dict[str, Any]:
    """Return the parts of an address: arguments of `SshShell`, and the target of a pair.

    >>> parse("ssh://me@there:2222?key=~/.ssh/lab")
    {'host': 'there', 'user': 'me', 'port': 2222, 'key_file': '~/.ssh/lab'}
    >>> parse("ssh://there?config=yes")
    {'host': 'there', 'user': None, 'port': None, 'ssh_config': True}
    """
    form = "ssh://[USER@]HOST[:PORT][?key=FILE&known_hosts=FILE&config=yes]"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        port, parts = None, urlsplit("")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.password:
        address = address.replace(f":{parts.password}@", ":...@")
    if parts.scheme != "ssh" or not parts.hostname or parts.password or parts.path.strip("/"):
        raise ElevatorLabError(f"testbed: expected {form}, without a password; found {address!r}")
    for name in options:
        if name not in OPTIONS:
            raise ElevatorLabError(
                f"testbed: expected one of {', '.join(OPTIONS)} after '?'; found {name!r}"
            )
    if "address" in options and "target" not in options:
        raise ElevatorLabError(
            f"testbed: expected target=HOST beside address, the target's; found {address!r}"
        )
    given: dict[str, Any] = {OPTIONS[name]: unquote(value) for name, value in options.items()}
    if "ssh_config" in given:
        given["ssh_config"] = given["ssh_config"] in ("", "yes", "1", "true")
    return {"host": openssh.spelled(parts.netloc), "user": parts.username, "port": port, **given}
