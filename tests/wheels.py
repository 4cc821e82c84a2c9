"""A wheel of this checkout, and an environment that has it and its dependencies alone."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from elevatorlab.paths import PROJECT

#: What the extras bring that somebody may not have.
EXTRAS = ["distributed", "docker", "fabric", "invoke", "paramiko", "tenacity", "IPython"]
EXTRAS += ["ipykernel", "ipywidgets", "jupyterlab", "jupytext", "nbconvert", "papermill"]


def build(folder, project=PROJECT):
    """Build the wheel of what is in git of a project, without a network; return its file."""
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
    wanted = ["--wheel", "--no-isolation", "--outdir", folder / "dist", source]
    subprocess.run([sys.executable, "-m", "build", *wanted], check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


class Environment:
    """A virtual environment with wheels, and every library but those of the extras.

    The libraries are those of the environment that runs the tests: nothing is downloaded. Its own
    installation of the package is out of sight.

    Parameters
    ----------
    folder : Path
        A new one.
    *wheels : Path
    """

    def __init__(self, folder, *wheels):
        venv.create(folder, with_pip=False)
        self.bin, self.wheels = folder / "bin", wheels
        packages = {"base": f"{folder}", "platbase": f"{folder}"}
        self.packages = Path(sysconfig.get_path("purelib", vars=packages))
        # A line of such a file is a folder to look in, or code: what is None is not installed.
        hidden = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))"
        lines = [sysconfig.get_path("purelib"), hidden]
        (self.packages / "libraries.pth").write_text("\n".join(lines) + "\n")
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", "install"]
        asked = ["--quiet", "--no-deps", "--no-index", "--ignore-installed", *wheels]
        subprocess.run([*pip, *asked], check=True)

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
            command,
            cwd=cwd,
            env={**inherited, **environment},
            capture_output=True,
            text=True,
        )
