#!/bin/sh
# Start a Docker engine where no service manager does it (containers, CI machines).
#
#     start-docker.sh          install docker.io if missing, start dockerd, wait for it
#     start-docker.sh --stop   stop the dockerd that this script started
#
# Does nothing when an engine already answers. Log and pid are in build/.
set -eu

cd "$(dirname "$0")/.."
daemon=dockerd
answers() { docker info >/dev/null 2>&1; }
. environments/daemon.sh

if [ "${1:-}" = --stop ]; then
    stop_ours
    exit
fi

if answers; then
    echo "start-docker: a Docker engine is already running"
    exit
fi

as_root true 2>/dev/null || fail "starting a Docker engine needs root or passwordless sudo."

if ! command -v dockerd >/dev/null; then
    command -v apt-get >/dev/null ||
        fail "no dockerd here, and no apt to install it with: please install Docker."
    echo "start-docker: installing docker.io"
    apt_install docker.io iptables
fi

start_and_wait dockerd " (not in the docker group? log in again, or use sudo)"
