"""Install the agent on the machine with the disk, and have it run trials."""

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import tenacity

from ...errors import NotReady, TrialFailed
from ...paths import command
from ...plugins import schedulers
from .. import agent_answer, agent_archive
from ..base import Say
from .shell import CommandFailed, ConnectionLost, HoldingShell, Shell, Unreachable

#: The oldest Python that the agent runs on.
OLDEST_PYTHON = (3, 9)

RECONNECT_S = 300

#: Lock that is held while a trial changes a machine (agent/lifecycle/journal.py).
ONE_TRIAL = "/run/elevatorlab/trial.lock"

#: Shell script: run a command while holding that lock; fail if another trial holds the lock.
ALONE = f"""
mkdir -p {ONE_TRIAL.rpartition("/")[0]} && exec 9>{ONE_TRIAL} || exit
flock --nonblock 9 || {{
    echo "another trial runs on this machine; expected none, since both would measure each other." \
        "Wait for it to end, or see: {command("clean")}" >&2
    exit 1
}}
exec "$@"
"""

T = TypeVar("T")


class Wanted(NamedTuple):
    """The containers that an agent waits for (agent/lifecycle/run.py).

    `disk`: Kernel name of the device under test, on the agent's machine. `groups`: By group: kernel
    name of the group's own part of that device, or of the whole device.
    """

    disk: str
    groups: Mapping[str, str]


#: Makes the containers that an agent waits for.
Bring = Callable[[Wanted], None]


class FarAgent:
    """The agent on the machine that `shell` reaches.

    A trial runs there detached: it goes on when the connection breaks. A client that connects
    again finds the trial running, or its result.
    """

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.folder = ""  # set by `install`, like the agent's path
        self.agent = ""
        self.as_root: list[str] = []
        self.root_checked = False

    def install(self, root: bool = True) -> None:
        """Check what the agent needs on that machine, and copy it there if it is missing.

        `root`: Whether the agent must be able to change the machine. To collect facts, it needs no
        root.
        """
        if self.agent and (self.root_checked or not root):
            return
        user_id = self.shell.run(["id", "-u"]).strip()
        if user_id != "0" and root:
            self._check_sudo()
        self._check_python()
        self.root_checked = root
        self.folder = f"/var/tmp/elevatorlab-{user_id}"
        agent = f"{self.folder}/agent-{agent_archive.agent_digest()[:12]}.pyz"
        try:
            self.shell.run(["mkdir", "-p", "-m", "700", self.folder, f"{self.folder}/runs"])
            self.shell.run(["test", "-O", self.folder])
            found = self.shell.run(["sh", "-c", f"sha256sum <{agent} || true"]).split()
            if found[:1] != [agent_archive.agent_digest()]:
                self.shell.put(agent_archive.agent_archive(), f"{agent}.part")
                self.shell.run(["mv", f"{agent}.part", agent])
        except CommandFailed as problem:
            raise NotReady(
                f"{self.folder} on {self.shell.name} cannot be used ({problem.said}); expected a "
                "folder of our own with 50 MiB of free disk space. Free some"
            ) from None
        self.agent = agent

    def _check_python(self) -> None:
        """Refuse a Python that is too old: the one that runs the agent, so root's if root does."""
        whose = f"{self.shell.name}, for root," if self.as_root else self.shell.name
        script = "import sys; print('%d.%d' % sys.version_info[:2])"
        try:
            found = self.shell.run([*self.as_root, "python3", "-c", script]).split()[-1]
            version = tuple(map(int, found.split(".")))
        except CommandFailed as problem:
            raise NotReady(
                f"{whose} has no python3 ({problem.said}); expected 3.9 or newer. "
                "Install it there, for instance with environments/provision.sh"
            ) from None
        except (IndexError, ValueError):
            raise NotReady(
                f"{whose} has a python3 that does not say its version; expected 3.9 or newer. "
                "Install another python3 there"
            ) from None
        if version < OLDEST_PYTHON:
            remedy = "Install a newer python3 there"
            if self.as_root:
                remedy += ", and set secure_path in its sudoers so that sudo finds it"
            raise NotReady(f"{whose} has Python {found}; expected 3.9 or newer. {remedy}")

    def _check_sudo(self) -> None:
        self.as_root = ["sudo", "-n"]
        try:
            self.shell.run([*self.as_root, "true"])
        except CommandFailed as problem:
            raise NotReady(
                f"{self.shell.name}: root is needed for devices and schedulers, and sudo asks for "
                f"a password or is missing ({problem.said}); expected passwordless sudo. "
                "Add a sudoers line NOPASSWD: ALL for this user, or log in as root"
            ) from None

    def argv(self, job: str, *arguments: str) -> list[str]:
        """Return the command that runs one of the agent's jobs."""
        # A machine's /tmp may be small or read-only; our own folder has room.
        return [
            *self.as_root,
            "env",
            f"TMPDIR={self.folder}",
            "python3",
            self.agent,
            job,
            *arguments,
        ]

    def _do(self, job: str, *arguments: str, timeout_s: float = 60) -> str:
        return self.shell.run(self.argv(job, *arguments), timeout_s)

    def facts(self, root: bool = True) -> dict[str, Any]:
        """Return the machine's facts (`elevatorlab.agent.observe.facts`) and its clock's skew.

        ``clock_skew_s`` is positive if the machine's clock is ahead of the client's.
        """
        self.install(root)
        before_s = time.time()
        found = json.loads(self._do("facts", self.scratch, *schedulers.modules()))
        middle_s = (before_s + time.time()) / 2
        return {**found, "clock_skew_s": round(found.pop("time_s") - middle_s, 1)}

    @property
    def scratch(self) -> str:
        """Folder for the files of file-backed devices."""
        return f"{self.folder}/scratch"

    def run(
        self,
        name: str,
        inputs: Mapping[str, bytes],
        site: Mapping[str, Any],
        note: Say,
        bring_containers: Bring,
        limit_s: float,
    ) -> dict[str, bytes]:
        """Run a trial there and return the files that the agent sends.

        If the trial runs already, wait for its end.

        `name`: The run's name; the same name is the same run. `bring_containers`: Called when the
        agent waits for containers. That may be twice for one request: after a connection broke.
        """
        self.install()
        run = f"{self.folder}/runs/{name}"
        bring = functools.partial(self._persist, note)
        bring(self.shell.run, ["mkdir", "-p", run])
        for file, content in {**inputs, "site.json": json.dumps(site).encode()}.items():
            bring(self.shell.put, content, f"{run}/{file}")
        bring(self._do, "start", run)
        state = self._follow(run, note, bring_containers, time.monotonic() + limit_s)
        if state == "running":
            bring(self._do, "stop", run, timeout_s=120)
            raise TrialFailed(
                f"the trial did not end within {limit_s:.0f} s on {self.shell.name}; it was stopped"
            )
        bring(self._do, "fetch", run)
        files = agent_answer.unpack(bring(self.shell.get, f"{run}/result.tar"))
        bring(self._do, "forget", run)
        return files

    def _persist(self, note: Say, action: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Repeat an action until the connection survives it; return the action's answer.

        The action must be safe to do twice.
        """

        def say_why(attempt: tenacity.RetryCallState) -> None:
            note(f"{_problem(attempt)}; trying again")

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type((ConnectionLost, Unreachable)),
            wait=tenacity.wait_fixed(1),
            stop=_broken_for(RECONNECT_S),
            before_sleep=say_why,
            retry_error_callback=_give_up,
        )
        return retrying(action, *arguments, **more)

    def _follow(self, run: str, note: Say, bring: Bring, until_s: float) -> str:
        """Pass the log's lines to `note` until the run ends; return the run's state.

        The state is ``running`` if the run has not ended at `until_s`. If the connection breaks,
        connect again.
        """
        state, offset = "running", 0
        while state == "running" and time.monotonic() < until_s:
            state, offset = self._persist(note, self._listen, run, offset, note, bring, until_s)
        return state

    def _listen(
        self, run: str, offset: int, note: Say, bring: Bring, until_s: float
    ) -> tuple[str, int]:
        """Pass the log's lines to `note`, from `offset` on, over one connection.

        Returns `state`: The run's state; ``running`` if the connection broke after a line had come,
        or `until_s` has passed. Returns `offset`: Place in the log where the next connection
        begins.
        """
        heard = False
        try:
            for line in self.shell.lines(self.argv("follow", run, str(offset))):
                heard = True
                said = json.loads(line)
                if "state" in said:
                    return said["state"], offset
                if "containers" in said:
                    bring(Wanted(**said["containers"]))
                    continue
                if said["text"]:
                    note(said["text"])
                offset = said["offset"]
                if time.monotonic() > until_s:
                    break
        except (ConnectionLost, Unreachable) as problem:
            if not heard:
                raise
            note(f"{problem}; trying again")
        return "running", offset

    @contextlib.contextmanager
    def held(
        self, failure: str, job: str, *arguments: str, say: Say, alone: bool = False
    ) -> Iterator[list[dict[str, Any]]]:
        """Keep a job of the agent running there within the context; yield the job's proofs.

        `failure`: Beginning of the error message if the job fails; the reason follows. `job`,
        `*arguments`: A job of `elevatorlab.agent.lifecycle.second_machine`, and its arguments.
        `say`: Called with each complaint of the job, such as that something could not be restored.
        `alone`: Whether to keep all trials off that machine meanwhile, by the lock `ONE_TRIAL`. For
        jobs that do not take this lock themselves.
        """
        self.install()
        argv = self.argv(job, *arguments)
        if alone:
            argv = [*self.as_root, "sh", "-c", ALONE, "sh", *argv[len(self.as_root) :]]
        shell = cast(HoldingShell, self.shell)  # the shell of a machine: no container holds a job
        with contextlib.ExitStack() as held:
            try:
                said = held.enter_context(shell.held(argv, say))
            except CommandFailed as problem:
                raise TrialFailed(f"{failure}: {problem.said}") from None
            yield json.loads(said)

    def stop(self, name: str) -> None:
        """End a run as Ctrl-C would."""
        self._do("stop", f"{self.folder}/runs/{name}", timeout_s=120)

    def clean(self) -> str:
        """Restore what killed agents left changed; return one sentence that says what was done."""
        self.install()
        return self._do("clean", f"{self.folder}/runs").strip()


def _broken_for(limit_s: float) -> Callable[[tenacity.RetryCallState], bool]:
    """Return tenacity's condition for giving up: `limit_s` has passed since the first failure.

    The time before that failure does not count, since an attempt may last as long as a trial.
    """
    since_s: float | None = None

    def stop(attempt: tenacity.RetryCallState) -> bool:
        nonlocal since_s
        now_s = attempt.outcome_timestamp or 0.0
        since_s = since_s or now_s
        return now_s - since_s > limit_s

    return stop


def _problem(attempt: tenacity.RetryCallState) -> BaseException | None:
    return attempt.outcome.exception() if attempt.outcome else None


def _give_up(attempt: tenacity.RetryCallState) -> NoReturn:
    raise TrialFailed(
        f"{_problem(attempt)}, and did not come back within {RECONNECT_S} s. The trial "
        "goes on there; the same command fetches its result"
    ) from None
