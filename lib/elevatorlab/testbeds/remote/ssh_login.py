"""Log in to another machine, through as many others as are on the way."""

import contextlib
import functools
import logging
import os
import shlex
import signal
import socket
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from typing import Any

import paramiko
from fabric import Config, Connection

from ...errors import NotReady
from . import openssh
from .shell import Unreachable

# When a connection breaks, its thread would print a traceback besides raising the exception here.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)

CONNECT_TIMEOUT_S = 15

#: The keys of ``~/.ssh`` that Paramiko tries where none is named.
USUAL_KEYS = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519")


class UnknownKey(paramiko.SSHException):
    """A machine shows a host key, and none is known."""


class RevokedKey(paramiko.SSHException):
    """A machine shows a host key that is revoked."""


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Refuses machines whose host keys are unknown, or revoked."""

    def __init__(self, revoked: Collection[tuple[str, str]]) -> None:
        self.revoked = revoked

    def missing_host_key(self, client: object, hostname: str, key: paramiko.PKey) -> None:
        kind = RevokedKey if (key.get_name(), key.get_base64()) in self.revoked else UnknownKey
        raise kind(f"{key.get_name()} {key.fingerprint}")


class Login:
    """A login to another machine, by key.

    The machine's host key must be known. So must those of all jump hosts on the way to it. The user
    is never asked anything.

    `key_file`: Private key; by default the keys of an SSH agent and of ``~/.ssh``. `known_hosts`:
    File of known host keys, for this machine and for jump hosts; by default ``~/.ssh/known_hosts``
    and the system's file. `ssh_config`: Whether OpenSSH's configuration counts. `jumps`: Jump hosts
    to this machine, nearest first; by default those of the configuration. `behind`: Names of the
    machines that are reached through this one.
    """

    def __init__(
        self,
        host: str,
        user: str | None = None,
        port: int | None = None,
        key_file: str | None = None,
        known_hosts: str | None = None,
        ssh_config: bool = False,
        jumps: Sequence[str] = (),
        behind: tuple[str, ...] = (),
    ) -> None:
        self.name = host
        self.known_hosts = known_hosts
        self.asked = (host, user, port)
        self.key_file = key_file and os.path.expanduser(key_file)
        self.ssh_config = ssh_config
        self.jumps = jumps
        self.behind = behind
        self._proxy: subprocess.Popen[bytes] | None = None

    @functools.cached_property
    def way(self) -> openssh.Way:
        """How to reach the machine."""
        way = openssh.Way(*self.asked)
        if self.ssh_config:
            way = openssh.read(*self.asked, self.jumps)
        if self.key_file:
            way = way._replace(keys=(self.key_file,), only_keys=True)
        if self.known_hosts:
            # A jump host may also be known where its own configuration says.
            others = way.known_hosts if self.behind else ()
            way = way._replace(known_hosts=(self.known_hosts, *others))
        return way

    @functools.cached_property
    def connection(self) -> Connection:
        """Fabric's connection, which may not be open yet."""
        keys: dict[str, Any] = {"key_filename": list(self.way.keys)} if self.way.keys else {}
        if self.way.only_keys:
            through_agent = any(_needs_passphrase(key) for key in self.way.keys)
            keys |= {"look_for_keys": False, "allow_agent": through_agent}
        return Connection(
            # Paramiko looks up a host's key by what it takes for the address.
            self.way.alias or self.way.host,
            user=self.way.user,
            port=22 if self.way.alias else self.way.port,
            gateway=False,
            config=Config(overrides={"load_ssh_configs": False}),
            connect_timeout=CONNECT_TIMEOUT_S,
            connect_kwargs=keys,
        )

    @functools.cached_property
    def before(self) -> "Login | None":
        """The jump host next to the machine, if there is one."""
        if not self.way.jumps:
            return None
        *others, last = self.way.jumps
        host, user, port = openssh.jump(last)
        behind = (*self.behind, self.name)
        if host in behind:
            raise NotReady(
                f"the way to {behind[0]} goes through {host} to reach {host}; expected an end of "
                f"the jump hosts. Write `ProxyJump none` for {host} in OpenSSH's configuration"
            )
        known = self.known_hosts
        return Login(host, user, port, None, known, True, jumps=others, behind=behind)

    def open(self) -> None:
        """Connect, unless the connection is open."""
        if self.connection.is_connected:
            return
        where = f"{self.connection.user}@{self.way.host}:{self.way.port or 22}"
        where = f"the jump host {where}" if self.behind else where
        client = self.connection.client
        try:
            known = self._know_hosts(client)
            client.set_missing_host_key_policy(_Refuse(known.revoked))
            if sock := self._socket(where):
                self.connection.connect_kwargs["sock"] = sock
            self.connection.open()
            self.connection.transport.set_keepalive(10)
        except paramiko.BadHostKeyException as problem:
            raise NotReady(
                f"{where} shows another host key than the one known ({problem.key.get_name()}); "
                "expected the same. If the machine was set up anew, remove the old key with "
                f"{self._forget_key()}; otherwise somebody is in between"
            ) from None
        except RevokedKey as problem:
            raise NotReady(
                f"the host key of {where} is revoked ({problem}); expected one that is not. Give "
                f"the machine a new key, or remove the line {openssh.REVOKED} from known_hosts if "
                "the key was never in other hands"
            ) from None
        except UnknownKey as problem:
            if known.authority:
                raise NotReady(
                    f"the host key of {where} is unknown ({problem}), and {known.authority} has "
                    f"{openssh.AUTHORITY} for it; expected the key itself, as certificates are "
                    f"not read here. Add it: {self._learn_key(known.authority)}"
                ) from None
            raise NotReady(
                f"the host key of {where} is unknown ({problem}); expected it in known_hosts. Log "
                f"in once and compare its fingerprint: {self._login()}; or name a file: "
                "ssh://...?known_hosts=FILE"
            ) from None
        except paramiko.SSHException as problem:
            # The server has shown its key, and the connection did not break: it is about the login.
            transport = client.get_transport()
            if transport and transport.initial_kex_done and "EOF" not in str(problem):
                raise NotReady(self._not_accepted(where)) from None
            raise Unreachable(
                f"{where}: no SSH connection ({self._proxy_said() or problem}); expected one. "
                f"Try: {self._login()}"
            ) from None
        except FileNotFoundError as problem:
            raise NotReady(
                f"{where}: {problem.filename} does not exist; expected a key or known_hosts file"
            ) from None
        except (OSError, EOFError) as problem:
            why = self._proxy_said() or getattr(problem, "strerror", None) or problem
            raise Unreachable(
                f"{where} cannot be reached ({why}); expected an SSH server. Check name, port and "
                "network"
            ) from None

    def _know_hosts(self, client: paramiko.SSHClient) -> openssh.KnownHosts:
        """Load the known host keys; only a file that the user has named must exist."""
        files = map(os.path.expanduser, self.way.known_hosts)
        there = [file for file in files if file == self.known_hosts or os.path.exists(file)]
        known = openssh.known_hosts(there, self._known_as)
        with tempfile.NamedTemporaryFile("w") as usual:  # Paramiko reads files alone
            usual.write(known.usual)
            usual.flush()
            client.load_system_host_keys(usual.name)
        return known

    def _socket(self, where: str) -> Any:
        """Return a socket to the machine; None if Paramiko can make its own."""
        there = (self.way.host, self.way.port or 22)
        if self.before:
            self.before.open()
            try:
                return self.before.connection.transport.open_channel(
                    "direct-tcpip", there, ("", 0), timeout=CONNECT_TIMEOUT_S
                )
            except paramiko.ChannelException as problem:
                raise Unreachable(
                    f"{where} cannot be reached through {self.before.name} ({problem.text}); "
                    "expected an SSH server, and AllowTcpForwarding on the jump host. Try: "
                    f"{self._login()}"
                ) from None
        if self.way.command:
            self._proxy, sock, self._proxy_errors = openssh.started(self.way.command)
            return sock
        # With an alias, Paramiko knows the machine's alias instead of its address.
        return socket.create_connection(there, CONNECT_TIMEOUT_S) if self.way.alias else None

    def _proxy_said(self) -> str:
        """Return what the ProxyCommand printed as its errors."""
        if self._proxy is None:
            return ""
        self._end_proxy()
        self._proxy_errors.seek(0)
        said = self._proxy_errors.read().decode(errors="replace")
        return f"its ProxyCommand says: {' '.join(said.split())[-300:] or 'nothing'}"

    def _end_proxy(self) -> None:
        if self._proxy and self._proxy.poll() is None:
            os.killpg(self._proxy.pid, signal.SIGTERM)
            self._proxy.wait()

    def _not_accepted(self, where: str) -> str:
        """Return the sentence on a login that failed."""
        files = self.way.keys or [
            file for kind in USUAL_KEYS if os.path.exists(file := os.path.expanduser(kind))
        ]
        if self.key_file and _needs_passphrase(self.key_file) is None:
            return (
                f"{self.key_file} is no private key that can be read; expected one for {where}. "
                "Name the file without .pub, or make one with ssh-keygen"
            )
        if locked := [file for file in files if _needs_passphrase(file)]:
            return (
                f"{where} did not accept a key, and {locked[0]} has a passphrase; expected a login "
                "that asks for nothing. Let an agent have the key: eval $(ssh-agent); "
                f"ssh-add {shlex.quote(locked[0])}"
            )
        return (
            f"{where} did not accept a key; expected a login without password. Add yours there "
            "with ssh-copy-id, or name it: ssh://...?key=FILE"
        )

    def _login(self) -> str:
        """Return the command that logs in by hand."""
        host, user, port = self.asked
        options = ["-J", ",".join(self.jumps)] if self.jumps else []
        options += ["-p", str(port)] if port else []
        options += ["-o", f"UserKnownHostsFile={self.known_hosts}"] if self.known_hosts else []
        return shlex.join(["ssh", *options, f"{user}@{host}" if user else host])

    @property
    def _known_as(self) -> str:
        """The machine's name in files of host keys."""
        port = self.way.port or 22
        return self.way.alias or (self.way.host if port == 22 else f"[{self.way.host}]:{port}")

    def _learn_key(self, file: str) -> str:
        """Return the command that adds the machine's own key to a file, for a hand to compare."""
        port = ["-p", str(self.way.port)] if self.way.port else []
        return f"{shlex.join(['ssh-keyscan', *port, self.way.host])} >> {shlex.quote(file)}"

    def _forget_key(self) -> str:
        """Return the command that removes the machine's key from the file that has it."""
        name = self._known_as
        files = [os.path.expanduser(file) for file in self.way.known_hosts]
        (file, *_) = [
            file for file in files if os.path.exists(file) and paramiko.HostKeys(file).lookup(name)
        ]
        return shlex.join(["ssh-keygen", "-f", file, "-R", name])

    def close(self) -> None:
        """End the connection, and those to the machines on the way."""
        with contextlib.suppress(Exception):  # it may be broken in every way
            self.connection.close()
        self._end_proxy()
        if "before" in self.__dict__ and self.before:
            self.before.close()


def _needs_passphrase(file: str) -> bool | None:
    """Tell whether a private key has a passphrase; None if the file is no private key."""
    try:
        paramiko.PKey.from_path(file)
    except TypeError:  # of the library that reads keys: no passphrase was given
        return True
    except (ValueError, OSError, paramiko.SSHException):
        return None
    return False
