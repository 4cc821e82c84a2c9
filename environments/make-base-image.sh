#!/bin/bash
# Make sure that the image which the Dockerfile's FROM names is there: pull it, or, where
# no registry can be reached, build its equivalent from Debian packages.
#
# The local image keeps this machine's Debian package sources and the certificate
# authorities its administrator added, so that whatever works here (a mirror, a proxy
# that looks inside TLS) works in the container too.
set -euo pipefail

cd "$(dirname "$0")/.."
image=debian:bookworm-slim
suite=bookworm

fail() {
    printf 'make-base-image: %s\n' "$@" >&2
    exit 1
}

docker info >/dev/null 2>&1 ||
    fail "no Docker engine answers; start it (environments/start-docker.sh can) and try again."

if docker image inspect "$image" >/dev/null 2>&1; then
    echo "make-base-image: $image is already there"
    exit
fi
if timeout 120 docker pull --quiet "$image" >/dev/null 2>&1; then
    echo "make-base-image: pulled $image"
    exit
fi
command -v mmdebstrap >/dev/null ||
    fail "$image cannot be pulled, and mmdebstrap, which would build it, is missing:" \
        "    sudo apt-get install mmdebstrap"

mkdir -p build
work=$(mktemp -d build/base-image.XXXXXX)
trap 'rm -rf "$work"' EXIT

environments/debian-sources.sh "$suite" "$work" >"$work/listed"
mapfile -t sources <"$work/listed"

echo "make-base-image: $image cannot be pulled; building it from Debian packages (about 30 s)"
authorities=()
if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    authorities=(
        --customize-hook='copy-in /usr/local/share/ca-certificates /usr/local/share'
        --customize-hook='chroot "$1" update-ca-certificates'
    )
fi
# Like the public image: the smallest Debian, without documentation and translations, with its
# package sources in the files where the public image has them. mmdebstrap puts 0000 before the names.
mmdebstrap --quiet --variant=minbase --include=ca-certificates \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook='cd "$1/etc/apt" && for file in sources.list.d/0000*; do
        case $file in
        *.list) cat "$file" >>sources.list && rm "$file" ;;
        *.sources) mv "$file" sources.list.d/debian.sources ;;
        esac
    done' \
    "${authorities[@]}" "$suite" "$work/base.tar" "${sources[@]}" </dev/null >"$work/log" 2>&1 ||
    fail "mmdebstrap failed; its last lines:" "$(tail -n 15 "$work/log")"

docker import --change 'CMD ["bash"]' --message 'built locally by make-base-image.sh' \
    "$work/base.tar" "$image" >/dev/null
echo "make-base-image: built $image"
