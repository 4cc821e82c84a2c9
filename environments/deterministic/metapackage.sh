#!/bin/bash
# Runs in the new root: install Debian's metapackage for the kernel that is there.
# Debian drops an older kernel's metapackage at once, and the kernel itself months later. The newest
# metapackage differs in the kernel's name and versions alone: with the older ones in their place
# it gives the same bits as the older one did.
set -euo pipefail
cd "$(mktemp -d)"
apt-get download --quiet linux-image-amd64
dpkg-deb --raw-extract ./*.deb package

kernel=linux-image-$(basename /lib/modules/*)
newest=$(dpkg-deb --field ./*.deb Depends)
newest=${newest%% *}
find package -type f -exec sed -i \
    -e "s/${newest#linux-image-}/${kernel#linux-image-}/g" \
    -e "s/$(dpkg-deb --field ./*.deb Version)/$(dpkg-query -W -f '${Version}' "$kernel")/g" \
    -e "s/$(dpkg-deb --show --showformat='${source:Version}' ./*.deb)/$(dpkg-query -W -f '${source:Version}' "$kernel")/g" \
    {} +
(cd package && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
dpkg-deb --build package linux-image-amd64.deb
dpkg --install linux-image-amd64.deb
rm -rf "$PWD"
