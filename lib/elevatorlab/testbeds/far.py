"""The agent on a machine with a disk: installed, and asked to run trials."""

import contextlib
import functools
import io
import json
import tarfile
import time

from ..errors import NotReady, TrialFailed
from . import pyz
from .shell import CommandFailed, ConnectionLost, Unreachable

#: The oldest Python that the agent runs on.
OLDEST_PYTHON = (3, 9)

RECONNECT_S = 300


class FarAgent:
    """The agent on the machine that `shell` reaches.

    A trial runs there detached: it goes on when the connection breaks, and who comes back
    finds it running, or its result.
    """

    def __init__(self, shell):
        self.shell = shell
        self.folder = None
        self.agent = None
        self.as_root = []
        self.root_checked = False

    def install(self, root=True):
        """Check what the agent needs there, and bring it, where it is not there yet.

        Parameters
        ----------
        root : bool
            Whether it must be able to change anything; looking around needs no root.

        Raises
        ------
        NotReady
            No Python, too old a Python, no root, no room.
        """
        if self.agent and (self.root_checked or not root):
            return
        self._check_python()
        user_id = self.shell.run(["id", "-u"]).strip()
        if user_id != "0" and root:
            self._check_sudo()
        self.root_checked = root
        self.folder = f"/var/tmp/elevatorlab-{user_id}"
        agent = f"{self.folder}/agent-{pyz.agent_digest()[:12]}.pyz"
        try:
            self.shell.run(["mkdir", "-p", "-m", "700", self.folder, f"{self.folder}/runs"])
            self.shell.run(["test", "-O", self.folder])
            found = self.shell.run(["sh", "-c", f"sha256sum <{agent} || true"]).split()
            if found[:1] != [pyz.agent_digest()]:
                self.shell.put(pyz.agent_archive(), f"{agent}.part")
                self.shell.run(["mv", f"{agent}.part", agent])
        except CommandFailed as problem:
            raise NotReady(
                f"{self.folder} on {self.shell.name} cannot be used ({problem.said}); expected a "
                "folder of our own with 50 MiB of free disk space. Free some"
            ) from None
        self.agent = agent

    def _check_python(self):
        script = "import sys; print('%d.%d' % sys.version_info[:2])"
        try:
            found = self.shell.run(["python3", "-c", script]).strip()
        except CommandFailed as problem:
            raise NotReady(
                f"{self.shell.name} has no python3 ({problem.said}); expected 3.9 or newer. "
                "Install it there, for instance with environments/provision.sh"
            ) from None
        if tuple(map(int, found.split("."))) < OLDEST_PYTHON:
            raise NotReady(
                f"{self.shell.name} has Python {found}; expected 3.9 or newer. Install a newer "
                "python3 there"
            )

    def _check_sudo(self):
        self.as_root = ["sudo", "-n"]
        try:
            self.shell.run([*self.as_root, "true"])
        except CommandFailed as problem:
            raise NotReady(
                f"{self.shell.name}: root is needed for devices and schedulers, and sudo asks for "
                f"a password or is missing ({problem.said}); expected passwordless sudo. "
                "Add a sudoers line NOPASSWD: ALL for this user, or log in as root"
            ) from None

    def argv(self, job, *arguments):
        """Return the command for one of the agent's jobs."""
        return [*self.as_root, "python3", self.agent, job, *arguments]

    def _do(self, job, *arguments, timeout_s=60):
        return self.shell.run(self.argv(job, *arguments), timeout_s)

    def facts(self, root=True):
        """Return what the machine is and has (`elevatorlab.agent.facts`), and its clock's skew."""
        self.install(root)
        before_s = time.time()
        found = json.loads(self._do("facts", self.scratch))
        middle_s = (before_s + time.time()) / 2
        return {**found, "clock_skew_s": round(found.pop("time_s") - middle_s, 1)}

    @property
    def scratch(self):
        """Folder for the files of file-backed devices."""
        return f"{self.folder}/scratch"

    def run(self, name, trial_json, site, note, limit_s):
        """Run a trial there, or go on with it, and return the files of its result.

        Parameters
        ----------
        name : str
            The run's name; the same name is the same run.
        trial_json : str
        site : dict
            See `elevatorlab.agent.devices.create`.
        note : callable
            Gets each line of the agent's log.
        limit_s : float
            When to give up.

        Returns
        -------
        dict of str to bytes
            ``status``, ``log.txt``, ``result/...``.

        Raises
        ------
        TrialFailed
        """
        self.install()
        run = f"{self.folder}/runs/{name}"
        bring = functools.partial(self._persist, note)
        bring(self.shell.run, ["mkdir", "-p", run])
        bring(self.shell.put, trial_json.encode(), f"{run}/trial.json")
        bring(self.shell.put, json.dumps(site).encode(), f"{run}/site.json")
        bring(self._do, "start", run)
        state = self._follow(run, note, time.monotonic() + limit_s)
        if state == "running":
            bring(self._do, "stop", run, timeout_s=120)
            raise TrialFailed(
                f"the trial did not end within {limit_s:.0f} s on {self.shell.name}; it was stopped"
            )
        bring(self._do, "fetch", run)
        files = unpack(bring(self.shell.get, f"{run}/result.tar"))
        bring(self._do, "forget", run)
        return files

    def _persist(self, note, action, *arguments, **more):
        """Do what may be done twice until the connection holds, and return its answer."""
        lost_s = None
        while True:
            try:
                return action(*arguments, **more)
            except (ConnectionLost, Unreachable) as problem:
                lost_s = self._wait(note, problem, lost_s)

    def _wait(self, note, problem, lost_s):
        """Wait a moment after a broken connection; return since when it has been broken.

        Raises
        ------
        TrialFailed
            When that is too long.
        """
        lost_s = lost_s or time.monotonic()
        if time.monotonic() - lost_s > RECONNECT_S:
            raise TrialFailed(
                f"{problem}, and did not come back within {RECONNECT_S} s. The trial goes "
                "on there; the same command fetches its result"
            ) from None
        note(f"{problem}; trying again")
        time.sleep(1)
        return lost_s

    def _follow(self, run, note, until_s):
        """Hand the log's lines to `note` until the run ends; survive broken connections."""
        offset, lost_s = 0, None
        while time.monotonic() < until_s:
            try:
                for line in self.shell.lines(self.argv("follow", run, str(offset))):
                    lost_s = None
                    said = json.loads(line)
                    if "state" in said:
                        return said["state"]
                    if said["text"]:
                        note(said["text"])
                    offset = said["offset"]  # not before: the line comes again if `note` failed
                    if time.monotonic() > until_s:
                        break
            except (ConnectionLost, Unreachable) as problem:
                lost_s = self._wait(note, problem, lost_s)
        return "running"

    @contextlib.contextmanager
    def held(self, failure, job, *arguments, say):
        """Have a job of the agent done there until the context is left; yield its proofs.

        Parameters
        ----------
        failure : str
            What is said, before the reason, when it cannot be done.
        job, *arguments : str
            One of `elevatorlab.agent.hold`.
        say : callable
            Receives what could not be restored there.

        Raises
        ------
        TrialFailed
        """
        self.install()
        with contextlib.ExitStack() as held:
            try:
                said = held.enter_context(self.shell.held(self.argv(job, *arguments), say))
            except CommandFailed as problem:
                raise TrialFailed(f"{failure}: {problem.said}") from None
            yield json.loads(said)

    def stop(self, name):
        """End a run as Ctrl-C would."""
        self._do("stop", f"{self.folder}/runs/{name}", timeout_s=120)

    def clean(self):
        """Restore what killed agents left changed; return one sentence that says what was done."""
        self.install()
        return self._do("clean", f"{self.folder}/runs").strip()


def unpack(archive):
    """Return the files of a tar archive, by name."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}


def keep(files, folder):
    """Write a result's files into `folder`, or say why there is none.

    Raises
    ------
    TrialFailed
        With the agent's own sentence, or with the end of its log.
    """
    log = files.get("log.txt", b"").decode(errors="replace")
    if files.get("status") != b"0":
        said = files.get("result/failure.txt", b"").decode().strip()
        end = log.strip()[-600:]
        if "log.txt" in said:  # which nobody keeps of a failed trial
            said += f"\nlog.txt ends: {end}"
        raise TrialFailed(said or f"the agent broke off; its log ends: {end}")
    for name, content in sorted(files.items()):
        if name.startswith("result/"):
            target = folder / name.removeprefix("result/")
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content)
    (folder / "log.txt").write_text(log)
