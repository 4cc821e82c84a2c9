"""The way to a machine, as OpenSSH's own configuration has it: ``ssh -G`` says what it means."""

import contextlib
import getpass
import os
import pwd
import re
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import urlsplit

import paramiko

from ...errors import NotReady

#: Time for OpenSSH to read its configuration, which may run programs (``Match exec``).
READ_S = 60

#: OpenSSH's word for "no jump host, no command".
NONE = "none"

#: Files of host keys that OpenSSH reads where no configuration says otherwise.
KNOWN_HOSTS = ("~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts")

#: Marks of a line in such a file, by what they say of its key.
REVOKED, AUTHORITY = "@revoked", "@cert-authority"


class Way(NamedTuple):
    """How to reach one machine.

    `user`, `port`: None for the usual ones. `keys`: Private keys; with none, those of ``~/.ssh``.
    `only_keys`: Whether no other key may be tried, such as an agent's. `known_hosts`: Files of host
    keys. `alias`: Name of the machine in these files, instead of its own. `jumps`: Machines to go
    through, nearest first, as ``USER@HOST:PORT``. `command`: Command line of a program that
    connects to the machine.
    """

    host: str
    user: str | None
    port: int | None
    keys: tuple[str, ...] = ()
    only_keys: bool = False
    known_hosts: tuple[str, ...] = KNOWN_HOSTS
    alias: str | None = None
    jumps: tuple[str, ...] = ()
    command: str | None = None


def read(host: str, user: str | None, port: int | None, jumps: Sequence[str] = ()) -> Way:
    """Return the way that OpenSSH would take.

    `jumps`: Jump hosts that are given already. The configuration's do not count then.
    """
    given = ["-J", ",".join(jumps)] if jumps else []
    given += ["-l", user] if user else []
    given += ["-p", str(port)] if port else []
    try:
        run = subprocess.run(
            ["ssh", *_file(), "-T", *given, "-G", "--", host],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=READ_S,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NotReady(
            f"config=yes needs OpenSSH's client, which reads its own configuration ({problem}); "
            "expected the program ssh. Install it: sudo apt-get install openssh-client"
        ) from None
    if run.returncode:
        raise NotReady(
            f"OpenSSH refuses its configuration for {host} ({' '.join(run.stderr.split())}); "
            "expected one that it reads. Correct what it names, or leave config=yes out"
        )
    return _way(host, run.stdout)


def _way(asked: str, said: str) -> Way:
    """Return the way that the output of ``ssh -G`` describes."""
    settings: dict[str, list[str]] = {}
    for line in said.splitlines():
        name, _, value = line.partition(" ")
        settings.setdefault(name, []).append(value)

    def one(name: str) -> str | None:
        value = settings.get(name, [NONE])[0]
        return None if value == NONE else value

    host, user, port = settings["hostname"][0], settings["user"][0], settings["port"][0]
    alias, jumps, command = one("hostkeyalias"), one("proxyjump"), one("proxycommand")
    tokens = {"%": "%", "h": host, "p": port, "r": user, "n": asked, "k": alias or host}
    tokens |= {"d": str(Path.home()), "u": getpass.getuser(), "i": str(os.getuid())}
    tokens |= {"l": socket.gethostname(), "L": socket.gethostname().partition(".")[0]}

    def filled(text: str) -> str:
        return re.sub("%(.)", lambda found: tokens.get(found[1], found[0]), text)

    keys = [_here(filled(path)) for path in settings.get("identityfile", [])]
    known = " ".join((one(f"{whose}knownhostsfile") or "") for whose in ("user", "global")).split()
    return Way(
        host=host,
        user=user,
        port=int(port),
        keys=tuple(path for path in keys if Path(path).is_file()),
        only_keys=settings.get("identitiesonly") == ["yes"],
        known_hosts=tuple(_here(filled(path)) for path in known),
        alias=alias,
        jumps=tuple(jumps.split(",")) if jumps else (),
        command=filled(command) if command else None,
    )


def jump(said: str) -> tuple[str, str | None, int | None]:
    """Return host, user and port of a jump host.

    >>> jump("me@There:2222")
    ('There', 'me', 2222)
    """
    parts = urlsplit(said if "://" in said else f"ssh://{said}")
    return spelled(parts.netloc), parts.username, parts.port


def spelled(netloc: str) -> str:
    """Return an address's host with its capitals, which OpenSSH's configuration tells apart.

    >>> spelled("me@Lab:22"), spelled("[::1]:22")
    ('Lab', '::1')
    """
    host = netloc.rpartition("@")[2]
    return host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]


class KnownHosts(NamedTuple):
    """What files of host keys say of one machine, besides its usual keys.

    `usual`: All lines without a mark, but for those of a revoked key. `revoked`: The keys that are
    revoked for the machine, each as its type and its base64. `authority`: The file that names a
    certificate authority for the machine; None if there is none.
    """

    usual: str
    revoked: frozenset[tuple[str, str]]
    authority: str | None


def known_hosts(files: Sequence[str], name: str) -> KnownHosts:
    """Read files of host keys for the machine that has this name there."""
    usual, revoked, authority = list[list[str]](), set[tuple[str, str]](), None
    for file in files:
        for line in Path(file).read_text(errors="replace").splitlines():
            fields = line.split()
            if not line.lstrip().startswith("@"):
                usual.append(fields)
            elif len(fields) > 3 and _named(fields[1], name):
                if fields[0] == REVOKED:
                    revoked.add((fields[2], fields[3]))
                elif fields[0] == AUTHORITY:
                    authority = authority or file
    kept = [" ".join(fields) for fields in usual if tuple(fields[1:3]) not in revoked]
    return KnownHosts("\n".join([*kept, ""]), frozenset(revoked), authority)


def _named(patterns: str, name: str) -> bool:
    """Tell whether a list of patterns, as OpenSSH has them in known_hosts, means a machine.

    >>> _named("*.lab,!old.lab", "new.lab"), _named("*.lab,!old.lab", "old.lab")
    (True, False)
    >>> _named("[127.0.0.?]:22*", "[127.0.0.1]:2222")
    True
    """
    found = False
    for pattern in patterns.split(","):
        if pattern.startswith("|"):
            with contextlib.suppress(ValueError, AssertionError):  # it is no hash
                found |= paramiko.HostKeys.hash_host(name, pattern) == pattern
            continue
        wanted = re.escape(pattern.removeprefix("!")).replace(r"\*", ".*").replace(r"\?", ".")
        if re.fullmatch(wanted, name, re.IGNORECASE):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def _homes() -> tuple[str, str]:
    """Return the home that OpenSSH takes, from the list of users, and the one of this program."""
    return pwd.getpwuid(os.getuid()).pw_dir, str(Path.home())


def _file() -> list[str]:
    """Return the option that names the user's configuration where HOME is another home."""
    theirs, ours = _homes()
    config = Path(ours, ".ssh/config")
    return ["-F", str(config)] if theirs != ours and config.is_file() else []


def _here(path: str) -> str:
    """Return a path of OpenSSH's, below this program's home if it is below OpenSSH's."""
    theirs, ours = _homes()
    path = ours + path[1:] if path.startswith("~/") else path
    below = path.startswith(f"{theirs}/.ssh/")
    return ours + path.removeprefix(theirs) if below else path


def started(command: str) -> tuple[subprocess.Popen[bytes], socket.socket, IO[bytes]]:
    """Start a ProxyCommand, as OpenSSH does; return it, the socket to it, and its error output.

    It has a session of its own, so that no program in it can ask the user anything.
    """
    near, far = socket.socketpair()
    errors = tempfile.TemporaryFile()
    with far:
        process = subprocess.Popen(
            [os.environ.get("SHELL") or "/bin/sh", "-c", f"exec {command}"],
            stdin=far.fileno(),
            stdout=far.fileno(),
            stderr=errors,
            start_new_session=True,
            env={**os.environ, "SSH_ASKPASS_REQUIRE": "never"},
        )
    return process, near, errors
