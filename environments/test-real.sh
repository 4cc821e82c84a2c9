#!/bin/bash
# Run the tests of real machines, and the long ones: bring and start what they need (packages, a
# Docker engine, libvirt, the image and the box that trials run in), run pytest, where a skipped test
# counts as a failure, and stop what this has started.
#
#     test-real.sh MARKERS [OPTION...]       make test-real [ARGS="-k regulator"]
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
declare -A running=() # the group of processes that each part of the tests is
end() {
    for part in "${!running[@]}"; do
        kill -INT -- "-${running[$part]}" 2>/dev/null && wait "${running[$part]}" || true
    done
    eval "$stop"
}
trap end EXIT

environments/provision.sh
environments/host-setup.sh test-real-packages.txt
environments/start-docker.sh
environments/start-libvirt.sh
make --no-print-directory environment-image &
image=$!
make --no-print-directory box
wait "$image"

# Side by side, since most of these tests wait for a machine: those that change this one, those that
# have a machine or a root file system of their own, and those that compute for minutes.
markers=$1
shift
own="vagrant or own_root"
declare -A parts=(
    ["this machine"]="not ($own or long)"
    ["other machines"]="$own"
    ["long notebooks"]="long and notebooks"
    ["long"]="long and not notebooks"
)
run() { # PART OPTION...
    local lower=0 # what computes gives way to what waits, which takes longest
    [[ $1 != long* ]] || lower=10
    # tests/conftest.py turns every skip into a failure.
    ELEVATORLAB_FORBID_SKIPS=1 PYTHONUNBUFFERED=1 nice -n "$lower" .venv/bin/python -m pytest \
        -m "($markers) and (${parts[$1]})" "${@:2}" 2>&1 | sed -u "s/^/$1: /"
}
set -m # a group of processes each, which `end` interrupts as a whole
for part in "${!parts[@]}"; do
    run "$part" "$@" &
    running[$part]=$!
done
none=5 # pytest's status where no test was selected
selected='' status=0
for part in "${!parts[@]}"; do
    found=0
    wait "${running[$part]}" || found=$?
    case $found in
    0) selected=yes ;;
    "$none") ;;
    *) selected=yes status=1 && echo "test-real: tests of the part '$part' failed" >&2 ;;
    esac
done
[ -n "$selected" ] || status=$none
exit "$status"
