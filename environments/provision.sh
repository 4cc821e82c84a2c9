#!/bin/sh
# Turn a Debian 12 into the environment that trials run in: what packages.txt lists.
#
#     provision.sh             install what is missing of what trials run (the upper part of
#                              packages.txt); upgrade nothing, remove nothing, and leave the
#                              package sources alone: what is marked non-free there comes only
#                              where its owner has enabled that component
#     provision.sh --exact     for images and VMs of ours only: afterwards the installed
#                              packages are those that Debian marks as essential, those of
#                              packages.txt and their dependencies, and not one more, each in
#                              the version of versions.tsv, or, where the archive no longer
#                              has that one, in the newest; whatever the base came with goes,
#                              and the component non-free is enabled beside main.
#                              Kernel and boot loader (boot-packages.txt) stay as they are.
#
# Needs root. packages.txt, versions.tsv and boot-packages.txt lie beside this file.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# What --exact left behind last time, and by which recipe; see settled().
stamp=/var/lib/elevatorlab/provisioned
# An option of apt's; see prefer_versions().
preferences=

fail() {
    printf 'provision: %s\n' "$@" >&2
    exit 1
}

names_in() { sed 's/#.*//' "$here/$1" | xargs; }

non_free() { sed -n 's/^\([^ #]*\).*# non-free.*/\1/p' "$here/packages.txt" | xargs; }

names_for_hosts() { sed '/^# ---- Below/,$d; s/#.*//' "$here/packages.txt" | xargs; }

installed() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p'; }

# Wait for the lock: on a freshly started machine apt is often busy with itself.
# Dpkg::Use-Pty: no progress bars. confold: configuration that exists is kept, unasked.
apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold $preferences "$@" </dev/null
}

# In this run alone: what is installed on top later comes in the versions that go together then.
prefer_versions() {
    mkdir -p "${stamp%/*}"
    sed -E 's/(.*)\t(.*)/Package: \1\nPin: version \2\nPin-Priority: 1001\n/' \
        "$here/versions.tsv" >"${stamp%/*}/preferences"
    preferences="-o Dir::Etc::preferences=${stamp%/*}/preferences"
}

# Add non-free to the entries that have main: these images have Debian's own entries alone.
enable_non_free() {
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
        /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed -i -E \
            '/^(deb |Components:).* main( |$)/{/ non-free( |$)/!s/ *$/ non-free/}' "$file"
    done
}

# The non-free packages that are neither here nor offered: they are done without, and said so.
not_to_be_had() {
    for package in $(non_free); do
        installed | grep -qxF "$package" || apt-cache show "$package" >/dev/null 2>&1 ||
            echo "$package"
    done
}

say_what_lacks() {
    [ -z "$1" ] || echo "provision: left out:" $1 "(expected Debian's component non-free in the" \
        "package sources, found it missing; add it there, beside main, and run this again)"
}

# NAME=VERSION of every package of the environment, in the order of installation. apt is
# asked what it would install on an empty system, so the answer does not depend on what
# this one has, only on the package sources.
closure() {
    apt --simulate -o Dir::State::status=/dev/null -o Dir::State::extended_states=/dev/null \
        install --no-install-recommends '?essential' $packages |
        sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p'
}

# Kernel and boot loader, if there are any, and all that these need.
boot() {
    patterns=$(names_in boot-packages.txt | tr ' ' '|')
    for package in $(installed); do
        eval "case \$package in $patterns) echo \$package ;; esac"
    done | xargs --no-run-if-empty apt-cache depends --recurse --installed \
        --no-suggests --no-recommends --no-conflicts --no-breaks --no-replaces --no-enhances |
        grep '^[a-z0-9]' || true
}

state() {
    (cd "$here" && cat provision.sh packages.txt versions.tsv boot-packages.txt && dpkg-query -W) | sha256sum
}

# A base that was made by this very recipe, and has not changed since, is ready.
settled() { [ -r $stamp ] && [ "$(state)" = "$(cat $stamp)" ]; }

exact() {
    packages=$(names_in packages.txt)
    if settled; then
        echo "provision: nothing to do"
        return
    fi
    prefer_versions
    enable_non_free
    apt update
    lacking=$(not_to_be_had)
    packages=$(printf '%s\n' $packages | grep -vxF "${lacking:-/}")
    wanted=$(closure)
    [ -n "$wanted" ] || fail "apt offers no packages; expected Debian's in its sources."
    keep="$(printf '%s\n' "$wanted" | sed 's/=.*//') $(boot)"
    # NAME- removes. One transaction, so that nothing needed is missing in between.
    unwanted=$(installed | grep -vxF "$(printf '%s\n' $keep)" | sed 's/$/-/' || true)
    apt install --yes --purge --no-install-recommends --allow-downgrades \
        --allow-remove-essential $wanted $unwanted
    apt-mark auto $(installed) >/dev/null
    apt-mark manual $packages $(boot) >/dev/null
    apt clean
    rm "${stamp%/*}/preferences"
    state >$stamp
    echo "provision: exactly the $(printf '%s\n' "$wanted" | wc -l) packages of the environment"
    say_what_lacks "$lacking"
}

add_missing() {
    missing=$(names_for_hosts | xargs -n 1 | grep -vxF "$(installed)" || true)
    [ -z "$missing" ] || apt update
    lacking=$(not_to_be_had)
    missing=$(printf '%s\n' $missing | grep -vxF "${lacking:-/}" || true)
    if [ -z "$missing" ]; then
        echo "provision: nothing to do"
    else
        echo "provision: installing" $missing
        apt install --yes --no-install-recommends --no-remove --no-upgrade $missing
    fi
    say_what_lacks "$lacking"
}

case $* in
--exact) work=exact ;;
'') work=add_missing ;;
*) fail "expected no argument or --exact, found: $*" ;;
esac
# The four files travel alone into images and VMs; in a checkout, this is somebody's machine.
[ "$work" != exact ] || [ ! -e "$here/../pyproject.toml" ] ||
    fail "--exact removes all that is not listed; expected to be in an image or a VM of ours," \
        "found a checkout. Without --exact, nothing is removed."
[ "$(id -u)" = 0 ] || fail "installing packages needs root; found user $(id -un). Use sudo."
command -v apt-get >/dev/null || fail "expected Debian 12 with apt; found no apt-get here."
$work
