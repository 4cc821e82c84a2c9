#!/bin/bash
# Write this machine's Debian package sources into a folder, one file for each file that
# they stand in, and print the files' names: what mmdebstrap takes in place of an address.
# FOLDER/preferences is for apt in the new root: the versions in versions.tsv come first, so
# that a machine set up after a security update still gets the image of the stored results.
# A version that the archive no longer has is passed over.
#
# usage: debian-sources.sh SUITE FOLDER
#
# Other vendors' entries are left out: they name other suites or components, and need keys
# that a new root does not have. On a machine that is not Debian of that suite nothing is
# printed, and mmdebstrap uses its own default. Each entry gets the component non-free beside
# its own, for what packages.txt marks so: in the new root alone, never on this machine.
#
# With ELEVATORLAB_SNAPSHOT=20261115T000000Z the sources are those of a dated archive instead. It is
# at ELEVATORLAB_SNAPSHOT_MIRROR (docs/explanation/determinism.md says what is there).
set -euo pipefail
suite=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
snapshot=${ELEVATORLAB_SNAPSHOT:-} mirror=${ELEVATORLAB_SNAPSHOT_MIRROR:-}

fail() {
    echo "debian-sources: $*" >&2
    exit 2
}

# A dated archive is signed for the days after its date alone: apt is told not to look at that.
dated_sources() {
    local spelled=${snapshot:0:4}-${snapshot:4:2}-${snapshot:6:2}T${snapshot:9:2}:${snapshot:11:2}:${snapshot:13:2}Z
    [[ $snapshot =~ ^[0-9]{8}T[0-9]{6}Z$ ]] && date -ud "$spelled" >/dev/null 2>&1 ||
        fail "expected ELEVATORLAB_SNAPSHOT to be a date such as 20261115T000000Z; found '$snapshot'."
    [[ $mirror =~ ^https?://[^[:space:]]+$ ]] ||
        fail "expected ELEVATORLAB_SNAPSHOT_MIRROR to be the http or https address below which" \
            "debian/$snapshot and debian-security/$snapshot are; found '$mirror'."
    local archive=${mirror%/}/debian/$snapshot security=${mirror%/}/debian-security/$snapshot
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg
    local options="check-valid-until=no"
    [ ! -r $keys ] || options+=" signed-by=$keys"
    echo "deb [$options] $archive $suite main non-free"
    echo "deb [$options] $archive $suite-updates main non-free"
    echo "deb [$options] $security $suite-security main non-free"
}
if [ -n "$snapshot" ]; then
    lines=$(dated_sources)
    echo "$lines" >"$folder/sources.list"
    : >"$folder/preferences"
    echo "$folder/sources.list"
    exit
fi
awk '{ printf "Package: %s\nPin: version %s\nPin-Priority: 1001\n\n", $1, $2 }' \
    "$here/versions.tsv" >"$folder/preferences"

entries() {
    awk -v suite="$suite" '
        function wanted(list, pattern,   words, n, i) {
            n = split(list, words, " ")
            for (i = 1; i <= n; i++) if (words[i] !~ pattern) return 0
            return n > 0
        }
        function debian(suites, components) {
            return wanted(suites, "^" suite "(-updates|-security|-backports)?$") &&
                wanted(components, "^(main|contrib|non-free|non-free-firmware)$")
        }
        '"$1"
}
if [ -r /etc/apt/sources.list ]; then
    entries '/^deb / {
        line = $0
        sub(/^deb +(\[[^]]*\] +)?[^ ]+ +/, "", line)    # leaves: suite component ...
        split(line, words, " "); components = line; sub(/^[^ ]+/, "", components)
        if (debian(words[1], components)) print
    }' </etc/apt/sources.list >"$folder/sources.list"
fi
if [ -r /etc/apt/sources.list.d/debian.sources ]; then
    sed '/^#/d' /etc/apt/sources.list.d/debian.sources |
        entries 'BEGIN { RS = ""; FS = "\n"; ORS = "\n\n" } {
            split("", field)
            for (i = 1; i <= NF; i++) {
                name = value = $i
                sub(/:.*/, "", name); sub(/^[^:]*:/, "", value)
                field[tolower(name)] = value
            }
            if (tolower(field["enabled"]) !~ /no/ && field["types"] ~ /deb( |$)/ &&
                debian(field["suites"], field["components"])) print
        }' >"$folder/debian.sources"
fi
find "$folder" -maxdepth 1 -type f -name '*sources*' -empty -delete
find "$folder" -maxdepth 1 -type f -name '*sources*' -exec \
    sed -i -E '/^(deb |Components:)/{/ non-free( |$)/!s/ *$/ non-free/}' {} +
find "$folder" -maxdepth 1 -type f -name '*sources*' | sort
