#!/bin/bash
# Write this machine's Debian package sources into a folder, one file for each file that
# they stand in, and print the files' names: what mmdebstrap takes in place of an address.
#
# usage: debian-sources.sh SUITE FOLDER
#
# Other vendors' entries are left out: they name other suites or components, and need keys
# that a new root does not have. On a machine that is not Debian of that suite nothing is
# printed, and mmdebstrap uses its own default. Each entry gets the component non-free beside
# its own, for what packages.txt marks so: in the new root alone, never on this machine.
set -euo pipefail
suite=$1 folder=$2

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
