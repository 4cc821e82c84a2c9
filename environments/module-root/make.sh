#!/bin/bash
# Make the root in which kernel modules are compiled: Debian's headers of one kernel, what of its
# sources no header package has, and the compiler. The user's cache keeps it
# (lib/elevatorlab/testbeds/deterministic/modules.py).
#
# usage: make.sh OUT RELEASE      OUT/root.tar, OUT/packages.tsv
#
# RELEASE (6.1.0-50-amd64) is the kernel that the modules must fit.
set -euo pipefail
environments=$(cd "$(dirname "$0")/.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
release=$2
suite=bookworm
export SOURCE_DATE_EPOCH=1577836800 LC_ALL=C TZ=UTC

work=$(mktemp -d "${TMPDIR:-/tmp}/elevatorlab-root.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/sources"
"$environments/debian-sources.sh" "$suite" "$work/sources" >"$work/listed"
mapfile -t sources <"$work/listed"

# A private header of another version could lay a structure out differently, silently. Debian's
# archive has a new version of the sources some days before the headers of the same version.
cat >"$work/sources.sh" <<EOF
set -e
headers=\$(dpkg-query -W -f '\${Version}' linux-headers-$release)
apt-get install --quiet --yes --no-install-recommends "linux-source-6.1=\$headers"
cd /usr/src
tar -xJf linux-source-6.1.tar.xz linux-source-6.1/block linux-source-6.1/drivers/nvme/host
rm linux-source-6.1.tar.xz
EOF

echo "module root: installing Debian's headers, sources and compiler (1 to 2 minutes)"
# What no compilation reads goes: the root is unpacked for each one.
mmdebstrap --quiet --variant=apt \
    --include="linux-headers-$release,gcc-12,make,mount,patch,xz-utils" \
    --setup-hook='cp '"$work/sources/preferences"' "$1"/etc/apt/preferences' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="copy-in $work/sources.sh /tmp" \
    --customize-hook='chroot "$1" sh /tmp/sources.sh >&2' \
    --customize-hook='chroot "$1" dpkg-query -W -f "\${Package}\t\${Version}\n" >"$1"/packages.tsv' \
    --customize-hook='copy-out /packages.tsv '"$work" \
    --customize-hook='rm -rf "$1"/packages.tsv "$1"/tmp/* "$1"/var/cache/* "$1"/var/lib/apt/lists/*' \
    --customize-hook='rm -rf "$1"/etc/apt/sources.list* "$1"/etc/apt/preferences "$1"/usr/share/perl* "$1"/usr/lib/*/perl*' \
    --customize-hook='find "$1"/usr -name "*.a" -o -name lto1 -o -name "*-lto-dump-12" -o -name "*.gold" | xargs rm' \
    "$suite" "$work/root.tar" "${sources[@]}" </dev/null >/dev/null 2>"$work/log" || {
    echo "module root: the build failed (do this machine's Debian sources have the headers of" \
        "$release?); its last lines:" >&2
    tail -n 15 "$work/log" >&2
    exit 1
}
cp "$work/root.tar" "$work/packages.tsv" "$out"
