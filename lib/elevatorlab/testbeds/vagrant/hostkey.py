"""The host key of a virtual machine: read once on its private network, then required."""

import contextlib
import socket
import time
from pathlib import Path

import paramiko

from ...errors import NotReady

WAIT_S = 60


def pin(host: str, port: int, known_hosts: Path) -> None:
    """Write the key that the machine shows now into the file `known_hosts`.

    Parameters
    ----------
    host : str
    port : int
    known_hosts : pathlib.Path

    Raises
    ------
    NotReady
        When the machine shows no key within `WAIT_S`.
    """
    until_s = time.monotonic() + WAIT_S
    while True:
        try:
            key = _shown(host, port)
            break
        except (OSError, EOFError, paramiko.SSHException) as problem:
            if time.monotonic() > until_s:
                raise NotReady(
                    f"expected the virtual machine's SSH server at {host}:{port}; found: {problem}"
                ) from None
            time.sleep(1)
    keys = paramiko.HostKeys()
    keys.add(_entry(host, port), key.get_name(), key)
    keys.save(known_hosts)


def shown_is_pinned(host: str, port: int, known_hosts: Path) -> bool:
    """Tell whether the machine answers with the key in `known_hosts`."""
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        return paramiko.HostKeys(known_hosts).check(_entry(host, port), _shown(host, port))
    return False


def _entry(host: str, port: int) -> str:
    return host if port == 22 else f"[{host}]:{port}"


def _shown(host: str, port: int) -> paramiko.PKey:
    with socket.create_connection((host, port), timeout=20) as connection:
        transport = paramiko.Transport(connection)
        try:
            transport.start_client(timeout=20)
            return transport.get_remote_server_key()
        finally:
            transport.close()
