"""The way to another machine as OpenSSH goes it, and accounts that are not as one expects."""

import contextlib
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import accounts
import sshd
from accounts import guest, open_server  # noqa: F401  (fixtures)
from elevatorlab import testbeds
from elevatorlab.errors import NotReady
from elevatorlab.testbeds.docker import engine
from elevatorlab.testbeds.remote import openssh, ssh_shell
from helpers import result_of
from sshd import server  # noqa: F401  (fixture)
from state import run_and_restore

pytestmark = [pytest.mark.ssh, pytest.mark.root, pytest.mark.programs("sudo")]


@pytest.fixture
def shell():
    """Return a function that returns the shell of an address."""
    with contextlib.ExitStack() as stack:

        def of(address):
            testbed = testbeds.get(address, say=lambda _: None)
            stack.callback(testbed.close)
            return testbed.shell

        yield of


@pytest.fixture
def refusal(shell):
    """Return a function that returns the sentence with which the first command is refused."""

    def sentence(address):
        with pytest.raises(NotReady) as refused:
            shell(address).run(["true"])
        assert "expected" in str(refused.value) and "\n" not in str(refused.value)
        return str(refused.value)

    return sentence


def known(server, name=None, key=None):
    """Return a line of known_hosts; `name` and `key` are those of the server by default."""
    key = Path(key or server.folder / "host_key").with_suffix(".pub").read_text().split()[:2]
    return f"{name or f'[127.0.0.1]:{server.port}'} {' '.join(key)}\n"


def logins(server):
    """Return how many logins a server has accepted so far."""
    return (server.folder / "log").read_text().count("Accepted publickey")


@pytest.fixture(scope="module")
def hop(tmp_path_factory):
    """Return another server, through which the first one is reached."""
    with sshd.running(tmp_path_factory.mktemp("hop")) as started:
        yield started


class TestHops:
    """Every machine on the way is known, or the way is not taken; OpenSSH itself agrees."""

    @pytest.fixture
    def lab(self, server, hop, tmp_path, monkeypatch):
        """Return a home that knows both machines, and has names for them."""
        home = tmp_path / "home"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        monkeypatch.setenv("HOME", str(home))
        self.write(home, server, hop, "ProxyJump hop")
        self.know(home, known(server), known(hop))
        return home

    def write(self, home, server, hop, way, more=""):
        names = {"lab": server, "hop": hop}
        (home / ".ssh/config").write_text(
            f"Host lab\n {way}\n"
            + "".join(
                f"Host {name}\n HostName 127.0.0.1\n Port {one.port}\n IdentityFile {one.key}\n"
                for name, one in names.items()
            )
            + more
        )

    def know(self, home, *lines):
        (home / ".ssh/known_hosts").write_text("".join(lines))

    def openssh(self, home, name="lab"):
        """Return OpenSSH's own status for the same configuration."""
        config = home / "config"
        said = f"Host *\n UserKnownHostsFile {home}/.ssh/known_hosts\n"
        config.write_text(said + (home / ".ssh/config").read_text())
        return subprocess.run(
            ["ssh", "-F", config, "-o", "BatchMode=yes", name, "true"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
        ).returncode

    def test_a_jump_host_that_is_known_is_passed(self, lab, shell, hop):
        before = logins(hop)
        way = shell("ssh://lab?config=yes")
        assert way.run(["echo", "there"]) == "there\n"
        assert logins(hop) == before + 1

    @pytest.mark.parametrize("keys", ["unknown", "another"])
    def test_a_jump_host_of_another_key_is_refused(self, lab, refusal, hop, server, tmp_path, keys):
        sshd.make_key(tmp_path / "other")
        wrong = [known(hop, key=tmp_path / "other")] if keys == "another" else []
        self.know(lab, known(server), *wrong)
        said = refusal("ssh://lab?config=yes")
        assert f"the jump host root@127.0.0.1:{hop.port}" in said
        assert ("ssh-keygen -f" in said) == (keys == "another")

    @pytest.mark.parametrize("names", ["[127.0.0.1]:{port}", "*", "![127.0.0.1]:1,[127.*"])
    def test_a_revoked_key_is_refused_though_it_is_known(self, lab, refusal, hop, server, names):
        before = logins(hop)
        revoked = "@revoked " + known(hop, names.format(port=hop.port))
        self.know(lab, known(server), known(hop), revoked)
        said = refusal("ssh://lab?config=yes")
        assert f"the host key of the jump host root@127.0.0.1:{hop.port} is revoked" in said
        assert self.openssh(lab) != 0 and logins(hop) == before

    def test_a_key_that_is_revoked_for_another_machine_is_accepted(self, lab, shell, hop, server):
        self.know(lab, known(server), known(hop), "@revoked " + known(hop, "other.lab,|1|x|y"))
        assert shell("ssh://lab?config=yes").run(["echo", "1"]) == "1\n"
        assert self.openssh(lab) == 0

    def test_a_key_that_an_authority_may_have_signed_is_wanted_itself(
        self, lab, shell, refusal, hop, server
    ):
        """OpenSSH would accept a certificate, which Paramiko does not ask for."""
        authority = "@cert-authority " + known(hop, "*")
        self.know(lab, known(server), authority)
        assert f"ssh-keyscan -p {hop.port} 127.0.0.1 >> " in refusal("ssh://lab?config=yes")
        self.know(lab, known(server), authority, known(hop))
        assert shell("ssh://lab?config=yes").run(["echo", "1"]) == "1\n"

    def test_a_configuration_that_checks_nothing_changes_nothing(self, lab, refusal, hop, server):
        self.write(lab, server, hop, "ProxyJump hop", "Host *\n StrictHostKeyChecking no\n")
        self.know(lab, known(server))
        assert "the jump host" in refusal("ssh://lab?config=yes")

    def test_the_first_of_two_jump_hosts_is_checked_too(
        self, lab, shell, refusal, hop, server, tmp_path
    ):
        (tmp_path / "first").mkdir()
        with sshd.running(tmp_path / "first") as first:
            more = (
                f"Host first\n HostName 127.0.0.1\n Port {first.port}\n IdentityFile {first.key}\n"
            )
            self.write(lab, server, hop, "ProxyJump first,hop", more)
            assert f"the jump host root@127.0.0.1:{first.port}" in refusal("ssh://lab?config=yes")
            self.know(lab, known(server), known(hop), known(first))
            assert shell("ssh://lab?config=yes").run(["echo", "1"]) == "1\n"
            assert logins(first) == 1

    def test_a_named_file_of_keys_counts_on_the_whole_way(self, lab, shell, hop, server, tmp_path):
        self.know(lab)
        (tmp_path / "both").write_text(known(server) + known(hop))
        address = f"ssh://lab?config=yes&known_hosts={tmp_path}/both"
        assert shell(address).run(["echo", "1"]) == "1\n"

    def test_no_jump_where_the_configuration_says_none(self, lab, shell, hop, server):
        before = logins(hop)
        self.write(lab, server, hop, "ProxyJump none", "Host *\n ProxyJump hop\n")
        assert shell("ssh://lab?config=yes").run(["echo", "1"]) == "1\n"
        assert logins(hop) == before

    def test_a_jump_host_that_jumps_to_itself_is_refused(self, lab, refusal, hop, server):
        self.write(lab, server, hop, "ForwardX11 no", "Host *\n ProxyJump hop\n")
        # OpenSSH would start itself without end.
        assert "ProxyJump none" in refusal("ssh://lab?config=yes")

    @pytest.mark.parametrize("way", ["", "ProxyJump hop", "ProxyCommand nc %h %p"])
    def test_an_alias_names_the_key(self, lab, shell, refusal, hop, server, tmp_path, way):
        way = way.replace("nc", f"{shutil.which('python3')} {relay(tmp_path)}")
        self.write(lab, server, hop, f"HostKeyAlias its-alias\n {way}")
        refusal("ssh://lab?config=yes")  # known by address alone
        assert self.openssh(lab) != 0
        self.know(lab, known(server, "its-alias"), known(hop))
        assert shell("ssh://lab?config=yes").run(["echo", "1"]) == "1\n"
        assert self.openssh(lab) == 0

    def test_a_command_that_connects_is_run_as_openssh_runs_it(
        self, lab, shell, refusal, hop, server, tmp_path
    ):
        (tmp_path / "%r lab").symlink_to(relay(tmp_path))
        way = f"ProxyCommand python3 {tmp_path}/'%%r %n' \"%h\" $((%p + 0))"
        self.write(lab, server, hop, way)
        assert self.openssh(lab) == 0
        assert shell("ssh://lab?config=yes").run(["echo", "1"]) == "1\n"
        self.know(lab)
        assert f"root@127.0.0.1:{server.port} is unknown" in refusal("ssh://lab?config=yes")

    def test_a_command_that_fails_says_why(self, lab, refusal, hop, server):
        self.write(lab, server, hop, "ProxyCommand echo no way to %n >&2; exit 3")
        assert "no way to lab" in refusal("ssh://lab?config=yes")

    def test_a_configuration_that_openssh_refuses(self, lab, refusal):
        (lab / ".ssh/config").write_text("NoSuchOption yes\n")
        assert "nosuchoption" in refusal("ssh://lab?config=yes").lower()

    def test_a_name_keeps_its_capitals(self, lab, shell):
        with open(lab / ".ssh/config", "a") as file:
            file.write("Host Rack-A\n ProxyJump none\n HostName 127.0.0.1\n")
        assert shell("ssh://Rack-A?config=yes").login.way.host == "127.0.0.1"


def relay(folder):
    """Write a program that connects its standard input and output to a port, as netcat does."""
    program = folder / "relay.py"
    program.write_text(
        "import os, socket, sys, threading\n"
        "there = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
        "def back():\n"
        "    while data := there.recv(65536): os.write(1, data)\n"
        "    os._exit(0)\n"
        "threading.Thread(target=back).start()\n"
        "while data := os.read(0, 65536): there.sendall(data)\n"
        "os._exit(0)\n"
    )
    return program


def test_what_openssh_says_is_understood():
    said = "hostname there\nuser me\nport 22\nproxyjump a,b@c:33\nproxycommand none\n"
    way = openssh._way("name", said)
    assert way.jumps == ("a", "b@c:33") and way.command is None and way.alias is None
    assert [openssh.jump(one) for one in way.jumps] == [("a", None, None), ("c", "b", 33)]


class TestKeys:
    """A key that does not open, and a host key that has changed: the remedies are tried."""

    def test_a_passphrase_is_the_agents_business(self, server, shell, refusal, monkeypatch):
        locked = server.folder / "locked"
        shutil.copy(server.key, locked)
        subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", locked], check=True)
        address = server.address_of("root", key=locked)
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        said = refusal(address)
        assert f"{locked} has a passphrase" in said and f"ssh-add {locked}" in said
        with agent(monkeypatch, locked, "secret"):
            assert shell(address).run(["echo", "1"]) == "1\n"

    def test_a_public_key_is_no_private_one(self, server, refusal):
        public = server.key.with_suffix(".pub")
        assert f"{public} is no private key" in refusal(server.address_of("root", key=public))

    def test_a_changed_key_on_another_port(self, server, shell, refusal, tmp_path):
        sshd.make_key(tmp_path / "other")
        file = tmp_path / "known hosts"
        file.write_text(known(server, key=tmp_path / "other"))
        address = server.address_of("root", known_hosts=file)
        said = refusal(address)
        remedy = said[said.index("ssh-keygen -f") :].partition(";")[0]
        assert shlex.split(remedy)[-1] == f"[127.0.0.1]:{server.port}"
        subprocess.run(["sh", "-c", remedy], check=True, capture_output=True)
        assert f"127.0.0.1:{server.port} is unknown" in refusal(address)
        file.write_text(known(server))
        assert shell(address).run(["echo", "1"]) == "1\n"


@contextlib.contextmanager
def agent(monkeypatch, key, passphrase):
    """Run an SSH agent that has a key, within the context."""
    asked = key.with_name("askpass")
    asked.write_text(f"#!/bin/sh\necho {passphrase}\n")
    asked.chmod(0o700)
    socket = f"{key.parent}/agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL) as process:
        try:
            monkeypatch.setenv("SSH_AUTH_SOCK", socket)
            environment = {"SSH_ASKPASS": str(asked), "SSH_ASKPASS_REQUIRE": "force"}
            accounts.wait_until(lambda: os.path.exists(socket))
            subprocess.run(
                ["ssh-add", "-q", key],
                check=True,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
            )
            yield
        finally:
            process.terminate()


#: Start-up files that print, by login shell, and whether they are read for a single command.
NOISE = "echo 'Welcome!'; echo '{\"offset\": 3}'; echo beware >&2; printf 'no end of line'\n"
SHELLS = {"bash": ".bashrc", "tcsh": ".cshrc", "fish": ".config/fish/config.fish", "dash": ".x"}
#: What shells treat in their own ways: quotes, history, variables, lines, bytes.
ODD = ["it's", 'a "word"', "$HOME `id` !! !x", "two\nlines", r"\n \\ \'", "größe", "", "%s %b", "~"]


@pytest.mark.programs("fish", "tcsh")
class TestAccounts:
    """Whatever an account's shell is and prints, a command's output is the command's."""

    @pytest.fixture(params=SHELLS)
    def account(self, request, open_server, tmp_path_factory):
        """Return the address of an account with that login shell, whose start-up file prints."""
        program = shutil.which(request.param)
        home = open_server.folder / "home"
        file = home / SHELLS[request.param]
        file.parent.mkdir(parents=True)
        file.write_text(NOISE)
        with accounts.user("elevatorlab-test", home, program) as entry:
            subprocess.run(["chown", "-R", entry.pw_name, home], check=True)
            yield open_server.address_of(entry.pw_name)

    def test_what_it_prints_is_not_the_commands(self, account, shell):
        there = shell(account)
        script = 'printf "%s\\0" "$@"'
        assert there.run(["sh", "-c", script, "sh", *ODD]).split("\0")[:-1] == ODD
        assert list(there.lines(["printf", r"a\nb\n"])) == ["a\n", "b\n"]
        told = []
        job = "echo ready; cat >/dev/null; echo restored all >&2"
        with there.held(["sh", "-c", job], told.append) as line:
            assert line == "ready\n"
        assert told == [f"{there.name}: restored all"]

    def test_files_come_and_go_byte_by_byte(self, account, shell):
        there, content = shell(account), bytes(range(256)) * 20_000
        name = there.run(["mktemp"]).strip()
        there.put(content, name)
        assert there.get(name) == content
        there.run(["rm", name])

    def test_errors_are_the_commands_own(self, account, shell):
        with pytest.raises(ssh_shell.CommandFailed) as failure:
            shell(account).run(["sh", "-c", "echo alas >&2; exit 3"])
        assert (failure.value.status, failure.value.said) == (3, "alas")


@pytest.fixture(params=["/usr/sbin/nologin", "/bin/false"])
def closed_account(request, open_server):
    with accounts.user("elevatorlab-test", "/nonexistent", request.param) as entry:
        yield open_server.address_of(entry.pw_name)


def test_an_account_without_a_shell_says_so(closed_account, shell, refusal):
    said = refusal(closed_account)
    remedy = said[said.index("usermod") :].partition(";")[0]
    accounts.wait_until(lambda: subprocess.run(shlex.split(remedy)).returncode == 0)
    assert shell(closed_account).run(["echo", "1"]) == "1\n"


def test_a_server_without_sftp_serves(tmp_path):
    (tmp_path / "sshd").mkdir()
    configuration = sshd.CONFIGURATION.replace("Subsystem sftp internal-sftp\n", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sshd, "CONFIGURATION", configuration)
        with sshd.running(tmp_path / "sshd") as server:
            testbed = testbeds.get(server.address, say=lambda _: None)
            assert testbed.machine() == testbeds.get("host").machine()
            testbed.close()


def test_an_account_that_only_moves_files(tmp_path, refusal):
    (tmp_path / "sshd").mkdir()
    with sshd.running(tmp_path / "sshd", "ForceCommand internal-sftp") as server:
        assert "runs no commands" in refusal(server.address)


class TestThePythonOfRoot:
    """The Python that is checked is the one that runs the agent: root's, where root runs it."""

    @pytest.fixture
    def pythons(self, guest, tmp_path_factory):
        """Return a function that runs a server whose user and root have those Pythons."""
        folder = Path("/run/elevatorlab-test-python")
        shutil.rmtree(folder, ignore_errors=True)
        system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

        @contextlib.contextmanager
        def run(of_user, of_root):
            path = {}
            for whose, python in {"user": of_user, "root": of_root}.items():
                place = folder / whose
                place.mkdir(parents=True)
                (place / "python3").write_text(f"#!/bin/sh\n{python}\n")
                (place / "python3").chmod(0o755)
                path[whose] = f"{place}:{system}"
            (folder / "sshd").mkdir()
            more = f'Defaults:elevatorlab-test secure_path="{path["root"]}"'
            environment = sshd.environment(path["user"], "/nonexistent")
            with accounts.sudo_rules(more), sshd.running(folder / "sshd", environment) as server:
                testbed = testbeds.get(server.address_of(guest[0]), say=lambda _: None)
                yield testbed
                testbed.close()

        yield run
        shutil.rmtree(folder, ignore_errors=True)

    def test_an_old_one_of_root_is_refused(self, pythons):
        with pythons('exec /usr/bin/python3 "$@"', "echo 3.6") as testbed:
            with pytest.raises(NotReady, match="for root, has Python 3.6; expected 3.9"):
                testbed.far.install()

    def test_an_old_one_of_the_user_does_not_matter(self, pythons):
        with pythons("echo 2.7", 'exec /usr/bin/python3 "$@"') as testbed:
            assert testbed.facts["kernel"] == os.uname().release


@pytest.mark.programs("tcsh", "fio", "losetup", "mkfs.ext4", "ps")
@pytest.mark.parametrize("tmp", ["ro", "size=4k"])
def test_a_trial_where_nothing_is_usual(tmp, make_real_trial, tmp_path):
    """The shell is csh, its start-up file prints, and /tmp is closed or full."""
    folder = Path("/run/elevatorlab-test-odd")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home").mkdir(parents=True)
    (folder / "home/.cshrc").write_text(NOISE)
    (folder / "sshd").mkdir()
    fill = "head -c 4096 /dev/zero >/tmp/full" if tmp != "ro" else "true"
    mount = f'mount -t tmpfs -o {tmp} tmpfs /tmp && {fill} && exec "$@"'
    below = ("unshare", "--mount", "sh", "-c", mount, "sh")
    with accounts.user("elevatorlab-test", folder / "home", shutil.which("tcsh")) as entry:
        with accounts.sudo_rules(), sshd.running(folder / "sshd", below=below) as server:
            address = server.address_of(entry.pw_name)
            result = run_and_restore(address, make_real_trial(), tmp_path / "results")
        assert result_of(result)["outcome"] == "finished"
        shutil.rmtree(f"/var/tmp/elevatorlab-{entry.pw_uid}")
    shutil.rmtree(folder)


class TestDockerOverSsh:
    """Why no engine answers behind SSH: the login, the program, the rights."""

    @pytest.fixture
    def said(self, open_server, tmp_path, monkeypatch):
        """Return a function that says why no engine answers, given what `docker` does there."""
        home = tmp_path / "home"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        monkeypatch.setenv("HOME", str(home))
        config = f"Host *\n IdentityFile {open_server.key}\n"
        (home / ".ssh/config").write_text(config)
        (home / ".ssh/known_hosts").write_text(known(open_server))

        def sentence(address=f"ssh://root@127.0.0.1:{open_server.port}"):
            with pytest.raises(NotReady) as refused:
                engine.connect(address)
            return str(refused.value)

        return sentence

    def test_an_unknown_host_key(self, said, tmp_path):
        (tmp_path / "home/.ssh/known_hosts").write_text("")
        assert "host key of root@127.0.0.1" in said() and "unknown" in said()

    def test_a_server_that_is_away(self, said):
        assert "cannot be reached" in said(f"ssh://root@127.0.0.1:{sshd.free_port()}")

    @pytest.mark.parametrize(
        "program, why",
        [
            (None, "apt-get install docker.io"),
            ("echo no engine at all >&2; exit 1", "no engine at all"),
        ],
    )
    def test_what_docker_says_there(self, tmp_path, monkeypatch, program, why):
        (tmp_path / "bin").mkdir()
        for tool in ("sh", "id", "test", "true", "sleep"):
            (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
        if program:
            (tmp_path / "bin/docker").write_text(f"#!/bin/sh\n{program}\n")
            (tmp_path / "bin/docker").chmod(0o755)
        (tmp_path / "sshd").mkdir()
        environment = sshd.environment(f"{tmp_path}/bin", tmp_path)
        with sshd.running(tmp_path / "sshd", environment) as server:
            (tmp_path / ".ssh").mkdir(mode=0o700)
            (tmp_path / ".ssh/config").write_text(f"Host *\n IdentityFile {server.key}\n")
            (tmp_path / ".ssh/known_hosts").write_text(known(server))
            monkeypatch.setenv("HOME", str(tmp_path))
            with pytest.raises(NotReady) as refused:
                engine.connect(f"ssh://root@127.0.0.1:{server.port}")
        assert why in str(refused.value)
