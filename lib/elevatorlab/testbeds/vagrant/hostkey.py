"""The host key of a virtual machine: read once on its private network, then required."""

import contextlib
import socket
from pathlib import Path

import paramiko
import tenacity

from ...errors import NotReady

WAIT_S = 60

#: What a machine raises that shows no key, or not yet.
NO_KEY_YET = (OSError, EOFError, paramiko.SSHException)


def pin(host: str, port: int, known_hosts: Path) -> None:
    """Write the key that the machine shows now into the file `known_hosts`."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(NO_KEY_YET),
        wait=tenacity.wait_fixed(1),
        stop=tenacity.stop_after_delay(WAIT_S),
        reraise=True,
    )
    try:
        key = retrying(_shown, host, port)
    except NO_KEY_YET as problem:
        raise NotReady(
            f"expected the virtual machine's SSH server at {host}:{port}; found: {problem}"
        ) from None
    keys = paramiko.HostKeys()
    keys.add(_entry(host, port), key.get_name(), key)
    keys.save(known_hosts)


def shown_is_pinned(host: str, port: int, known_hosts: Path) -> bool:
    """Tell whether the machine answers with the key in `known_hosts`."""
    with contextlib.suppress(*NO_KEY_YET):
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
