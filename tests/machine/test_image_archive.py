"""An image in one file: taken only when every byte of it is what it is said to be."""

import io
import json
import lzma
import os
import random
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from elevatorlab import cache
from elevatorlab.cli import image as commands
from elevatorlab.errors import ElevatorLabError
from elevatorlab.testbeds.deterministic import emulator_archive, image, image_archive, our_qemu

MIB = 1 << 20


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a function that moves on to a machine with neither an image nor a cache."""
    bios = tmp_path / "bios"
    bios.write_text("bios")
    monkeypatch.setattr(image, "recipe_digest", lambda: "d" * 64)
    monkeypatch.setattr(our_qemu, "digest", lambda: "c" * 64)
    monkeypatch.setattr(emulator_archive, "members", lambda: {"program": bios})

    def move_to(name):
        monkeypatch.setattr(cache, "ROOT", tmp_path / name / "cache")
        monkeypatch.setattr(image, "BUILD", tmp_path / name / "build")
        monkeypatch.setattr(image, "FOLDER", tmp_path / name / "build" / "image")
        image.digest.cache_clear()

    yield move_to
    image.digest.cache_clear()


def small_image(folder, seed=0):
    """Write an image of which no part looks like another, with a hole in its root."""
    draw = random.Random(seed)
    for name, size in (("vmlinuz", 5000), ("initramfs.cpio", 3000)):
        (folder / name).write_bytes(draw.randbytes(size))
    root = draw.randbytes(MIB) + bytes(3 * MIB) + draw.randbytes(1000) + bytes(MIB - 1000)
    (folder / "root.ext2").write_bytes(root)
    for name in image.FILES[3:]:
        (folder / name).write_bytes(draw.randbytes(1000))
    (folder / image.PACKAGES).write_text("fio\t3.33\n")


@pytest.fixture
def exported(checkout, tmp_path):
    """Return the file of a small image; the next machine, which has another one, is at hand."""
    checkout("one")
    image.install(small_image)
    file = image_archive.write(tmp_path)
    checkout("two")
    image.install(lambda folder: small_image(folder, 1))
    return file


def content_of(file):
    """Return name -> content, in order."""
    with tarfile.open(file) as archive:
        return {one.name: archive.extractfile(one).read() for one in archive}


def packed(file, files):
    """Write another archive beside `file`."""
    target = file.with_name("other.tar.xz")
    with tarfile.open(target, "w:xz", preset=0) as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return target


def refused(error_of, file):
    """Return the sentence that a file is refused with; what was there is there as it was."""
    before = image.current(), image.digest(), sorted(cache.ROOT.rglob("*"))
    said = error_of(image_archive.take, file)
    assert (image.current(), image.digest(), sorted(cache.ROOT.rglob("*"))) == before
    assert said.startswith(f"image {file}: ") and "\n" not in said
    return said


def test_an_image_comes_back_as_it_was(exported):
    other = image.digest()
    described = image_archive.take(exported)
    assert described.digest == image.digest() != other
    assert exported.name == f"elevatorlab-image-{image.digest()[:12]}.tar.xz"
    assert image.current()["packages"] == {"fio": "3.33"}
    for name, content in content_of(exported).items():
        if name != image_archive.DESCRIPTION:
            assert (image.FOLDER / name).read_bytes() == content
    assert (image.FOLDER / "root.ext2").stat().st_blocks * 512 < 3 * MIB
    assert image_archive.differing(described) == []


def test_what_came_back_gives_the_same_file(exported, tmp_path):
    image_archive.take(exported)
    (tmp_path / "again").mkdir()
    assert image_archive.write(tmp_path / "again").read_bytes() == exported.read_bytes()


def test_a_second_checkout_then_takes_it_from_the_cache(exported, tmp_path, monkeypatch):
    image_archive.take(exported)
    digest = image.digest()
    monkeypatch.setattr(image, "BUILD", tmp_path / "third")
    monkeypatch.setattr(image, "FOLDER", tmp_path / "third" / "image")
    image.digest.cache_clear()
    assert image.build() and image.digest() == digest


def test_the_digest_stands_for_every_part(exported):
    """The file alone tells what the digest in its name is made of."""
    said = json.loads(content_of(exported)[image_archive.DESCRIPTION])
    assert said["parts"]["emulator"] == ["c" * 64]
    assert image.digest_of(said["parts"]) == said["digest"]
    listed = [said["files"][name]["sha256"] for name in image.FILES]
    assert said["parts"]["files"] == listed


def test_where_no_emulator_is_the_archives_own_is_taken(exported, tmp_path):
    assert not our_qemu.kept().exists()
    image_archive.take(exported)
    assert (our_qemu.kept() / "program").read_text() == "bios"
    assert os.access(our_qemu.kept() / our_qemu.NAME, os.X_OK)


def test_where_an_emulator_is_it_stays(exported):
    cache.obtain(our_qemu.KIND, our_qemu.digest(), lambda folder: (folder / "own").write_text("x"))
    image_archive.take(exported)
    assert (our_qemu.kept() / "own").exists() and not (our_qemu.kept() / "program").exists()


def test_one_for_another_processor_gives_way_to_one_that_is_compiled(
    checkout, tmp_path, monkeypatch
):
    checkout("one")
    header = bytearray(Path(sys.executable).read_bytes()[:64])
    header[18] ^= 1
    (tmp_path / "program").write_bytes(header)
    monkeypatch.setattr(emulator_archive, "members", lambda: {"program": tmp_path / "program"})
    emulator_archive.write(tmp_path / "one.tar")
    monkeypatch.setattr(our_qemu, "_compile", lambda folder, _: (folder / "own").write_text("x"))
    emulator_archive.unpack(tmp_path / "one.tar")
    assert (our_qemu.kept() / "own").exists() and not (our_qemu.kept() / "program").exists()


def test_the_emulator_of_another_version_is_not_taken(exported, monkeypatch, capsys):
    monkeypatch.setattr(our_qemu, "digest", lambda: "e" * 64)
    commands.import_(exported)
    said = capsys.readouterr().out
    assert "What differs here: emulator. So bits may differ" in said
    assert "Check out the version of Elevator Lab that exported it" in said
    assert not our_qemu.kept().exists()


def test_with_another_qemu_nothing_is_exported(exported, tmp_path, monkeypatch, error_of):
    monkeypatch.setenv(our_qemu.OTHER, "my-qemu")
    assert "names my-qemu. Unset ELEVATORLAB_QEMU" in error_of(image_archive.write, tmp_path)


def state():
    """Return what an image in use for a while must leave as it was."""
    files = {one: one.stat().st_mtime_ns for one in image.FOLDER.iterdir()}
    return image.FOLDER, files, image.digest(), sorted(image.BUILD.iterdir()), image.current()


def test_an_image_is_in_use_for_a_while_and_the_one_that_was_here_stays(exported):
    before = state()
    digest = json.loads(content_of(exported)[image_archive.DESCRIPTION])["digest"]
    with image_archive.in_use(exported, {digest, "f" * 64}):
        assert image.digest() == digest != before[2]
        assert image.current()["packages"] == {"fio": "3.33"}
        content = content_of(exported)
        assert [(image.FOLDER / name).read_bytes() for name in image.FILES] == [
            content[name] for name in image.FILES
        ]
    assert state() == before


def not_used(error_of, file, wanted):
    """Return the sentence that a file is refused with, to verify results with these digests."""

    def use():
        with image_archive.in_use(file, wanted):
            pytest.fail("it was used")

    before = state()
    said = error_of(use)
    assert state() == before
    assert said.startswith(f"image {file}: ") and "\n" not in said
    return said


def test_an_image_of_another_digest_is_not_used(exported, error_of):
    digest = json.loads(content_of(exported)[image_archive.DESCRIPTION])["digest"]
    said = not_used(error_of, exported, {"e" * 64, "f" * 64})
    assert f"{'e' * 12} or {'f' * 12}; found {digest[:12]}. Name the file of that digest" in said


def test_a_damaged_image_of_the_right_digest_is_not_used(exported, error_of):
    files = content_of(exported)
    digest = json.loads(files[image_archive.DESCRIPTION])["digest"]
    files["vmlinuz"] = b"x" + files["vmlinuz"][1:]
    said = not_used(error_of, packed(exported, files), {digest})
    assert "expected vmlinuz as it was exported; its SHA-256 is another" in said


@pytest.mark.parametrize(
    ("owner", "name", "differs"),
    [(our_qemu, "digest", "emulator"), (image.agent_archive, "agent_digest", "agent")],
)
def test_an_image_is_not_used_where_something_else_differs(
    exported, error_of, monkeypatch, owner, name, differs
):
    digest = json.loads(content_of(exported)[image_archive.DESCRIPTION])["digest"]
    with monkeypatch.context() as there:
        real = getattr(owner, name)
        there.setattr(owner, name, lambda: real() if image.FOLDER.name == "image" else "a")
        said = not_used(error_of, exported, {digest})
    remedy = "Check out the version of Elevator Lab that exported it"
    assert f"what differs here: {differs}. {remedy}" in said


@pytest.mark.parametrize("name", ["../up", "/up", "link"])
def test_an_emulator_that_would_leave_its_folder_is_refused(name, checkout, tmp_path, error_of):
    checkout("one")
    bad = tmp_path / "emulator.tar"
    with tarfile.open(bad, "w") as archive:
        about = tarfile.TarInfo(name)
        if name == "link":
            about.type, about.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(about, io.BytesIO())
    assert f"found {name}" in error_of(emulator_archive.unpack, bad)
    assert not list(cache.ROOT.rglob("up"))


@pytest.mark.image
def test_the_kept_emulator_takes_nothing_from_the_machine(tmp_path, monkeypatch):
    version = our_qemu.version()
    emulator_archive.write(tmp_path / "one.tar")
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    emulator_archive.unpack(tmp_path / "one.tar")
    kept = our_qemu.ready()
    said = subprocess.run(
        [kept / our_qemu.NAME, "--version"], capture_output=True, text=True, env={}
    )
    assert said.stdout.splitlines()[0] == version == our_qemu.version()
    libraries = kept / emulator_archive.LIBRARIES
    (loader,) = libraries.glob("ld-linux*")
    argv = [loader, "--library-path", libraries, "--list", kept / emulator_archive.PROGRAM]
    listed = subprocess.run(argv, capture_output=True, text=True).stdout
    taken = re.findall(r"=> (\S+) ", listed)
    assert len(taken) > 3 and {Path(one).parent for one in taken} == {libraries}
    emulator_archive.write(tmp_path / "again.tar")
    assert (tmp_path / "again.tar").read_bytes() == (tmp_path / "one.tar").read_bytes()


def test_a_byte_that_changes_on_the_way_is_found(exported):
    """Anywhere in the file: it is refused, or the image is what it was."""
    whole, draw, bent = exported.read_bytes(), random.Random(0), exported.with_name("bent.tar.xz")
    expected = json.loads(content_of(exported)[image_archive.DESCRIPTION])["digest"]
    noticed = 0
    for _ in range(40):
        content = bytearray(whole)
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        bent.write_bytes(content)
        before = image.digest()
        try:
            image_archive.take(bent)
        except ElevatorLabError:
            noticed += 1
            assert image.digest() == before
        else:
            assert image.digest() == expected
    assert noticed >= 35


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99, 0.999999])
def test_a_file_that_is_cut_off_is_refused(exported, share, error_of):
    whole, short = exported.read_bytes(), exported.with_name("short.tar.xz")
    short.write_bytes(whole[: int(len(whole) * share)])
    assert "Copy it again" in refused(error_of, short)


def test_another_content_is_named(exported, error_of):
    files = content_of(exported)
    files["vmlinuz"] = b"x" + files["vmlinuz"][1:]
    said = refused(error_of, packed(exported, files))
    assert "expected vmlinuz as it was exported; its SHA-256 is another" in said


def test_missing_and_additional_files_are_refused(exported, error_of):
    files = content_of(exported)
    more = packed(exported, {**files, "up": b"x"})
    assert "there is more. Do not unpack it" in refused(error_of, more)
    del files["root.ext2"]
    said = refused(error_of, packed(exported, files))
    assert f"expected root.ext2 of {5 * MIB} bytes; it is missing" in said


def test_an_additional_archive_behind_it_is_refused(exported, error_of):
    more = exported.with_name("more.tar.xz")
    more.write_bytes(exported.read_bytes() + lzma.compress(b"x" * 100000))
    assert "there is more. Do not unpack it" in refused(error_of, more)


def described(exported, **changes):
    """Return an archive whose description says something else."""
    files = content_of(exported)
    said = json.loads(files[image_archive.DESCRIPTION]) | changes
    return packed(exported, {**files, image_archive.DESCRIPTION: json.dumps(said).encode()})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "elevatorlab-image/9"}, "found 'elevatorlab-image/9'. Take the version that"),
        ({"digest": "e" * 64}, "image.json contradicts itself"),
        ({"digest": "e"}, "digest: String should match pattern"),
        ({"parts": {}}, "image.json contradicts itself"),
        ({"files": {}}, "image.json contradicts itself"),
        ({"recipe": "e" * 64}, "expected an image of this version's recipe (dddddddddddd); found"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(exported, changes, said, error_of):
    assert said in refused(error_of, described(exported, **changes))


def test_a_foreign_file_is_refused(exported, error_of):
    no_tar, text = exported.with_name("a.tar.xz"), exported.with_name("a.txt")
    no_tar.write_bytes(lzma.compress(b"hello"))
    text.write_text("hello")
    for file in (no_tar, text):
        assert "it is cut off, damaged, or something else" in refused(error_of, file)
    assert "it is another archive" in refused(error_of, packed(exported, {"a": b"x"}))
    assert "No such file" in refused(error_of, exported.with_name("none"))
    assert "Is a directory" in refused(error_of, exported.parent)


def test_a_changed_image_is_not_exported(exported, tmp_path, error_of):
    """Its manifest has the size alone looked at when a trial runs."""
    root = image.FOLDER / "root.ext2"
    root.chmod(0o644)
    root.write_bytes(b"x" + root.read_bytes()[1:])
    assert "is not what it was when the image was built" in error_of(image_archive.write, tmp_path)
    assert list(tmp_path.glob("*.part")) == []


def test_where_it_cannot_be_written_nothing_is_left(exported, tmp_path, error_of):
    said = error_of(image_archive.write, tmp_path / "none")
    assert "cannot be written (No such file or directory). Name another folder with --out" in said
