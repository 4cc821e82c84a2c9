"""Kernel modules and commands: what the agent's devices are made with."""

import pathlib
import subprocess

from .errors import TrialFailed


def load_module(name, *options, journal=None):
    """Load a kernel module; say so in one sentence if the kernel has none of that name.

    Parameters
    ----------
    name, options : str
        As modprobe takes them.
    journal : Journal, optional
        Where it is noted, if the module is to be unloaded afterwards.
    """
    if journal is not None and not loaded(name):
        journal.will("unload_module", name)
    run = subprocess.run(["modprobe", name, *options], capture_output=True, text=True)
    if run.returncode:
        kernel = pathlib.Path("/proc/sys/kernel/osrelease").read_text().strip()
        raise TrialFailed(
            f"kernel {kernel} has no module {name} ({run.stderr.strip()}); "
            "use a kernel that has it, or leave it out of the trial"
        )


def loaded(name):
    """Tell whether a module is in the kernel."""
    return pathlib.Path("/sys/module", name.replace("-", "_")).exists()


def run(*argv):
    """Run a command and return what it printed.

    Raises
    ------
    TrialFailed
        With the command's own words, when it fails.
    """
    run = subprocess.run(argv, capture_output=True, text=True)
    if run.returncode:
        raise TrialFailed(f"{' '.join(argv)} failed: {run.stderr.strip()}")
    return run.stdout.strip()
