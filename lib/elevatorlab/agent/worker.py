"""A worker runs inside a group and does there what the agent asks for.

Requests and answers are lines of JSON on the worker's standard input and output, so that
the same worker serves a plain process, a container, and whatever else can be started with
three open files. Times are taken inside the group, next to the command that is timed.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback

from .errors import TrialFailed

BLOCK_BYTES = 1 << 20


class Worker:
    """The agent's end: start a worker in `group` and call its functions."""

    def __init__(self, group, agent):
        self.group = group
        self.process = subprocess.Popen(
            group.command(["python3", agent, "--worker"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, function, **arguments):
        """Run `function` in the group and return its answer.

        Raises
        ------
        TrialFailed
            When it raised there, or the worker is gone.
        """
        try:
            self.process.stdin.write(json.dumps([function, arguments]) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if not line:
            raise TrialFailed(
                f"the worker of group {self.group.name!r} ended (status {self.process.wait()}) "
                f"before it had done {function}; log.txt has its last words"
            )
        answer = json.loads(line)
        if "error" in answer:
            raise TrialFailed(f"{function} in group {self.group.name!r}: {answer['error']}")
        return answer["value"]

    def stop(self):
        """End the worker and what it started."""
        with contextlib.suppress(BrokenPipeError):  # gone already
            self.process.stdin.close()
        self.process.wait()


def serve():
    """Answer requests until standard input ends, then end what is still running."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what commands print goes to the log
    loops = []
    try:
        for line in sys.stdin:
            function, arguments = json.loads(line)
            try:
                value = FUNCTIONS[function](**arguments)
                if function == "start_loop":
                    loops.append(value)
                    value = value.pid
                answer = {"value": value}
            except Exception as problem:
                traceback.print_exc()
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    finally:
        for loop in loops:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()


def make_file(path, size_bytes, seed):
    """Write a file of bytes that do not compress, and wait until it is on the device."""
    noise = random.Random(seed).randbytes(BLOCK_BYTES)
    with open(path, "wb") as file:
        for start in range(0, size_bytes, BLOCK_BYTES):
            file.write(noise[: size_bytes - start])
        file.flush()
        os.fsync(file.fileno())


def make_tree(path, sizes_bytes, files_per_folder, seed):
    """Write files of the given sizes into numbered folders below `path`."""
    for index, size_bytes in enumerate(sizes_bytes):
        folder = os.path.join(path, f"{index // files_per_folder:05d}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{index:06d}"), "wb") as file:
            file.write(random.Random(f"{seed}/{index}").randbytes(size_bytes))
    os.sync()


def timed(argv):
    """Run a command with its output thrown away, as ``time COMMAND >/dev/null`` does.

    Returns
    -------
    dict
        ``time_ns``; ``storage_read_bytes``: what the command and its children had to fetch
        from storage (``ru_inblock``, in units of 512 bytes).
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    start_ns = time.monotonic_ns()
    child = os.posix_spawnp(
        argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, nowhere, 1)]
    )
    _, status, usage = os.wait4(child, 0)
    end_ns = time.monotonic_ns()
    os.close(nowhere)
    if status:
        raise RuntimeError(f"{argv[0]} ended with status {os.waitstatus_to_exitcode(status)}")
    return {"time_ns": end_ns - start_ns, "storage_read_bytes": usage.ru_inblock * 512}


def start_loop(command):
    """Run a shell command again and again, as ``while true; do COMMAND; done &`` does."""
    endless = f"while true; do {command}; done"
    return subprocess.Popen(
        ["sh", "-c", endless],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


FUNCTIONS = {function.__name__: function for function in (make_file, make_tree, timed, start_loop)}
