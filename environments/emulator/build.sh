#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Build the emulator of the deterministic machine: QEMU with the changes beside this script (README.md).
#
# usage: build.sh OUT WORK [ARCHIVE]     OUT/qemu-system-x86_64, OUT/version
#
# What has been done stays in WORK, and is not done again. ARCHIVE has QEMU's sources, as `configuration`
# pins them; without it, they come from where this machine takes its Debian packages. CC and CFLAGS may
# name another compiler, and how it optimises: the emulated machine computes the same. For another kind of
# processor, CROSS_PREFIX is the prefix of the cross-compiler's tools (aarch64-linux-gnu-), and CROSS_RUN
# the command that runs what they make; PKG_CONFIG, PKG_CONFIG_LIBDIR and PKG_CONFIG_SYSROOT_DIR lead to
# its libraries.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mkdir -p "$2" && cd "$2" && pwd)
given=${3:-}
. "$here/configuration"
export LC_ALL=C TZ=UTC CC=${CC:-${CROSS_PREFIX:-}gcc} CFLAGS=${CFLAGS:--O2}

fail() {
    printf 'emulator: %s\n' "$@" >&2
    exit 1
}

check() {
    local found
    found=$(sha256sum <"$1")
    [ "${found%% *}" = "$sha256" ] ||
        fail "expected $archive with SHA-256 $sha256; $1 has ${found%% *}. Name the right file: make setup SOURCE=FILE"
}

# Where this machine's Debian package sources are, one address a line.
addresses() {
    local folder
    folder=$(mktemp -d)
    "$here/../debian-sources.sh" "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" "$folder" >/dev/null
    find "$folder" -type f -exec sed -nE \
        -e 's/^URIs: *([^ ]+).*/\1/p' -e 's/^deb +(\[[^]]*\] +)?([^ ]+).*/\2/p' {} + | sort -u
    rm -r "$folder"
}

fetch() {
    local address
    echo "emulator: fetching QEMU's sources (38 MiB)"
    for address in $(addresses); do
        /usr/lib/apt/apt-helper download-file "${address%/}/pool/main/q/qemu/$archive" \
            "$work/$archive" "SHA256:$sha256" >/dev/null 2>&1 && return
    done
    fail "this machine's package sources have no $archive. One of these helps:" \
        "  - fetch it elsewhere (snapshot archives of Debian keep it), and name it: make setup SOURCE=FILE" \
        "  - take emulator and image from another machine: .venv/bin/elevatorlab image import FILE" \
        "  - use this machine's own QEMU, whose results have another digest and maybe other bits:" \
        "    export ELEVATORLAB_QEMU=qemu-system-x86_64"
}

# Do a step once.
step() {
    [ ! -e "$work/$1.done" ] || return 0
    "$1"
    touch "$work/$1.done"
}

unpack() {
    if [ -z "$given" ]; then
        [ -e "$work/$archive" ] || fetch
        given=$work/$archive
    fi
    check "$given"
    rm -rf "$work/src"
    mkdir "$work/src"
    tar -xJf "$given" -C "$work/src" --strip-components=1
    for change in "$here"/*.patch; do
        patch --quiet --directory="$work/src" --strip=1 <"$change"
    done
    # Debian's archive comes without the firmware that this would unpack; the image has what we need.
    sed -i 's/unpack_edk2_blobs = bzip2.found()/unpack_edk2_blobs = false/' \
        "$work/src/meson.build"
    printf 'CONFIG_%s=y\n' "${devices[@]}" >"$work/src/configs/devices/x86_64-softmmu/elevatorlab.mak"
}

configure() {
    rm -rf "$work/out" "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --require-hashes --no-deps -r "$here/meson.txt"
    mkdir "$work/out"
    # plain: CFLAGS decide.
    (cd "$work/out" && ../src/configure --python="$work/venv/bin/python" --disable-download \
        --cc="$CC" ${CROSS_PREFIX:+"--cross-prefix=$CROSS_PREFIX"} \
        "${options[@]}" -Doptimization=plain) >"$work/log" 2>&1 || {
        tail -n 15 "$work/log" >&2
        fail "QEMU could not be configured; its last lines stand above, all of them in $work/log."
    }
}

# Say every tenth step of ninja's. Not with awk, since Debian's waits until it has read a lot.
tell_tenths() {
    local line done=0 all tenths=0
    while read -r line; do
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
        [ $((10 * done / all)) -gt $tenths ] || continue
        tenths=$((10 * done / all))
        echo "emulator: ${tenths}0 % ($done of $all steps)"
    done
}

compile() {
    echo "emulator: compiling (2 to 5 minutes on two idle cores; what is compiled stays when stopped)"
    NINJA_STATUS='[%f/%t] ' ninja -C "$work/out" qemu-system-x86_64 2>&1 |
        tee "$work/log" | tell_tenths || {
        tail -n 15 "$work/log" >&2
        fail "QEMU could not be compiled; its last lines stand above, all of them in $work/log."
    }
}

[ -z "$given" ] || check "$given"
for tool in "$CC" ninja patch pkg-config xz; do
    command -v "$tool" >/dev/null ||
        fail "the command $tool is missing; environments/host-setup.sh installs it."
done
step unpack
step configure
compile
"${CROSS_PREFIX:-}strip" -o "$out/qemu-system-x86_64" "$work/out/qemu-system-x86_64"
${CROSS_RUN:-} "$out/qemu-system-x86_64" --version | head -n 1 >"$out/version"
rm -rf "$work"
