#!/bin/sh
# Run a command where udev has this machine's disks but no other rules than the command's own, and
# nobody outside sees them: in mount and network namespaces, with a real systemd-udevd.
#
# usage: unshare --mount --net sh udev_alone.sh COMMAND...
set -eu
mount -t tmpfs none /run
mkdir -p /run/udev /run/empty /etc/udev/rules.d
mount --bind /run/empty /usr/lib/udev/rules.d
mount -t tmpfs none /etc/udev/rules.d
/usr/lib/systemd/systemd-udevd >/dev/null 2>&1 &
udevd=$!
trap 'kill $udevd' EXIT
until [ -e /run/udev/control ]; do sleep 0.02; done
"$@"
