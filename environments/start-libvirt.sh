#!/bin/sh
# Install Vagrant with libvirt, and start libvirtd where no service manager does it
# (containers, CI machines).
#
#     start-libvirt.sh          install what is missing, start libvirtd, wait for it
#     start-libvirt.sh --stop   stop the libvirtd that this script started
#
# Does nothing where everything is installed and libvirtd already answers. Log and pid are
# in build/.
set -eu

cd "$(dirname "$0")/.."
log=build/libvirtd.log
pid_file=build/libvirtd.pid
uri=qemu:///system
packages="qemu-system-x86 qemu-utils libvirt-daemon-system libvirt-clients dnsmasq-base
    iptables fdisk vagrant vagrant-libvirt"

# The pid in $pid_file, if that is still the libvirtd we started and not a stranger that
# was given its number since.
our_pid() {
    pid=$(cat $pid_file 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = libvirtd ] &&
        echo "$pid"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

fail() {
    printf 'start-libvirt: %s\n' "$@" >&2
    exit 1
}

answers() { timeout 20 virsh --connect $uri version >/dev/null 2>&1; }

if [ "${1:-}" = --stop ]; then
    if pid=$(our_pid); then
        as_root kill "$pid"
        while [ -d "/proc/$pid" ]; do sleep 0.2; done
        echo "start-libvirt: stopped libvirtd (pid $pid)"
    fi
    rm -f $pid_file
    exit
fi

missing=
if command -v dpkg-query >/dev/null; then
    for package in $packages; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$status" = installed ] || missing="$missing $package"
    done
elif ! command -v vagrant >/dev/null || ! command -v virsh >/dev/null; then
    fail "no vagrant or no virsh here, and no apt to install them with: please install" \
        "Vagrant with its libvirt provider."
fi
if [ -n "$missing" ]; then
    as_root true 2>/dev/null || fail "these packages are missing, and installing them needs root:" \
        "    sudo apt-get install --no-install-recommends$missing"
    echo "start-libvirt: installing$missing"
    apt="as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"
    $apt update
    $apt install --yes --no-install-recommends $missing </dev/null
fi

if answers; then
    echo "start-libvirt: a libvirtd is already running"
    exit
fi
[ ! -d /run/systemd/system ] ||
    fail "libvirtd does not answer you on $uri, and here systemd is in charge of it. Please run:" \
        "    sudo systemctl start libvirtd && sudo usermod -aG libvirt $(id -un)" \
        "and log in again."
as_root true 2>/dev/null || fail "starting libvirtd needs root or passwordless sudo."

mkdir -p build
# For this libvirtd alone, laid over the system's own file in a mount namespace. Root,
# because QEMU as another user could not open /dev/kvm here, and libvirt would probe each
# machine type anew, for minutes; no cgroups, security driver or virtlogd, because nothing
# has set them up.
cat >build/qemu.conf <<'CONF'
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
stdio_handler = "file"
CONF
# setsid: Ctrl-C in this terminal is not meant for libvirtd.
as_root sh -c "setsid unshare --mount sh -c '
    mount --bind build/qemu.conf /etc/libvirt/qemu.conf && exec libvirtd' \
    >$log 2>&1 </dev/null & echo \$! >$pid_file"

printf 'start-libvirt: waiting for libvirtd (pid %s) ' "$(cat $pid_file)"
waited=0
until answers; do
    our_pid >/dev/null || [ $waited -lt 2 ] || {
        echo
        fail "libvirtd ended; the last lines of $log:" "$(tail -n 5 $log)"
    }
    [ $waited -lt 60 ] || {
        echo
        fail "no answer after 60 s; see $log"
    }
    sleep 1
    waited=$((waited + 1))
    printf .
done
echo " ready"
