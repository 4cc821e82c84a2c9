"""What tests run of the documentation: commands of the README, and blocks of Python."""

import os
import re
import subprocess
import sys

from elevatorlab.paths import BUILD, PROJECT


def blocks(name):
    """Return the blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```$", (PROJECT / name).read_text(), re.M | re.S)


def typed(code, folder):
    """Run Python in a folder, with the image and results of its own."""
    build = folder / "build"
    build.mkdir(exist_ok=True)
    (build / "image").symlink_to(BUILD / "image")
    environment = {**os.environ, "ELEVATORLAB_BUILD": f"{build}"}
    call = [sys.executable, "-c", code]
    ended = subprocess.run(call, capture_output=True, text=True, cwd=folder, env=environment)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


#: Run here, in this order: the later ones use what the earlier ones leave.
RUN = [
    "claims --results published",
    "claims",
    "claims innodb_commit",
    "report",
    "bundle",
    "verify BUNDLE",
]
