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
daemon=libvirtd
uri=qemu:///system
packages="qemu-system-x86 qemu-utils libvirt-daemon-system libvirt-clients dnsmasq-base
    iptables fdisk vagrant vagrant-libvirt"

answers() { timeout 20 virsh --connect $uri version >/dev/null 2>&1; }
. environments/daemon.sh

if [ "${1:-}" = --stop ]; then
    stop_ours
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
    apt_install $missing
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
start_and_wait "unshare --mount sh -c '
    mount --bind build/qemu.conf /etc/libvirt/qemu.conf && exec libvirtd'" ""
