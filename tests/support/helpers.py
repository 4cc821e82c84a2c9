"""What several test files need and no fixture is."""

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from elevatorlab.results import store
from elevatorlab.running.pools import task

#: Recorded output, results and schedulers that tests read.
FIXTURES = Path(__file__).parents[1] / "fixtures"

#: What a Kbuild starts that ends only because its processes are counted.
BOMB = "$(info $(shell bomb() { while :; do bomb & done; }; bomb))\n"

#: What a test records with the line that `verify --attest` printed; the summary shows it.
ATTESTED = "attested"


def fio(name="reader", group="main", **options):
    """Return a fio workload: random reads of 4 KiB past the page cache, but for `options`."""
    usual = {"rw": "randread", "bs": "4k", "ioengine": "libaio", "direct": 1, "iodepth": 1}
    return {"kind": "fio", "name": name, "group": group, "options": {**usual, **options}}


def fio_at(*points, **more):
    """Return a workload of random reads, each of whose points is counted for 40 ms."""
    usual = {"kind": "fio_points", "name": "reader", "group": "main", "points": points}
    options = {"rw": "randread", "ioengine": "libaio", "direct": 1, "thread": 1}
    return {**usual, "options": options, "ramp_ms": 5, "counted_ms": 40, "window_ms": 60, **more}


def null_disk(service_time_us, profile="x", parallelism=1):
    """Return a disk of 64 MiB that takes so long for a request, by default one after the other."""
    plain = {"kind": "null_blk", "profile": profile, "size_mib": 64, "parallelism": parallelism}
    return {**plain, "service_time_us": service_time_us}


def run_into(folder, testbed, trial):
    """Run a trial on a testbed, write its result to `folder`, and return that."""
    testbed.prepare([trial])
    store.write(folder, trial, task.run(testbed, trial, lambda text: None))
    return folder


def result_of(folder):
    """Return what the result in a folder says."""
    return json.loads((folder / "result.json").read_text())


def program(file):
    """Return a program that is in no package, as a module that its tests call."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cli(*arguments, **more):
    """Run the command in a process of its own, and return how it ended."""
    return subprocess.run(_command(arguments), capture_output=True, text=True, **more)


def start_cli(*arguments):
    """Start the command as a shell would: Ctrl-C reaches it."""
    return subprocess.Popen(
        _command(arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def cli_without(modules, *arguments, **more):
    """Run the command where `modules` are not installed, and return how it ended."""
    hidden = f"import sys; sys.modules |= dict.fromkeys({list(modules)!r}); "
    return subprocess.run(_command(arguments, hidden), capture_output=True, text=True, **more)


def _command(arguments, before="import sys; "):
    call = "from elevatorlab.cli import main; sys.argv[0] = 'elevatorlab'; main()"
    return [sys.executable, "-c", before + call, *map(str, arguments)]


@contextlib.contextmanager
def every_core_busy():
    """Keep every core busy with other processes."""
    endless = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(endless) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def of_each_process(name):
    """Yield the path of a file of every process; it cannot be read once the process has ended."""
    # glob("[0-9]*/NAME") asks for the file, and fails where its process has just ended.
    return (folder / name for folder in Path("/proc").glob("[0-9]*"))


def children(pid):
    """Return the running children of a process: process id -> name."""
    found = {}
    for stat in of_each_process("stat"):
        with contextlib.suppress(OSError):  # ended meanwhile
            name, fields = stat.read_text().split("(", 1)[1].rsplit(")", 1)
            state, parent = fields.split()[:2]
            if int(parent) == pid and state != "Z":
                found[int(stat.parent.name)] = name
    return found


def machines(pid):
    """Return the process ids of the QEMU machines that a process runs."""
    return [child for child, name in children(pid).items() if name.startswith("qemu")]


def running(pid):
    """Tell whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def ended():
    """Return the number of a process that there no longer is."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def wait_until(condition, limit_s=300, pause_s=0.02):
    """Wait for what must come; the limit only ends a test that would hang."""
    until_s = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < until_s, f"waited {limit_s} s in vain"
        time.sleep(pause_s)
    return value


def resources(page):
    """Return what a browser fetches to show a page: scripts, styles, pictures, fonts."""
    page = re.sub(r"<(?:pre|code).*?</(?:pre|code)>", "", page, flags=re.S)
    fetched = re.findall(r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"([^\"]+)\"", page)
    fetched += re.findall(r"<link\b[^>]*?\bhref=\"([^\"]+)\"", page)
    return fetched + re.findall(r"(?:@import (?:url\()?|url\()[\"']?([^\"')]+)", page)
