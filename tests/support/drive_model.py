"""The driver's model, compiled in user space."""

import subprocess

import pandas as pd

from elevatorlab.agent.devices.drive import numbers
from elevatorlab.paths import ENVIRONMENTS
from helpers import FIXTURES

SOURCES = ("geometry", "arm", "buffer", "write_cache", "service")
HARNESS = FIXTURES / "drive_model.c"
COLUMNS = "response overhead waited seek rotation media bus hit cylinder".split()


def compile_into(folder):
    """Return the program, made in `folder`."""
    source = ENVIRONMENTS / "kernel/drive"
    files = [HARNESS, *(source / f"{name}.c" for name in SOURCES)]
    program = folder / "drive_model"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        ["gcc", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover", *warnings]
        + ["-I", source, "-o", program, *files],
        check=True,
    )
    return program


def serve(program, drive, requests):
    """Return what becomes of requests, each (ns after the one before, kind, sector, sectors).

    The columns that are times are in ns.
    """
    described = map(str, numbers(drive.model_dump(mode="json")))
    lines = "".join(" ".join(map(str, request)) + "\n" for request in requests)
    run = subprocess.run(
        [program, *described], input=lines, capture_output=True, text=True, check=True
    )
    rows = [map(int, line.split()) for line in run.stdout.splitlines()]
    return pd.DataFrame(rows, columns=COLUMNS)
