"""An exported image on another release of Debian, without QEMU: the file gives the same bits.

The Python that runs these tests goes along, and so do its packages: they decide no bit.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

import needs
from elevatorlab import cache
from elevatorlab.paths import ENVIRONMENTS, PROJECT
from elevatorlab.results import reading
from elevatorlab.testbeds.deterministic import image, image_archive
from helpers import cli

pytestmark = [
    pytest.mark.root,
    pytest.mark.own_root,
    pytest.mark.image,
    pytest.mark.programs("mmdebstrap"),
    pytest.mark.timeout(900),
]

SUITE, OURS = "trixie", "bookworm"

#: From where this machine takes its own packages: only the name of the release is another.
MAKE = f"""
set -eu
for suite in {SUITE} {OURS}; do
    "$1" "$suite" "$2" >"$2/listed"
    [ ! -s "$2/listed" ] || break
done
mapfile -t sources <"$2/listed"
[ -z "${{sources[*]}}" ] || sed -i "s/\\b{OURS}\\b/{SUITE}/g" "${{sources[@]}}"
mmdebstrap --quiet --variant=minbase --include=python3 \\
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \\
    {SUITE} "$2/root.tar" "${{sources[@]}}" </dev/null >"$2/log" 2>&1 || {{ cat "$2/log"; exit 1; }}
"""

#: What apt says of an archive that has no such release.
NO_SUCH_RELEASE = re.compile(rf"{SUITE}\S* Release' does not have a Release file")

#: In a mount namespace of its own: what is here is seen there, and not changed.
ENTER = """
set -eu
root=$1 out=$2 python=$3
shift 3
bind() {
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2" && mount -o "remount,bind,$3" "$root$2"
}
bind "$PROJECT" /lab ro
bind "$PACKAGES" /packages ro
bind "$PYTHON" /python ro
bind "$out" /out rw
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
exec chroot "$root" env -i -C /lab PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \\
    PYTHONDONTWRITEBYTECODE=1 PYTHONHOME=/python PYTHONPATH=/lab/lib:/packages \\
    LD_LIBRARY_PATH=/python/lib ELEVATORLAB_BUILD=/out/build ELEVATORLAB_CACHE=/out/cache \\
    "/python/bin/$python" \\
    -c "from elevatorlab.cli import main; import sys; sys.argv[0] = 'elevatorlab'; main()" "$@"
"""

#: One trial of study 1, which takes a second of the machine's time.
TRIAL = (
    *("run", "vm_vs_container", "--preset", "smoke", "--testbed", "deterministic"),
    *("-p", "schedulers=bfq", "-p", "arms=host", "-p", "variants=dropped"),
    *("-p", "tests=high_read_latency"),
)


def make(folder):
    run = ["bash", "-c", MAKE, "bash", ENVIRONMENTS / "debian-sources.sh", folder]
    done = subprocess.run(run, capture_output=True, text=True)
    if NO_SUCH_RELEASE.search(done.stdout):
        needs.skip_on_this_machine(f"where its Debian packages come from, there is no {SUITE}")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


@pytest.fixture
def there(tmp_path):
    """Return a function that runs our command on the other release; its results go to `out`."""
    if platform.freedesktop_os_release().get("VERSION_CODENAME") == SUITE:
        needs.skip_on_this_machine(f"one that is not of the release {SUITE} itself")
    kept = cache.obtain("other-release", hashlib.sha256(MAKE.encode()).hexdigest(), make)
    root, out = tmp_path / "root", tmp_path / "out"
    root.mkdir()
    out.mkdir()
    # Device files are the machine's own, bound later.
    unpack = ["tar", "-xf", kept / "root.tar", "-C", root, "--exclude=./dev/*"]
    subprocess.run(unpack, check=True)
    assert not list(root.rglob("qemu-system-*"))
    program = f"python{sys.version_info.major}.{sys.version_info.minor}"
    places = {"PROJECT": PROJECT, "PYTHON": sys.base_prefix}
    places["PACKAGES"] = sysconfig.get_path("purelib")

    def run(*arguments):
        alone = ["unshare", "--mount", "sh", "-c", ENTER, "sh", root, out, program]
        given = {**os.environ, **{name: str(path) for name, path in places.items()}}
        return subprocess.run([*alone, *arguments], capture_output=True, text=True, env=given)

    yield run
    shutil.rmtree(root)


def test_the_exported_image_gives_the_same_bits_with_its_own_emulator(there, tmp_path, monkeypatch):
    monkeypatch.setattr(image_archive, "PRESET", 0)  # a larger file, in half the time
    exported = image_archive.write(tmp_path)
    exported.rename(tmp_path / "out" / exported.name)
    taken = there("image", "import", f"/out/{exported.name}")
    assert taken.returncode == 0, taken.stderr
    assert f"exported with digest {image.digest()}" in taken.stdout
    assert "What differs here" not in taken.stdout

    ended = there(*TRIAL, "--results", "/out/results")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    here = cli(*TRIAL, "--results", tmp_path / "results")
    assert here.returncode == 0, here.stderr
    (theirs,), (ours,) = (
        list(reading.results_in(place / "results")) for place in (tmp_path / "out", tmp_path)
    )
    assert theirs.provenance.image_digest == ours.provenance.image_digest == image.digest()
    assert reading.digest(theirs.folder) == reading.digest(ours.folder)
