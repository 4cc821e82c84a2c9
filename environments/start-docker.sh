#!/bin/sh
# Start a Docker engine where no service manager does it (containers, CI machines).
#
#     start-docker.sh          install docker.io if missing, start dockerd, wait for it
#     start-docker.sh --stop   stop the dockerd that this script started
#
# Does nothing when an engine already answers. Log and pid are in build/.
set -eu

cd "$(dirname "$0")/.."
log=build/dockerd.log
pid_file=build/dockerd.pid

# The pid in $pid_file, if that is still the dockerd we started and not a stranger that
# was given its number since.
our_pid() {
    pid=$(cat $pid_file 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ] &&
        echo "$pid"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

fail() {
    printf 'start-docker: %s\n' "$@" >&2
    exit 1
}

if [ "${1:-}" = --stop ]; then
    if pid=$(our_pid); then
        as_root kill "$pid"
        while [ -d "/proc/$pid" ]; do sleep 0.2; done
        echo "start-docker: stopped dockerd (pid $pid)"
    fi
    rm -f $pid_file
    exit
fi

if docker info >/dev/null 2>&1; then
    echo "start-docker: a Docker engine is already running"
    exit
fi

as_root true 2>/dev/null || fail "starting a Docker engine needs root or passwordless sudo."

if ! command -v dockerd >/dev/null; then
    command -v apt-get >/dev/null ||
        fail "no dockerd here, and no apt to install it with: please install Docker."
    echo "start-docker: installing docker.io"
    apt="as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"
    $apt update
    $apt install --yes --no-install-recommends docker.io iptables </dev/null
fi

mkdir -p build
# setsid: Ctrl-C in this terminal is not meant for the engine.
as_root sh -c "setsid dockerd >$log 2>&1 </dev/null & echo \$! >$pid_file"

printf 'start-docker: waiting for dockerd (pid %s) ' "$(cat $pid_file)"
waited=0
until docker info >/dev/null 2>&1; do
    our_pid >/dev/null || [ $waited -lt 2 ] || {
        echo
        fail "dockerd ended; the last lines of $log:" "$(tail -n 5 $log)"
    }
    [ $waited -lt 60 ] || {
        echo
        fail "no answer after 60 s; see $log (not in the docker group? log in again, or use sudo)"
    }
    sleep 1
    waited=$((waited + 1))
    printf .
done
echo " ready"
