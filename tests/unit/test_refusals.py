"""A file or a folder that a command cannot use: one sentence, before anything starts."""

import pytest

from elevatorlab import cache
from elevatorlab.cli.commands import app
from elevatorlab.testbeds.deterministic import image, qemu

RUN = ("run", "vm_vs_container", "--preset", "smoke", "--results")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ((*RUN, "/proc/nope"), "results folder: expected /proc/nope/deterministic to be a folder"),
        ((*RUN, "FILE"), "results folder: expected a folder; FILE is a file. Name another"),
        (("tiles", "FILE"), "tiles: expected FILE to be a folder, or a place for a new one"),
        (("schemas", "--out", "FILE"), "schemas: expected FILE to be a folder"),
        (("agent", "FILE/agent.pyz"), "agent: expected FILE/agent.pyz to be a file that can be"),
        (("verify", "FILE.zip"), "FILE.zip: expected a file that can be read; found: No such file"),
        (("verify", "--image", "FILE.xz"), "image FILE.xz: expected a file that can be read"),
        (
            ("verify", "--image", "FILE"),
            "image FILE: expected a whole file that `elevatorlab image",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_path_that_cannot_be_used(command, said, tmp_path, error_of, capsys):
    file = tmp_path / "file"
    file.touch()
    given = [argument.replace("FILE", str(file)) for argument in command]
    assert said.replace("FILE", str(file)) in error_of(app, given, standalone_mode=False)
    if "FILE" in command:
        assert "trials to run" not in capsys.readouterr().out


def test_a_build_folder_that_is_a_file(tmp_path, monkeypatch, error_of):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(image, "BUILD", file)
    said = error_of(app, ["image", "build"], standalone_mode=False)
    assert f"build folder: expected {file} to be a folder" in said
    assert said.endswith("Set ELEVATORLAB_BUILD to another one")


def test_a_cache_that_is_a_file(tmp_path, monkeypatch, error_of):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(cache, "ROOT", file)
    said = error_of(app, ["cache"], standalone_mode=False)
    assert said == (
        f"cache: expected a folder; {file} is a file. Set ELEVATORLAB_CACHE to another folder"
    )
    said = error_of(cache.obtain, "image", "0" * 64, lambda folder: None)
    assert f"cache: expected {file}/image to be a folder" in said
    assert said.endswith("Set ELEVATORLAB_CACHE to another folder")


def test_what_is_missing_is_said_with_one_remedy(tmp_path, monkeypatch, testbed):
    monkeypatch.setattr(image, "FOLDER", tmp_path)
    monkeypatch.setattr(qemu, "BINARY", "qemu-of-nobody")
    image.digest.cache_clear()
    qemu.version.cache_clear()
    findings = {one.what: one for one in testbed.findings()}
    image.digest.cache_clear()
    qemu.version.cache_clear()
    assert "image build" in findings["image"].remedy
    assert "image build" not in findings["image"].found
    assert "make setup" in findings["QEMU"].remedy and "make setup" not in findings["QEMU"].found
