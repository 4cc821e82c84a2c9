#!/bin/bash
# Run the tests of real machines: bring and start what they need (packages, a Docker engine, libvirt,
# the image and the box that trials run in), run pytest, where a skipped test counts as a failure, and
# stop what this has started.
#
#     test-real.sh FOLDER [OPTION...]        make test-real [ARGS="-k regulator"]
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" = 0 ] || {
    echo "test-real: these tests make devices and choose schedulers; expected root, found user" \
        "$(id -un). Please run: sudo make test-real" >&2
    exit 1
}

# Only what did not run before is stopped.
stop=:
docker info >/dev/null 2>&1 || stop+='; environments/start-docker.sh --stop'
virsh version >/dev/null 2>&1 || stop+='; environments/start-libvirt.sh --stop'
# The package starts its server where systemd is in charge; tests start their own instead.
[ -x /usr/sbin/sshd ] || [ ! -d /run/systemd/system ] || stop+='; systemctl disable --now ssh'
end() {
    [ -z "${tests:-}" ] || { kill -INT -- "-$tests" 2>/dev/null && wait "$tests" || true; }
    eval "$stop"
}
trap end EXIT

environments/provision.sh
environments/host-setup.sh test-real-packages.txt
[ "$1" != tests/release ] || environments/host-setup.sh test-release-packages.txt
environments/start-docker.sh
environments/start-libvirt.sh
make --no-print-directory environment-image &
image=$!
make --no-print-directory box
wait "$image"

# Side by side, since most of these tests wait for a machine; tests/conftest.py gives one at a time
# what they share, and turns every skip into a failure.
set -m # a group of processes, which `end` interrupts as a whole
ELEVATORLAB_FORBID_SKIPS=1 PYTHONUNBUFFERED=1 \
    .venv/bin/python -m pytest -n 4 --dist loadfile "$@" &
tests=$!
wait "$tests"
