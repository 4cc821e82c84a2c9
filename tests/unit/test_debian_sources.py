"""Where a new root takes its Debian packages from."""

import os
import subprocess

import pytest

from elevatorlab.paths import ENVIRONMENTS

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
        "http://mirror.example/archive/debian/20261115T000000Z bookworm main non-free",
        "http://mirror.example/archive/debian/20261115T000000Z bookworm-updates main non-free",
        "http://mirror.example/archive/debian-security/20261115T000000Z bookworm-security "
        "main non-free",
    ]
    assert all("check-valid-until=no" in line for line in lines)


def test_without_a_date_the_mirror_means_nothing(tmp_path):
    (tmp_path / "usual").mkdir()
    (tmp_path / "other").mkdir()
    usual, lines = sources(tmp_path / "usual")
    _, found = sources(tmp_path / "other", ELEVATORLAB_SNAPSHOT_MIRROR=MIRROR)
    assert usual.returncode == 0 and found == lines


@pytest.mark.parametrize(
    "wrong",
    [
        {"date": "2026-11-15"},
        {"date": "20261399T000000Z"},
        {"date": "20261115T000000Z\nrest"},
        {"mirror": ""},
        {"mirror": "mirror.example"},
        {"mirror": "http://mirror.example bookworm"},
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(wrong, tmp_path):
    done, lines = dated(tmp_path, **wrong)
    assert (done.returncode, done.stdout, lines) == (2, "", [])
    assert done.stderr.count("expected ELEVATORLAB_SNAPSHOT") == 1
    (found,) = wrong.values()
    assert done.stderr.endswith(f"found '{found}'.\n")


@pytest.mark.parametrize("script", ["deterministic/build.sh", "kernel/build.sh"])
def test_a_recipe_stops_at_a_wrong_date(script, tmp_path):
    """It does not go on with other sources."""
    for name in ("mmdebstrap", "genext2fs", "cpio"):
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
