#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Build QEMU with processors that work in parallel rounds (parallel-rounds.patch; README.md).
#
# usage: build.sh OUT WORK [ARCHIVE]     OUT/qemu-system-x86_64, OUT/version
#
# What has been done stays in WORK, and is not done again. ARCHIVE is the pinned archive of QEMU's
# sources; without it, it comes from where this machine takes its Debian packages.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mkdir -p "$2" && cd "$2" && pwd)
archive=${3:-}
name=qemu_10.0.2+ds.orig.tar.xz
sha256=0901da33844a331bf8b3602b9c1fbd178e60b737c8e3ade678255bd090c9b9f1
export LC_ALL=C TZ=UTC

fail() {
    printf 'emulator: %s\n' "$@" >&2
    exit 1
}

check() {
    local found
    found=$(sha256sum <"$1")
    [ "${found%% *}" = $sha256 ] ||
        fail "expected $name with SHA-256 $sha256; $1 has ${found%% *}. Name the right file: make multicore SOURCE=FILE"
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
        /usr/lib/apt/apt-helper download-file "${address%/}/pool/main/q/qemu/$name" \
            "$work/$name" "SHA256:$sha256" >/dev/null 2>&1 && return
    done
    fail "this machine's package sources have no $name any more, or it has none of Debian's." \
        "Fetch it elsewhere (snapshot archives keep it) and name it: make multicore SOURCE=FILE"
}

# Do a step once.
step() {
    [ ! -e "$work/$1.done" ] || return 0
    "$1"
    touch "$work/$1.done"
}

unpack() {
    if [ -z "$archive" ]; then
        [ -e "$work/$name" ] || fetch
        archive=$work/$name
    fi
    check "$archive"
    rm -rf "$work/src"
    mkdir "$work/src"
    tar -xJf "$archive" -C "$work/src" --strip-components=1
    for change in parallel-rounds injected-interrupt; do
        patch --quiet --directory="$work/src" --strip=1 <"$here/$change.patch"
    done
    # Debian's archive comes without the firmware that this would unpack; Debian's packages have it.
    sed -i 's/unpack_edk2_blobs = bzip2.found()/unpack_edk2_blobs = false/' \
        "$work/src/meson.build"
    # The devices of the deterministic machine, and what the PC itself needs.
    printf '%s=y\n' CONFIG_I440FX CONFIG_NVDIMM CONFIG_PVPANIC_ISA CONFIG_ISA_DEBUG \
        >"$work/src/configs/devices/x86_64-softmmu/elevatorlab.mak"
}

configure() {
    echo "emulator: configuring (1 minute)"
    rm -rf "$work/out" "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --require-hashes --no-deps -r "$here/meson.txt"
    mkdir "$work/out"
    (cd "$work/out" && ../src/configure --python="$work/venv/bin/python" --disable-download \
        --target-list=x86_64-softmmu --without-default-features --enable-tcg --enable-system \
        --without-default-devices --with-devices-x86_64=elevatorlab \
        --disable-fdt --disable-install-blobs --disable-werror) >"$work/log" 2>&1 || {
        tail -n 15 "$work/log" >&2
        fail "QEMU could not be configured; its last lines stand above, all of them in $work/log."
    }
}

compile() {
    echo "emulator: compiling (10 minutes on two idle cores; what is compiled stays when stopped)"
    NINJA_STATUS='[%f/%t] ' nice -n 15 ninja -C "$work/out" qemu-system-x86_64 2>&1 |
        tee "$work/log" | awk -F '[][/]' '
            /^\[[0-9]+\/[0-9]+\]/ && int(10 * $2 / $3) > tenths {
                tenths = int(10 * $2 / $3)
                printf "emulator: %d %% (%d of %d steps)\n", 10 * tenths, $2, $3
                fflush()
            }' || {
        tail -n 15 "$work/log" >&2
        fail "QEMU could not be compiled; its last lines stand above, all of them in $work/log."
    }
}

[ -z "$archive" ] || check "$archive"
for tool in gcc ninja patch pkg-config xz; do
    command -v $tool >/dev/null ||
        fail "the command $tool is missing; environments/host-setup.sh multicore-packages.txt installs it."
done
step unpack
step configure
compile
strip -o "$out/qemu-system-x86_64" "$work/out/qemu-system-x86_64"
"$out/qemu-system-x86_64" --version | head -n 1 >"$out/version"
rm -rf "$work"
