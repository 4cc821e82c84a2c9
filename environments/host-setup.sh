#!/bin/sh
# Make sure that this machine has what environments/host-packages.txt lists, and a Python
# that can make our environment. Does nothing when nothing is missing.
#
#     host-setup.sh            check, and install what is missing (root or passwordless sudo)
#     host-setup.sh LIST       the same for another list beside this file: test-packages.txt
#                              or test-real-packages.txt
#     host-setup.sh --python   print the Python interpreter to use
set -eu

here=$(cd "$(dirname "$0")" && pwd)

fail() {
    printf 'host-setup: %s\n' "$@" >&2
    exit 1
}

# The first interpreter that is new enough and can make virtual environments. Where
# `python3` is too old (Ubuntu 22.04), a newer one may be installed beside it.
find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys, venv, ensurepip
sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    found=$("${PYTHON:-python3}" --version 2>/dev/null || true)
    fail "expected Python 3.11 or newer with its venv and ensurepip modules, found ${found:-none}; install python3.11 and python3.11-venv (or newer), or name an interpreter: make PYTHON=/path/to/python3.12 ..."
}

if [ "${1:-}" = --python ]; then
    find_python
    exit
fi

list=${1:-host-packages.txt}
[ -f "$here/$list" ] || fail "expected no argument, --python or a list of packages in" \
    "$here, such as test-packages.txt; found: $list"
packages=$(sed 's/#.*//' "$here/$list" | xargs)

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    fail "this system has no apt, so the tools cannot be installed (or checked) from here." \
        "Elevator Lab's own set-up needs Debian or Ubuntu, with: $packages" \
        "Anywhere else, use the container, which brings all of it along:" \
        '    docker build -t elevatorlab . && docker run --rm -v "$PWD/out:/out" elevatorlab'
fi

missing=
for package in $packages; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done

if [ -n "$missing" ]; then
    install="apt-get install --yes --no-install-recommends$missing"
    if [ "$(id -u)" = 0 ]; then
        sudo=
    elif sudo -n true 2>/dev/null; then
        sudo=sudo
    else
        fail "these packages are missing, and installing them needs root. Please run:" \
            "    sudo $install"
    fi
    echo "host-setup: installing$missing"
    # Wait for the lock: on a freshly started machine apt is often busy with itself.
    apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"
    $apt update
    $apt install --yes --no-install-recommends $missing </dev/null
fi

if [ "$list" = host-packages.txt ]; then
    python=$(find_python)
    echo "host-setup: all system packages are there; Python is $python ($("$python" --version))"
else
    echo "host-setup: all packages of $list are there"
fi
