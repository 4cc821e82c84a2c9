"""Give this Python's environment exactly the packages that requirements.lock names.

They are fetched once and kept in the user's cache (`elevatorlab.cache`), so that the next checkout
needs neither network nor patience. Run by ``make setup``; wants filelock, platformdirs and uv, and
the package's folder on the path.
"""

import hashlib
import subprocess
import sys
import sysconfig
from pathlib import Path

from elevatorlab import cache
from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import PROJECT

LOCK = PROJECT / "requirements.lock"


def main() -> int:
    """Install; return the exit status."""
    # Which wheel of a package fits is decided by Python and machine.
    place = f"{sys.implementation.cache_tag} {sysconfig.get_platform()}\n"
    digest = hashlib.sha256(place.encode() + LOCK.read_bytes()).hexdigest()
    try:
        wheels = cache.obtain("python-packages", digest, download)
    except ElevatorLabError as problem:
        print(f"python_packages: {problem}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as problem:
        return problem.returncode  # pip has said why
    return install(wheels)


def download(folder: Path) -> None:
    """Fetch the locked packages for this Python and machine; pip compares their hashes."""
    print("Python packages: fetching them into the cache (a few minutes, 300 MB)", flush=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    locked = ["--no-deps", "--require-hashes", "--requirement", LOCK]
    subprocess.run([*pip, *locked, "--dest", folder], check=True)


def install(wheels: Path) -> int:
    """Bring the environment in line with the lock file; return the exit status.

    What is there and fits stays, so that programs that run from it go on. What the lock file does
    not name goes.
    """
    uv = [Path(sys.executable).with_name("uv"), "pip", "sync", "--quiet", "--no-config"]
    source = ["--no-index", "--find-links", wheels, "--no-cache", "--require-hashes"]
    return subprocess.run([*uv, *source, "--python", sys.executable, LOCK]).returncode


if __name__ == "__main__":
    sys.exit(main())
