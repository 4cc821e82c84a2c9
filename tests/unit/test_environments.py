"""One recipe, three environments: the same packages, and where they come from."""

import itertools
import os
import subprocess

import pytest

from elevatorlab.paths import ENVIRONMENTS
from package_versions import BOOT, differences, lines


def test_a_difference_is_named():
    one, other = {"fio": "3.33", "crun": "1.8", "cpio": "2"}, {"fio": "3.36", "bash": "5"}
    absent = {"bash": ("absent", "5"), "crun": ("1.8", "absent")}
    assert differences(one, other) == {**absent, "fio": ("3.33", "3.36")}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--exactly"], "expected no argument or --exact, found: --exactly"),
        (["--exact", "now"], "expected no argument or --exact, found: --exact now"),
        (["--exact"], "removes all that is not listed"),
    ],
)
def test_what_would_remove_packages_of_this_machine_is_refused(arguments, said):
    command = ["sh", ENVIRONMENTS / "provision.sh", *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1 and said in run.stderr and run.stdout == ""


def test_each_list_names_a_package_once():
    listed = lines("packages.txt") + BOOT
    assert [name for name, many in itertools.groupby(sorted(listed)) if len(list(many)) > 1] == []


def sources_of(tmp_path, before):
    """Return a Debian's package sources after provision.sh has enabled non-free in them."""
    script = (ENVIRONMENTS / "provision.sh").read_text()
    function = script[script.index("enable_non_free() {") :].partition("\n}\n")[0] + "\n}\n"
    folder = tmp_path / "apt"
    (folder / "sources.list.d").mkdir(parents=True)
    for name, content in before.items():
        (folder / name).write_text(content)
    command = function.replace("/etc/apt", str(folder)) + "enable_non_free\n"
    for _ in range(2):  # the second time nothing is left to do
        subprocess.run(["sh", "-euc", command], check=True)
    return {name: (folder / name).read_text() for name in before}


def test_images_of_ours_get_the_component_non_free_beside_main(tmp_path):
    deb822 = "Types: deb\nSuites: bookworm\nComponents: main\n"
    line = "deb mirror bookworm main contrib\n"
    before = {"sources.list.d/debian.sources": deb822, "sources.list": line}
    after = deb822.replace("main", "main non-free"), line.replace("contrib", "contrib non-free")
    assert tuple(sources_of(tmp_path, before).values()) == after


def test_firmware_alone_is_not_the_component(tmp_path):
    before = "Types: deb\nComponents: main non-free-firmware\n"
    after = sources_of(tmp_path, {"sources.list.d/debian.sources": before})
    assert after["sources.list.d/debian.sources"].endswith("main non-free-firmware non-free\n")


DATE, MIRROR = "20261115T000000Z", "http://mirror.example/archive/"


def sources(folder, **environment):
    """Run the script; return what it did, and the lines that it wrote."""
    names = ("ELEVATORLAB_SNAPSHOT", "ELEVATORLAB_SNAPSHOT_MIRROR")
    others = {name: value for name, value in os.environ.items() if name not in names}
    argv = [ENVIRONMENTS / "debian-sources.sh", "bookworm", folder]
    done = subprocess.run(argv, capture_output=True, text=True, env={**others, **environment})
    lines = [line for file in sorted(folder.iterdir()) for line in file.read_text().splitlines()]
    return done, lines


def dated(folder, date=DATE, mirror=MIRROR):
    return sources(folder, ELEVATORLAB_SNAPSHOT=date, ELEVATORLAB_SNAPSHOT_MIRROR=mirror)


def test_a_date_replaces_this_machines_sources(tmp_path):
    done, lines = dated(tmp_path)
    assert done.stdout.split() == [str(tmp_path / "sources.list")]
    assert [line.partition("] ")[2] for line in lines] == [
        f"{MIRROR}debian/{DATE} bookworm main non-free",
        f"{MIRROR}debian/{DATE} bookworm-updates main non-free",
        f"{MIRROR}debian-security/{DATE} bookworm-security main non-free",
    ]
    assert all("check-valid-until=no" in line for line in lines)


def test_the_stored_results_versions_come_first_unless_a_date_is_named(tmp_path):
    _, lines = sources(tmp_path)
    package, version = (ENVIRONMENTS / "versions.tsv").read_text().splitlines()[0].split("\t")
    at = lines.index(f"Package: {package}")
    assert lines[at + 1 : at + 3] == [f"Pin: version {version}", "Pin-Priority: 1001"]
    dated(tmp_path)
    assert (tmp_path / "preferences").read_text() == ""


def test_without_a_date_the_mirror_means_nothing(tmp_path):
    (tmp_path / "usual").mkdir()
    (tmp_path / "other").mkdir()
    usual, lines = sources(tmp_path / "usual")
    _, found = sources(tmp_path / "other", ELEVATORLAB_SNAPSHOT_MIRROR=MIRROR)
    assert usual.returncode == 0 and found == lines


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *(("date", found) for found in ("2026-11-15", "20261399T000000Z", f"{DATE}\nrest")),
        *(("mirror", found) for found in ("", "mirror.example", "http://mirror.example bookworm")),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(name, found, tmp_path):
    done, lines = dated(tmp_path, **{name: found})
    assert (done.returncode, done.stdout, lines) == (2, "", [])
    assert done.stderr.count("expected ELEVATORLAB_SNAPSHOT") == 1
    assert done.stderr.endswith(f"found '{found}'.\n")


@pytest.mark.parametrize("script", ["deterministic/build.sh", "kernel/build.sh"])
def test_a_recipe_stops_at_a_wrong_date(script, tmp_path):
    """It does not go on with other sources."""
    for name in ("mmdebstrap", "genext2fs"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
        program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    environment |= {"ELEVATORLAB_SNAPSHOT": "today", "ELEVATORLAB_SNAPSHOT_MIRROR": MIRROR}
    argv = [ENVIRONMENTS / script, tmp_path / "out"]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment)
    assert done.returncode and not (tmp_path / "ran").exists()
    assert done.stderr.startswith("debian-sources: expected ELEVATORLAB_SNAPSHOT to be a date")
    assert len(done.stderr.splitlines()) == 1
