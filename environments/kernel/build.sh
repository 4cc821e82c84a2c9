#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Build our kernel modules for Debian's stock kernel, in a root of its own that is thrown
# away: compiler, headers and sources never touch the machine. The same package versions
# give the same bytes.
#
# usage: build.sh OUT [RELEASE]     OUT/{NAME-iosched,nvme-tcp-one-send}.ko, OUT/{release,packages.tsv}
#
# RELEASE (6.1.0-50-amd64) is the kernel that the modules must fit; without it, that of the stored
# results' image, or else the suite's newest. A module loads only into the kernel that it
# was built for.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
release=${2:-}
suite=bookworm
export SOURCE_DATE_EPOCH=1577836800 LC_ALL=C TZ=UTC

fail() {
    printf 'kernel modules: %s\n' "$@" >&2
    exit 1
}
command -v mmdebstrap >/dev/null ||
    fail "the command mmdebstrap is missing; environments/host-setup.sh installs it."

work=$(mktemp -d "${TMPDIR:-/tmp}/elevatorlab-kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/sources" "$work/out"
"$here/../debian-sources.sh" "$suite" "$work/sources" >"$work/listed"
mapfile -t sources <"$work/listed"

echo "kernel modules: installing Debian's headers, sources and compiler (1 to 2 minutes)"
# The folder in which everything is compiled has the same name in every root: a path in an
# object file is the same, too.
# The kernel itself and not Debian's metapackage, whose older versions the archive drops first.
known=$(sed -n 's/^Package: linux-image-\([0-9]\)/\1/p' "$work/sources/preferences")
headers=linux-headers-${release:-amd64}
[ -n "$release" ] || headers="${known:+linux-headers-$known | }$headers"
mmdebstrap --quiet --variant=apt --format=null \
    --include="gcc-12,make,patch,xz-utils" \
    --setup-hook='cp '"$work/sources/preferences"' "$1"/etc/apt/preferences' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='chroot "$1" apt-get satisfy --quiet --yes --no-install-recommends "'"$headers"'" >&2' \
    --customize-hook='mkdir -p "$1"/build' \
    --customize-hook="copy-in $here/schedulers $here/nvme-tcp $here/compile.sh $here/../module-root/include /build" \
    --customize-hook='chroot "$1" bash /build/compile.sh >&2' \
    --customize-hook="sync-out /build/out $work/out" \
    "$suite" - "${sources[@]}" </dev/null >/dev/null 2>"$work/log" ||
    fail "the build failed (do this machine's Debian sources have $headers?); its last lines:" \
        "$(tail -n 15 "$work/log")"

if [ -n "$release" ] && [ "$(cat "$work/out/release")" != "$release" ]; then
    fail "expected modules for kernel $release, built them for $(cat "$work/out/release")."
fi
cp "$work/out"/* "$out"
