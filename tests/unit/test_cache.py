"""The cache of what takes minutes to build: made once, never used damaged, shown and pruned."""

import json
import os
import platform
import shutil
import subprocess
import sys
import threading

import pytest
from filelock import FileLock

from elevatorlab import cache
from elevatorlab.errors import NotReady
from elevatorlab.results.outcome import Outcome
from elevatorlab.testbeds.deterministic import image, repeated_trials
from helpers import cli

DIGEST = "d" * 64


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """Return the folder of an empty cache."""
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    monkeypatch.setenv("ELEVATORLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Recipe:
    """A recipe that counts how often it is followed."""

    def __init__(self):
        self.times = 0

    def __call__(self, folder):
        self.times += 1
        (folder / "deep").mkdir()
        (folder / "deep" / "disk").write_bytes(b"disk" * 1000)
        (folder / "kernel").write_text("kernel")


@pytest.fixture
def recipe():
    return Recipe()


def test_an_entry_is_made_once(recipe):
    first = cache.obtain("thing", DIGEST, recipe)
    assert cache.obtain("thing", DIGEST, recipe) == first
    assert recipe.times == 1 and (first / "kernel").read_text() == "kernel"


def test_another_digest_is_another_entry(recipe):
    first = cache.obtain("thing", DIGEST, recipe)
    assert cache.obtain("thing", "e" * 64, recipe) != first
    assert recipe.times == 2


def test_an_entry_is_made_anew_when_asked(recipe):
    cache.obtain("thing", DIGEST, recipe)
    cache.obtain("thing", DIGEST, recipe, anew=True)
    assert recipe.times == 2 and len(list(cache.entries())) == 1


def put(file, text):
    file.chmod(0o644)
    file.write_text(text)


def cut_short(folder):
    put(folder / "deep" / "disk", "dis")


DAMAGES = {
    "cut short": cut_short,
    "another byte": lambda folder: put(folder / "kernel", "Kernel"),
    "without a file": lambda folder: (folder / "kernel").unlink(),
    "without its index": lambda folder: (folder / "entry.json").unlink(),
    "half an index": lambda folder: put(folder / "entry.json", '{"kernel": '),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_made_again(recipe, damage):
    folder = cache.obtain("thing", DIGEST, recipe)
    damage(folder)
    again = cache.obtain("thing", DIGEST, recipe)
    assert recipe.times == 2 and (again / "kernel").read_text() == "kernel"
    assert (again / "deep" / "disk").stat().st_size == 4000
    (entry,) = cache.entries()
    assert entry.damage(thorough=True) == ""


def test_what_fails_leaves_nothing(recipe):
    def fails(folder):
        recipe(folder)
        raise NotReady("no network; expected one")

    with pytest.raises(NotReady, match="no network"):
        cache.obtain("thing", DIGEST, fails)
    assert list(cache.entries()) == []
    cache.obtain("thing", DIGEST, recipe)
    assert recipe.times == 2


def test_what_a_killed_process_left_is_not_used(recipe, root):
    half = root / "thing" / f"{DIGEST}.part"
    half.mkdir(parents=True)
    (half / "kernel").write_text("half of it")
    folder = cache.obtain("thing", DIGEST, recipe)
    assert (folder / "kernel").read_text() == "kernel" and not half.exists()


def test_two_at_once_make_one(recipe):
    """The second asks while the first is at it, and gets the same folder."""
    making, asked, found = threading.Event(), threading.Event(), []

    def slowly(folder):
        making.set()
        asked.wait(60)
        recipe(folder)

    def ask():
        found.append(cache.obtain("thing", DIGEST, slowly))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    threads[0].start()
    assert making.wait(60)
    threads[1].start()
    threads[1].join(0.5)  # without a lock it makes one, too, in this time
    asked.set()
    for thread in threads:
        thread.join()
    assert recipe.times == 1 and len(found) == 2 and found[0] == found[1]


PROCESS = """
import sys
import time
from pathlib import Path
from elevatorlab import cache

def make(folder):
    with open(sys.argv[1], "a") as ledger:
        ledger.write("made\\n")
    time.sleep(1)  # for as long, others ask
    (folder / "kernel").write_text("kernel")

assert (cache.obtain("thing", "d" * 64, make) / "kernel").read_text() == "kernel"
"""


def test_so_do_processes(tmp_path):
    ledger = tmp_path / "ledger"
    several = [subprocess.Popen([sys.executable, "-c", PROCESS, ledger]) for _ in range(4)]
    assert [process.wait() for process in several] == [0] * 4
    assert ledger.read_text() == "made\n"


@pytest.mark.parametrize("same_disk", [True, False], ids=["links", "copies"])
def test_files_are_taken_out(recipe, tmp_path, monkeypatch, same_disk):
    if not same_disk:

        def refuse(source, target):
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
    entry = cache.obtain("thing", DIGEST, recipe)
    cache.take_out(entry, tmp_path / "build")
    taken = [str(path.relative_to(tmp_path / "build")) for path in (tmp_path / "build").rglob("*")]
    assert sorted(taken) == ["deep", "deep/disk", "kernel"]
    assert (tmp_path / "build" / "kernel").samefile(entry / "kernel") == same_disk
    cache.prune(everything=True)
    assert (tmp_path / "build" / "deep" / "disk").read_bytes() == b"disk" * 1000


class TestPrune:
    def test_what_was_used_lately_stays(self, recipe):
        cache.obtain("thing", DIGEST, recipe)
        assert cache.prune() == [] and len(list(cache.entries())) == 1

    def test_what_nobody_has_used_goes(self, recipe):
        folder = cache.obtain("thing", DIGEST, recipe)
        os.utime(folder / "entry.json", (0, 0))
        assert [entry.digest for entry in cache.prune()] == [DIGEST]
        assert list(cache.entries()) == []

    def test_use_makes_it_young_again(self, recipe):
        folder = cache.obtain("thing", DIGEST, recipe)
        os.utime(folder / "entry.json", (0, 0))
        cache.obtain("thing", DIGEST, recipe)
        assert cache.prune() == []

    def test_what_is_damaged_or_half_made_goes(self, recipe, root):
        cut_short(cache.obtain("thing", DIGEST, recipe))
        (root / "thing" / ("e" * 64 + ".part")).mkdir()
        assert len(cache.prune()) == 2
        assert list((root / "thing").iterdir()) == []

    def test_what_is_being_made_stays(self, recipe):
        def make(folder):
            recipe(folder)
            removed.extend(cache.prune(everything=True))

        removed = []
        folder = cache.obtain("thing", DIGEST, make)
        assert removed == [] and (folder / "kernel").exists()

    def test_nor_does_what_its_maker_has_compiled_so_far(self, recipe):
        def make(folder):
            work.mkdir()
            removed.extend(cache.prune(everything=True))
            recipe(folder)

        work, removed = cache.work_folder("thing", DIGEST), []
        cache.obtain("thing", DIGEST, make)
        assert removed == [] and work.exists()
        (_, left) = cache.entries()
        assert left.damage() == "is being built, or was interrupted"
        assert cache.prune() == [left]


class TestCommand:
    def test_it_is_shown(self, recipe, root):
        cache.obtain("image", DIGEST, recipe)
        shown = cli("cache", "--all").stdout
        assert "image" in shown and DIGEST[:12] in shown and f"entries: 1, in {root}" in shown

    def test_entries_of_a_kind_share_a_row(self, recipe, root):
        for digest in (DIGEST, "e" * 64):
            cut_short(cache.obtain("claims", digest, recipe))
        shown = cli("cache").stdout
        (row,) = [line.split() for line in shown.splitlines() if "claims" in line]
        assert row[1::2][:3] == ["claims", "2", "0.0"] and "another size" in shown
        assert DIGEST[:12] not in shown and f"entries: 2, in {root}" in shown

    def test_it_is_shown_to_machines(self, recipe):
        cut_short(cache.obtain("image", DIGEST, recipe))
        (entry,) = json.loads(cli("cache", "--json").stdout)
        assert (entry["kind"], entry["digest"]) == ("image", DIGEST)
        assert entry["size_bytes"] > 0 and entry["damage"].startswith("deep/disk")

    def test_it_is_pruned(self, recipe):
        cache.obtain("image", DIGEST, recipe)
        assert "removed in all: 0," in cli("cache", "prune").stdout
        (removed,) = json.loads(cli("cache", "prune", "--all", "--json").stdout)
        assert removed == {"kind": "image", "digest": DIGEST}
        assert list(cache.entries()) == []


@pytest.fixture
def small_recipe(tmp_path, monkeypatch):
    """Let the image be small files; return a file with a line for each time it is built."""
    ledger, recipe = tmp_path / "ledger", tmp_path / "recipe"
    recipe.mkdir()
    files = " ".join(f'"$1/{name}"' for name in image.FILES)
    (recipe / "build.sh").write_text(
        f"#!/bin/sh\necho built >>{ledger}\n"
        f'mkdir "$1/initramfs"; for file in {files}; do echo content >$file; done\n'
        f'printf "fio\\t3.33\\n" >"$1/{image.PACKAGES}"\n'
    )
    (recipe / "build.sh").chmod(0o755)
    monkeypatch.setattr(image, "RECIPE", recipe)
    monkeypatch.setattr(image, "recipe_digest", lambda: DIGEST)
    return ledger


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a function that moves on to a checkout with an empty build folder."""

    def move_to(name):
        monkeypatch.setattr(image, "BUILD", tmp_path / name)
        monkeypatch.setattr(image, "FOLDER", tmp_path / name / "image")

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    return move_to


def test_a_second_checkout_takes_the_image_from_the_cache(small_recipe, checkout):
    checkout("one")
    assert image.build() and not image.build()
    first = image.current()
    checkout("two")
    assert image.build() and image.current() == first
    assert first["packages"] == {"fio": "3.33"}
    assert small_recipe.read_text() == "built\n"


def test_another_processor_cannot_build_the_image_and_takes_it(
    small_recipe, checkout, monkeypatch, error_of
):
    checkout("one")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(platform, "machine", lambda: "aarch64")
        said = error_of(image.build)
    assert said.startswith(
        "the deterministic image is built on x86_64 alone; this machine is aarch64"
    )
    assert said.endswith("elevatorlab image import FILE)") and not small_recipe.exists()
    image.build()
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    checkout("two")
    assert image.build() and not image.build()


def test_newer_packages_are_taken_when_asked(small_recipe, checkout):
    checkout("one")
    image.build()
    assert image.build(force=True)
    assert small_recipe.read_text() == "built\nbuilt\n"


def test_an_image_of_a_date_is_built_once_and_named(small_recipe, checkout, monkeypatch):
    checkout("one")
    image.build()
    monkeypatch.setenv(image.SNAPSHOT, "20261115T000000Z")
    assert image.build() and not image.build()
    assert image.current()["snapshot"] == "20261115T000000Z"
    monkeypatch.setenv(image.SNAPSHOT, "20261116T000000Z")
    assert image.build()
    checkout("two")
    monkeypatch.setenv(image.SNAPSHOT, "20261115T000000Z")
    assert image.build() and image.current()["snapshot"] == "20261115T000000Z"
    assert small_recipe.read_text() == "built\n" * 3


def test_without_a_date_an_image_of_any_date_will_do(small_recipe, checkout, monkeypatch):
    checkout("one")
    monkeypatch.setenv(image.SNAPSHOT, "20261115T000000Z")
    image.build()
    monkeypatch.delenv(image.SNAPSHOT)
    assert not image.build()


def test_an_image_whose_cached_files_are_damaged_is_built_again(small_recipe, checkout):
    checkout("one")
    image.build()
    (entry,) = cache.entries()
    put(entry.folder / "vmlinuz", "CONTENT\n")
    shutil.rmtree(image.FOLDER)
    image.build()
    assert small_recipe.read_text() == "built\nbuilt\n"
    assert (image.FOLDER / "vmlinuz").read_text() == "content\n"


LOCKED = "from elevatorlab.testbeds.deterministic import image\nwith image.lock(): print('locked')"


def locking(build):
    """Start a process that takes the lock of the image in the folder `build`."""
    environment = {**os.environ, "ELEVATORLAB_BUILD": str(build)}
    return subprocess.Popen(
        [sys.executable, "-c", LOCKED], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_a_linked_image_has_one_lock(tmp_path):
    mine, linked, other = (tmp_path / name for name in ("mine", "linked", "other"))
    for build in (mine, linked, other):
        build.mkdir()
    (mine / "image").mkdir()
    (linked / "image").symlink_to(mine / "image")
    with FileLock(mine / "image.lock"):
        waits = locking(linked)
        # A process that shares no image is not held up, and shows how long a start takes.
        assert locking(other).communicate(timeout=60)[0] == "locked\n"
        assert waits.poll() is None
    assert waits.communicate(timeout=60)[0] == "locked\n"


def test_an_image_that_is_not_there_yet_has_a_lock(tmp_path):
    assert locking(tmp_path / "new").communicate(timeout=60)[0] == "locked\n"
    assert (tmp_path / "new" / "image.lock").exists()


def test_an_outcome_of_another_machine_is_not_taken(make_trial):
    def outcome(machine, run):
        made = Outcome({"result.json": run}, {})
        return repeated_trials.outcome(machine, make_trial(), lambda: made).files["result.json"]

    assert [outcome("one", b"1"), outcome("other", b"2"), outcome("one", b"3")] == [
        b"1",
        b"2",
        b"1",
    ]
