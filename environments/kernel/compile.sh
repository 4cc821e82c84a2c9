#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs in the root that build.sh makes; everything of ours is in /build.
set -euo pipefail
cd /build
mkdir out
release=$(basename /lib/modules/*)
headers=$(dpkg-query -S "/lib/modules/$release/build" | cut -d: -f1)
packaged=$(dpkg-query -W -f '${Version}' "$headers")
# A private header of another version could lay a structure out differently, silently. Debian's
# archive has a new version of the sources some days before the headers of the same version.
apt-get install --quiet --yes --no-install-recommends "linux-source-6.1=$packaged"
tar -xJf /usr/src/linux-source-6.1.tar.xz --strip-components=1 \
    linux-source-6.1/block linux-source-6.1/drivers/nvme/host

# The stock driver with one change (see nvme-tcp/README.md).
cp drivers/nvme/host/{tcp.c,*.h} nvme-tcp
(cd nvme-tcp && patch --strip=4 --fuzz=0 <one-send.patch)

compile() { # FOLDER MODULE
    # make looks for a file by a pattern, which fakechroot does not translate, or takes this name.
    cp "/build/$1/Kbuild" "/build/$1/Makefile"
    make --silent -C "/lib/modules/$release/build" M="/build/$1" \
        KCPPFLAGS="-I/build/block -I/build/include" modules
    strip --strip-debug "/build/$1/$2.ko"
    install -m 644 "/build/$1/$2.ko" out
}
for folder in schedulers/*/; do
    compile "$folder" "$(basename "$folder")-iosched"
done
compile nvme-tcp nvme-tcp-one-send
echo "$release" >out/release
dpkg-query -W -f '${Package}\t${Version}\n' >out/packages.tsv
