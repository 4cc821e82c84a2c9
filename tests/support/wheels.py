"""A wheel of this checkout, and an environment that has it and its dependencies alone."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from filelock import FileLock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from elevatorlab.paths import PROJECT


def ours(tmp_path_factory):
    """Return our wheel, which the processes that run the tests build once for all of them."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with FileLock(folder / "ours.lock"):
        found = list((folder / "ours" / "dist").glob("*.whl"))
        return found[0] if found else build(folder / "ours")


def build(folder, project=PROJECT):
    """Build the wheel of a project as `python -m build` does, from its source distribution.

    Of the project there is what is in git, and no network. Returns the wheel's file.
    """
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=project,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    source = folder / "source"
    for name in filter(None, listed.split("\0")):
        if (project / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project / name, source / name)
    wanted = ["--no-isolation", "--outdir", folder / "dist", source]
    ended = subprocess.run([sys.executable, "-m", "build", *wanted], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def demanded(*wheels):
    """Return the installed packages that the metadata of wheels demand, and theirs in turn.

    Extras count where a requirement names them.
    """
    own = {canonicalize_name(one.name): one for one in map(_metadata, wheels)}
    found, open_ends = {}, [(name, "") for name in own]
    while open_ends:
        name, extra = one = open_ends.pop()
        if one in found:
            continue
        found[one] = own.get(name) or distribution(name)
        for demand in map(Requirement, found[one].requires or ()):
            if demand.marker is None or demand.marker.evaluate({"extra": extra}):
                wanted = canonicalize_name(demand.name)
                open_ends += [(wanted, more) for more in ("", *demand.extras)]
    return {name: package for (name, _), package in found.items() if name not in own}


def _metadata(wheel):
    (found,) = (one for one in zipfile.Path(wheel).iterdir() if one.name.endswith(".dist-info"))
    return PathDistribution(found)


class Environment:
    """A virtual environment with wheels, and the libraries that their metadata demand.

    The libraries are those of the environment that runs the tests: nothing is downloaded. Its own
    installation of the package is out of sight.
    """

    def __init__(self, folder, *wheels):
        venv.create(folder, with_pip=False)
        self.bin, self.wheels = folder / "bin", wheels
        packages = {"base": f"{folder}", "platbase": f"{folder}"}
        self.packages = Path(sysconfig.get_path("purelib", vars=packages))
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", "install"]
        asked = ["--quiet", "--no-deps", "--no-index", "--ignore-installed", *wheels]
        subprocess.run([*pip, *asked], check=True)
        for package in demanded(*wheels).values():
            for top in {file.parts[0] for file in package.files} - {"..", "__pycache__"}:
                link = self.packages / top
                if not link.exists():  # several packages may share a namespace
                    link.symlink_to(package.locate_file(top))

    def elevatorlab(self, *arguments, cwd, **environment):
        """Run the command from a folder, and return how it ended."""
        return self._run([self.bin / "elevatorlab", *map(str, arguments)], cwd, environment)

    def python(self, code, cwd, **environment):
        """Run Python code from a folder, and return how it ended."""
        return self._run([self.bin / "python", "-c", code], cwd, environment)

    def _run(self, command, cwd, environment):
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        inherited.pop("ELEVATORLAB_BUILD", None)
        return subprocess.run(
            command, cwd=cwd, env={**inherited, **environment}, capture_output=True, text=True
        )


STUDY = "vm_vs_container"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return ours(tmp_path_factory)


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Return a function that runs the installed command from another folder."""
    folder = tmp_path_factory.mktemp("installed")
    environment = Environment(folder / "environment", built)
    (folder / "elsewhere").mkdir()
    own = {"XDG_DATA_HOME": f"{folder / 'data'}", "ELEVATORLAB_CACHE": f"{folder / 'cache'}"}

    def run(*arguments, **more):
        return environment.elevatorlab(*arguments, cwd=folder / "elsewhere", **own | more)

    run.folder, run.environment = folder, environment
    return run
