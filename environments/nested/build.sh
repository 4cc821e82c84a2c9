#!/bin/bash
# Add to the deterministic machine's image what it needs of Debian's QEMU: the firmware with which the
# machine boots, and, for a virtual machine inside, QEMU, the libraries that the root lacks, and the
# kernel and initramfs of the inner machine. The latter is a file system of its own, which lies above
# the root where it is wanted, so that no other trial has it. The same package versions give the same
# bytes. Needs no root, mounts nothing.
#
# usage: build.sh IMAGE PACKAGES      IMAGE/{vmlinuz,initramfs.cpio} and the packages of QEMU and its
#     libraries -> IMAGE/{nested.ext2,nested.cpio,nested-packages.tsv} and the firmware
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
image=$(cd "$1" && pwd)
packages=$(cd "$2" && pwd)
export LC_ALL=C TZ=UTC
date=1577836800    # 2020-01-01, the guest's own date

fail() {
    printf 'deterministic image: %s\n' "$@" >&2
    exit 1
}
work=$(mktemp -d "${TMPDIR:-/tmp}/elevatorlab-nested.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "deterministic image: file system for virtual machines inside"
mkdir -p "$work/root/boot"
for package in "$packages"/*.deb; do
    dpkg-deb --show --showformat '${Package}\t${Version}\n' "$package"
    dpkg-deb --extract "$package" "$work/root"
done >"$image/nested-packages.tsv"
for file in seabios/bios-256k.bin qemu/{linuxboot_dma,kvmvapic}.bin; do
    cp --dereference "$work/root/usr/share/$file" "$image/"
done
# Left out: documentation, and what emulates other machines or shows a screen.
rm -rf "$work"/root/usr/share/{doc,man,info,locale,lintian,bug,icons,applications,alsa,drirc.d} \
    "$work"/root/usr/bin/qemu-system-i386 "$work"/root/usr/share/qemu/{edk2*,firmware,keymaps} \
    "$work"/root/{etc,var} "$work"/root/usr/lib/systemd "$work"/root/lib/{systemd,udev}
# The image's /lib is a link to /usr/lib.
for folder in bin lib sbin; do
    [ ! -d "$work/root/$folder" ] || { mkdir -p "$work/root/usr/$folder" &&
        cp -a "$work/root/$folder/." "$work/root/usr/$folder/" && rm -rf "$work/root/${folder:?}"; }
done
cp "$image/vmlinuz" "$image/initramfs.cpio" "$work/root/boot/"

find "$work/root" -exec touch --no-dereference --date=@$date {} +
tar --create --sort=name --format=gnu --mtime=@$date --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX --directory "$work/root" --file "$work/root.tar" .
bytes=$(stat --format=%s "$work/root.tar")
blocks_128mib=$(((bytes * 21 / 20 >> 27) + 1))
inodes=$(($(tar -tf "$work/root.tar" | wc -l) + 100))
SOURCE_DATE_EPOCH=$date genext2fs --faketime --allow-holes --block-size 4096 \
    --reserved-percentage 0 --size-in-blocks $((blocks_128mib << 15)) --number-of-inodes "$inodes" \
    --tarball "$work/root.tar" "$work/nested.ext2" >/dev/null 2>"$work/log" ||
    fail "genext2fs failed; its last lines:" "$(tail -n 5 "$work/log")"
truncate --size=$((blocks_128mib << 27)) "$work/nested.ext2"
cp --sparse=always "$work/nested.ext2" "$image/nested.ext2"

# The image's initramfs, and the programs of this machine, which replace some of its files.
mkdir "$work/programs"
cp "$here/init" "$here/outer.py" "$work/programs/"
chmod 755 "$work/programs/init" && chmod 644 "$work/programs/outer.py"
touch --date=@$date "$work"/programs/*
{ cat "$image/initramfs.cpio" && cd "$work/programs" && printf '%s\n' init outer.py |
    cpio --quiet --create --format=newc --reproducible --owner=0:0; } >"$image/nested.cpio"
