#!/bin/bash
# Build, from Debian packages, the equivalent of the public Vagrant box debian/bookworm64 for
# libvirt, where that box cannot be pulled, and add it to Vagrant as elevatorlab/bookworm64.
#
#     make-base-box.sh          the box, already provisioned
#     make-base-box.sh --bare   as public boxes are: the VM provisions itself when it comes up
#
# Provisioned means: provision.sh --exact ran here rather than in the VM, where, without
# hardware virtualisation, installing takes minutes. Vagrant runs the same script in either
# case, and it does nothing where it finds its own work.
#
# Needs no root where user namespaces or fakechroot are allowed, and mounts nothing. Like the
# base image, the box keeps this machine's package sources and added certificate authorities.
set -euo pipefail

cd "$(dirname "$0")/.."
name=elevatorlab/bookworm64
suite=bookworm
size_mib=8192
recipe_files=(environments/{make-base-box.sh,provision.sh,packages.txt,versions.tsv,boot-packages.txt})

fail() {
    printf 'make-base-box: %s\n' "$@" >&2
    exit 1
}

case ${1:-} in
'') provisioned=yes ;;
--bare) provisioned= ;;
*) fail "expected no argument or --bare, found: $*" ;;
esac
for tool in mmdebstrap fakeroot mke2fs sfdisk qemu-img vagrant; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null ||
        fail "the command $tool is missing; environments/host-setup.sh and" \
            "environments/start-libvirt.sh install what a box needs."
done
PATH=$PATH:/usr/sbin:/sbin

recipe=$(cat "${recipe_files[@]}" | sha256sum | cut -d' ' -f1)${provisioned:+-provisioned}
added=${VAGRANT_HOME:-$HOME/.vagrant.d}/boxes/${name/\//-VAGRANTSLASH-}/0/libvirt/metadata.json
if grep -qs "\"$recipe\"" "$added"; then
    echo "make-base-box: $name is already there"
    exit
fi

# In /tmp, not in build/: mmdebstrap's unprivileged helpers must be able to reach it.
work=$(mktemp -d "${TMPDIR:-/tmp}/elevatorlab-box.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/sources" "$work/root" "$work/certificates"
environments/debian-sources.sh "$suite" "$work/sources" >"$work/listed"
mapfile -t sources <"$work/listed"
cp /usr/local/share/ca-certificates/*.crt "$work/certificates" 2>/dev/null || true
# Vagrant's own well-known key, by which it enters a new box. Boxes of this name keep it (see
# Vagrantfile in the box): only this machine's private network reaches the VM.
key=$(find /usr/share/rubygems-integration /usr/share/vagrant /opt/vagrant \
    -path '*/keys/vagrant.pub' -print -quit 2>/dev/null || true)
[ -n "$key" ] || fail "found no keys/vagrant.pub in Vagrant's installation."
cp "$key" "$work/vagrant.pub"

# Runs inside the new root, before its packages are installed.
cat >"$work/before.sh" <<'SCRIPT'
set -eu
# Only what reaches the root: a small initial RAM disk starts soonest.
mkdir -p /etc/initramfs-tools/conf.d
echo MODULES=list >/etc/initramfs-tools/conf.d/modules
printf '%s\n' virtio_pci virtio_blk ext4 >/etc/initramfs-tools/modules
SCRIPT

# Runs inside the new root, after its packages are installed: what makes it a Vagrant box.
cat >"$work/after.sh" <<'SCRIPT'
set -eu
update-ca-certificates
useradd --create-home --shell /bin/bash vagrant
install -d -m 700 -o vagrant -g vagrant /home/vagrant/.ssh
install -m 600 -o vagrant -g vagrant /box/vagrant.pub /home/vagrant/.ssh/authorized_keys
echo 'vagrant ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/vagrant
chmod 440 /etc/sudoers.d/vagrant
echo 'UseDNS no' >/etc/ssh/sshd_config.d/vagrant.conf
echo bookworm >/etc/hostname
printf '127.0.0.1 localhost\n127.0.1.1 bookworm\n' >/etc/hosts
echo 'LABEL=root / ext4 errors=remount-ro 0 1' >/etc/fstab
printf 'auto lo\niface lo inet loopback\nauto eth0\niface eth0 inet dhcp\n' >/etc/network/interfaces
systemctl enable getty@ttyS0 2>/dev/null || true

if [ -x /box/environments/provision.sh ]; then /box/environments/provision.sh --exact; fi

mkdir -p /boot/grub
cp -r /usr/lib/grub/i386-pc /boot/grub/
# apparmor=0: the kernel has it, but no package of ours loads profiles. multipath=N: otherwise an
# NVMe disk has a disk of several paths in front of it, which has no scheduler.
cat >/boot/grub/grub.cfg <<'CFG'
linux /vmlinuz root=LABEL=root ro net.ifnames=0 apparmor=0 nvme_core.multipath=N console=tty0 console=ttyS0
initrd /initrd.img
boot
CFG
grub-mkimage -O i386-pc -p '(hd0,msdos1)/boot/grub' -o /boot/grub/core.img \
    biosdisk part_msdos ext2 normal linux configfile search search_label boot
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt/*
: >/etc/machine-id
rm -f /etc/resolv.conf
rm -r /box
SCRIPT

echo "make-base-box: building $name from Debian packages (about 2 minutes)"
mmdebstrap --quiet --variant=minbase --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include=ca-certificates,ifupdown,isc-dhcp-client,openssh-server,sudo,systemd-sysv,udev \
    --include=grub-pc,linux-image-cloud-amd64 \
    --essential-hook="copy-in $work/before.sh /" \
    --essential-hook='chroot "$1" sh /before.sh && rm "$1/before.sh"' \
    --customize-hook='mkdir -p "$1/box/environments"' \
    --customize-hook="copy-in $work/certificates/. /usr/local/share/ca-certificates" \
    --customize-hook="copy-in $work/after.sh $work/vagrant.pub /box" \
    ${provisioned:+--customize-hook="copy-in environments/provision.sh environments/packages.txt \
        environments/versions.tsv environments/boot-packages.txt /box/environments"} \
    --customize-hook='chroot "$1" sh /box/after.sh' \
    "$suite" "$work/root.tar" "${sources[@]}" </dev/null >"$work/log" 2>&1 ||
    fail "mmdebstrap failed; its last lines:" "$(tail -n 15 "$work/log")"

# One partition behind the first MiB. GRUB's two halves go where the BIOS, and the first half
# by default, look for them: sector 0, and the sectors after it.
truncate --size=${size_mib}M "$work/disk.raw"
echo 'start=1MiB, type=83, bootable' | sfdisk --quiet --label dos "$work/disk.raw"
fakeroot sh -c 'tar -xf "$1/root.tar" -C "$1/root" && cp "$1"/root/boot/grub/core.img "$1" &&
    cp "$1"/root/boot/grub/i386-pc/boot.img "$1" &&
    mke2fs -q -t ext4 -L root -d "$1/root" -E offset=1048576 "$1/disk.raw" "$2M"' \
    mke2fs "$work" $((size_mib - 1)) >"$work/log" 2>&1 ||
    fail "making the file system failed; its last lines:" "$(tail -n 5 "$work/log")"
dd if="$work/boot.img" of="$work/disk.raw" bs=440 count=1 conv=notrunc status=none
dd if="$work/core.img" of="$work/disk.raw" bs=512 seek=1 conv=notrunc status=none

qemu-img convert -c -O qcow2 "$work/disk.raw" "$work/box.img"
printf '{"provider": "libvirt", "format": "qcow2", "virtual_size": %d, "recipe": "%s"}\n' \
    $((size_mib / 1024)) "$recipe" >"$work/metadata.json"
# A new key for each VM would take longer than booting it, without hardware virtualisation.
echo 'Vagrant.configure("2") { |config| config.ssh.insert_key = false }' >"$work/Vagrantfile"
tar -C "$work" -cf "$work/elevatorlab.box" metadata.json Vagrantfile box.img
vagrant box add --force --provider libvirt --name "$name" "$work/elevatorlab.box" >"$work/log" 2>&1 ||
    fail "vagrant box add failed; its last lines:" "$(tail -n 5 "$work/log")"
echo "make-base-box: added $name ($(stat --format=%s "$work/elevatorlab.box" | numfmt --to=iec)B)"
