"""A newcomer's machine: Debian, Python and root, and none of the programs that tests can use.

The suite is set up there, and its tests of real machines run. What misses a program is
skipped, and says what would bring it. Nothing fails.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

import browser
import needs
from elevatorlab import cache
from elevatorlab.paths import ENVIRONMENTS, PROJECT

pytestmark = [
    pytest.mark.root,
    pytest.mark.own_root,
    pytest.mark.programs("mmdebstrap"),
    pytest.mark.timeout(1800),
]

SUITE, ITS_PYTHON = "bookworm", (3, 11)

MAKE = f"""
set -eu
"$1" {SUITE} "$2" >"$2/listed"
mapfile -t sources <"$2/listed"
mmdebstrap --quiet --variant=minbase --include=python3 \\
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \\
    {SUITE} "$2/root.tar" "${{sources[@]}}" </dev/null >"$2/log" 2>&1 || {{ cat "$2/log"; exit 1; }}
"""

#: In a mount namespace of its own: the project and the Python packages are seen, and not changed.
ENTER = """
set -eu
root=$1 project=$2 packages=$3
shift 3
mkdir -p "$root/lab" "$root/packages"
mount --bind "$project" "$root/lab" && mount -o remount,bind,ro "$root/lab"
mount --bind "$packages" "$root/packages" && mount -o remount,bind,ro "$root/packages"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
for folder in run tmp var/tmp; do mount -t tmpfs tmpfs "$root/$folder"; done
cd "$root/lab"
exec chroot "$root" env -i -C /lab PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \\
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/lab/lib:/packages ELEVATORLAB_BUILD=/tmp/build \\
    python3 -m pytest -p no:cacheprovider "$@"
"""

#: How a reason ends that tells what to do.
REMEDY = re.compile(
    r"environments/[a-z-]+\.sh|run: sudo |`make [a-z-]+`|elevatorlab image build|"
    + re.escape(needs.OTHER_MACHINE)
)


def make(folder):
    sources = ENVIRONMENTS / "debian-sources.sh"
    run = ["bash", "-c", MAKE, "bash", sources, folder]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


@pytest.fixture(scope="module")
def pytest_there(tmp_path_factory):
    """Return a function that runs pytest on the bare machine."""
    if sys.version_info[:2] != ITS_PYTHON:
        needs.skip_on_this_machine(f"Python {'.'.join(map(str, ITS_PYTHON))}, as in {SUITE}")
    kept = cache.obtain("bare-machine", hashlib.sha256(MAKE.encode()).hexdigest(), make)
    root = tmp_path_factory.mktemp("bare") / "root"
    root.mkdir()
    # Device files are the machine's own, bound later.
    unpack = ["tar", "-xf", kept / "root.tar", "-C", root, "--exclude=./dev/*"]
    subprocess.run(unpack, check=True)
    packages = sysconfig.get_path("purelib")

    def run(*arguments):
        alone = ["unshare", "--mount", "sh", "-c", ENTER, "sh", root, PROJECT, packages]
        return subprocess.run([*alone, *arguments], capture_output=True, text=True)

    yield run
    shutil.rmtree(root)


def reasons_of(run, least):
    """Return why tests were skipped, one a line, each with a remedy; nothing failed."""
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
    assert int(re.search(r"(\d+) skipped", run.stdout)[1]) > least
    reasons = re.findall(r"^\d+ skipped: (.*)$", run.stdout, re.MULTILINE)
    assert [reason for reason in reasons if not REMEDY.search(reason)] == []
    return "\n".join(reasons)


def test_tests_of_real_machines_are_skipped_where_programs_are_missing(pytest_there):
    said = reasons_of(pytest_there("-q", "tests/real"), least=50)
    for missing in "no sshd", "no fio", "no Docker engine", "the command vagrant is missing":
        assert missing in said


def test_all_other_tests_are_set_up_where_programs_are_missing(pytest_there):
    """Collected, and asked what they need; they run on the machine that is at hand."""
    said = reasons_of(pytest_there("-q", "--setup-plan", "tests/unit", "tests/machine"), least=20)
    for program in browser.PROGRAM, "gcc", "git":
        assert f"no {program} here" in said
