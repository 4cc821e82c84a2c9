# A daemon that runs where no service manager starts it; sourced by start-docker.sh and
# start-libvirt.sh, in the project's folder. They set:
#
#     daemon       its name, as ps has it; log and pid are in build/
#     answers()    tells whether it answers

me=$(basename "$0" .sh)
log=build/$daemon.log
pid_file=build/$daemon.pid

# The pid in $pid_file, if that is still the daemon we started and not a stranger that
# was given its number since.
our_pid() {
    pid=$(cat "$pid_file" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$daemon" ] &&
        echo "$pid"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

fail() {
    printf "$me: %s\n" "$@" >&2
    exit 1
}

apt_install() {
    apt="as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"
    $apt update
    $apt install --yes --no-install-recommends "$@" </dev/null
}

stop_ours() {
    if pid=$(our_pid); then
        as_root kill "$pid"
        while [ -d "/proc/$pid" ]; do sleep 0.2; done
        echo "$me: stopped $daemon (pid $pid)"
    fi
    rm -f "$pid_file"
}

# Start the shell command $1, and wait until it answers; $2 is what to say where it does not.
# setsid: Ctrl-C in this terminal is not meant for the daemon.
start_and_wait() {
    mkdir -p build
    as_root sh -c "setsid $1 >$log 2>&1 </dev/null & echo \$! >$pid_file"
    printf "$me: waiting for $daemon (pid %s) " "$(cat "$pid_file")"
    waited=0
    until answers; do
        our_pid >/dev/null || [ $waited -lt 2 ] || {
            echo
            fail "$daemon ended; the last lines of $log:" "$(tail -n 5 "$log")"
        }
        [ $waited -lt 60 ] || {
            echo
            fail "no answer after 60 s; see $log$2"
        }
        sleep 1
        waited=$((waited + 1))
        printf .
    done
    echo " ready"
}
