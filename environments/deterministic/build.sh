#!/bin/bash
# Build the deterministic testbed's kernel, initramfs and root file system from Debian
# packages and our kernel modules. The same package versions give the same bytes. Needs no root where user
# namespaces or fakechroot are allowed, mounts nothing, and leaves nothing else behind.
#
# usage: build.sh OUT      OUT/{vmlinuz,root.ext2,packages.tsv}, the firmware, and OUT/initramfs, a folder
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
suite=bookworm
export SOURCE_DATE_EPOCH=1577836800 LC_ALL=C TZ=UTC    # 2020-01-01, the guest's own date

fail() {
    printf 'deterministic image: %s\n' "$@" >&2
    exit 1
}
for tool in mmdebstrap genext2fs; do
    command -v "$tool" >/dev/null ||
        fail "the command $tool is missing; environments/host-setup.sh installs it."
done

# In /tmp, not in OUT: mmdebstrap's unprivileged helpers must be able to reach it.
work=$(mktemp -d "${TMPDIR:-/tmp}/elevatorlab-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/sources"
"$here/../debian-sources.sh" "$suite" "$work/sources" >"$work/listed"
mapfile -t sources <"$work/listed"
# A pattern, since apt takes one that matches nothing: the component may not be there.
packages=$(sed -E 's/^([^ #]+).*# non-free.*/?exact-name(\1)/; s/#.*//' "$here/../packages.txt" |
    xargs | tr ' ' ,)

"$here/../kernel/build.sh" "$work/modules" || fail "our kernel modules could not be built (see above)."
release=$(cat "$work/modules/release")

echo "deterministic image: installing Debian packages (1 to 3 minutes)"
# Left out: documentation, translations, drivers for hardware that the machine lacks, what
# only a machine with systemd and a network uses (this one starts guest.py), the hook that
# would build Debian's own initramfs, and what differs from one building machine or run to
# the next (package sources, resolver, host name, keys, byte code that carries a time, and
# what systemd prepares only where it finds /proc). Our driver goes where depmod looks first;
# it has a name of its own, so Debian's stays loadable.
# QEMU is for virtual machines inside. Left out of it: what emulates other machines or shows a screen.
# Packages make users and groups in the order in which they are configured, which differs from one
# version of apt to the next. So they are there before.
# Where fakechroot stands in for a user namespace, systemd's programs find their own library
# only if the loader is told of its folder while they are installed.
private_libraries=/usr/lib/x86_64-linux-gnu/systemd
# The hook: without it an essential package would be satisfied by usrmerge, with all of perl,
# before mmdebstrap comes to usr-is-merged in packages.txt.
mmdebstrap --quiet --variant=apt --components=main,non-free --include="$packages,busybox-static,linux-image-$release,qemu-system-x86" \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --setup-hook='cp '"$work/sources/preferences"' "$1"/etc/apt/preferences' \
    --setup-hook='mkdir -p "$1"/etc/ld.so.conf.d "$1"'$private_libraries \
    --setup-hook='echo '$private_libraries' >"$1"/etc/ld.so.conf.d/systemd.conf' \
    --essential-hook='cat '"$here/passwd"' >>"$1/etc/passwd" && cat '"$here/group"' >>"$1/etc/group"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/ca-certificates/*' \
    --dpkgopt='path-exclude=/usr/share/mysql/*/errmsg.sys' \
    --dpkgopt='path-include=/usr/share/mysql/english/errmsg.sys' \
    --dpkgopt='path-exclude=/usr/bin/qemu-system-i386' \
    --dpkgopt='path-exclude=/usr/share/qemu/edk2*' \
    --dpkgopt='path-exclude=/usr/share/qemu/firmware/*' \
    --dpkgopt='path-exclude=/usr/share/qemu/keymaps/*' \
    --dpkgopt='path-exclude=/usr/share/icons/*' \
    --dpkgopt='path-exclude=/usr/share/alsa/*' \
    --dpkgopt='path-exclude=/usr/share/drirc.d/*' \
    --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/gpu/*' \
    --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/media/*' \
    --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/net/ethernet/*' \
    --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/net/wireless/*' \
    --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/infiniband/*' \
    --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/iio/*' \
    --dpkgopt='path-exclude=/lib/modules/*/kernel/sound/*' \
    --dpkgopt='path-exclude=/etc/kernel/postinst.d/initramfs-tools' \
    --customize-hook="copy-in $here/metapackage.sh /tmp" \
    --customize-hook='chroot "$1" bash /tmp/metapackage.sh && rm "$1"/tmp/metapackage.sh' \
    --customize-hook='mkdir "$1"/lib/modules/'"$release"'/updates' \
    --customize-hook="copy-in $work/modules/nvme-tcp-one-send.ko /lib/modules/$release/updates" \
    --customize-hook='chroot "$1" depmod '"$release" \
    --customize-hook='chroot "$1" dpkg-query -W -f "\${Package}\t\${Version}\n" >"$1"/packages.tsv' \
    --customize-hook='copy-out /boot /packages.tsv '"$work" \
    --customize-hook='rm -rf "$1"/packages.tsv "$1"/boot/* "$1"/var/log/* "$1"/var/cache/* "$1"/var/lib/apt/lists/*' \
    --customize-hook='rm -rf "$1"/etc/apt/sources.list* "$1"/etc/apt/preferences "$1"/etc/resolv.conf "$1"/usr/share/python3/debpython/__pycache__' \
    --customize-hook='rm -rf "$1"/etc/ssh/ssh_host_* "$1"/etc/machine-id "$1"/usr/lib/udev/hwdb*' \
    --customize-hook='rm "$1"/etc/ld.so.conf.d/systemd.conf && chroot "$1" ldconfig' \
    --customize-hook='rm -rf "$1"/etc/mtab "$1"/root/.ssh "$1"/run/* "$1"/var/lib/private "$1"/var/lib/systemd' \
    --customize-hook='chroot "$1" pwconv && chroot "$1" grpconv' \
    --customize-hook='rm -f "$1"/etc/passwd- "$1"/etc/group- "$1"/etc/shadow- "$1"/etc/gshadow- \
        "$1"/var/lib/apt/extended_states "$1"/var/lib/dpkg/*-old' \
    --customize-hook='echo elevatorlab >"$1"/etc/hostname && chmod 644 "$1"/etc/hostname' \
    --customize-hook='mkdir -p "$1"/usr/lib/elevatorlab' \
    --customize-hook='copy-in '"$here/guest.py $here/boot.py $here/outer.py $here/inner.py"' /usr/lib/elevatorlab' \
    "$suite" "$work/root.tar" "${sources[@]}" </dev/null >"$work/log" 2>&1 ||
    fail "mmdebstrap failed; its last lines:" "$(tail -n 15 "$work/log")"

echo "deterministic image: kernel and initramfs"
kernel=$(basename "$work"/boot/vmlinuz-*)
version=${kernel#vmlinuz-}
# Only what reaches the root: nvdimm memory, ext4 on it, an overlay above it.
modules="libnvdimm nfit nd_btt nd_pmem crc16 mbcache jbd2 crc32c_generic ext4 overlay"
mkdir -p "$work"/initramfs/{bin,dev,lib,root}
firmware=(seabios/bios-256k.bin qemu/linuxboot_dma.bin qemu/kvmvapic.bin)
tar -xf "$work/root.tar" -C "$work" --wildcards "*lib/modules/$version/kernel/*" '*bin/busybox' \
    "${firmware[@]/#/./usr/share/}"
find "$work" -path '*/initramfs' -prune -o -type f -name busybox -exec cp {} "$work/initramfs/bin" \;
cp "$here/init" "$work/initramfs/init"
for module in $modules; do
    find "$work" -path "*/modules/*/$module.ko" -exec cp {} "$work/initramfs/lib/" \;
    [ -e "$work/initramfs/lib/$module.ko" ] ||
        fail "kernel $version has no module $module; the root could not be mounted."
done
echo "$modules" >"$work/initramfs/lib/order"
echo "deterministic image: root file system"
# Room for nothing more: the guest writes into memory above it. A whole number of 128 MiB
# blocks, because nvdimm memory is mapped in such units.
bytes=$(stat --format=%s "$work/root.tar")
blocks_128mib=$(((bytes * 21 / 20 >> 27) + 1))
inodes=$(($(tar -tf "$work/root.tar" | wc -l) + 1000))
genext2fs --faketime --allow-holes --block-size 4096 --reserved-percentage 0 \
    --size-in-blocks $((blocks_128mib << 15)) --number-of-inodes "$inodes" \
    --tarball "$work/root.tar" "$work/root.ext2" >/dev/null 2>"$work/log" ||
    fail "genext2fs failed; its last lines:" "$(tail -n 5 "$work/log")"
truncate --size=$((blocks_128mib << 27)) "$work/root.ext2"

cp "$work/boot/$kernel" "$out/vmlinuz"
cp "${firmware[@]/#/$work/usr/share/}" "$work/packages.tsv" "$out"
cp --sparse=always "$work/root.ext2" "$out/root.ext2"
cp -r "$work/initramfs" "$out"
