"""A clone of this checkout, and `make` in it."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from elevatorlab import cache
from elevatorlab.paths import PROJECT

MAKEFILE = (PROJECT / "Makefile").read_text()

#: In place of that program: says that what it needs is there.
NEXT = "import filelock, platformdirs\nprint('all the others come next')\n"

#: Nothing answers there.
NO_INDEX = "http://127.0.0.1:9/simple"


def take_wheel(name, folder):
    """Copy the wheel of a package, which `make setup` has fetched."""
    locked = re.search(rf"^{name}==(\S+)", (PROJECT / "requirements.lock").read_text(), re.M)[1]
    found = sorted(cache.ROOT.glob(f"python-packages/*/{name}-{locked}-*.whl"))
    if not found:
        pytest.skip("no Python packages in the cache; bring them with `make setup`")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found[-1], folder / found[-1].name)  # not its mode: nobody may write to it


@pytest.fixture
def clone(tmp_path):
    """Return a clone as far as its Python environment is concerned, beside an empty home."""
    folder = tmp_path / "a clone"
    for name in ("Makefile", "requirements.lock", "environments/host-setup.sh"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, folder / name)
    (folder / "environments/python_packages.py").write_text(NEXT)
    return folder


def make(clone, *arguments, **environment):
    """Run make in a clone, for a user who has set nothing else, without a network."""
    usual = {"PATH": os.environ["PATH"], "HOME": f"{clone.parent}", "PYTHON": sys.executable}
    asked = {"PIP_INDEX_URL": NO_INDEX, "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}
    run = ["make", "--no-print-directory", *arguments]
    every = {**usual, **asked, **environment}
    return subprocess.run(run, cwd=clone, env=every, capture_output=True, text=True)
