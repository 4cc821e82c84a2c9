"""The Python environment has what the lock file names, from the cache, and nothing else."""

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import helpers
from checkout_clone import MAKEFILE, clone, make, take_wheel  # noqa: F401  (fixtures)
from elevatorlab import cache
from elevatorlab.paths import ENVIRONMENTS, PROJECT

SMALL = "iniconfig"


@pytest.fixture
def program():
    return helpers.program(ENVIRONMENTS / "python_packages.py")


@pytest.fixture
def lock(program, tmp_path, monkeypatch):
    """Return a lock file that names one small package, as ours does."""
    ours = (PROJECT / "requirements.lock").read_text()
    file = tmp_path / "small.lock"
    file.write_text(re.search(rf"^{SMALL}==.*?[^\\]$", ours, re.MULTILINE | re.DOTALL)[0] + "\n")
    monkeypatch.setattr(program, "LOCK", file)
    return file


@pytest.fixture
def wheels(tmp_path):
    """Return a folder with the wheel of that package."""
    take_wheel(SMALL, tmp_path / "wheels")
    return tmp_path / "wheels"


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Return the folder of an environment's packages, one of which no lock file names."""
    venv.create(tmp_path / "venv", with_pip=False)
    binaries = tmp_path / "venv" / "bin"
    (binaries / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    monkeypatch.setattr(sys, "executable", str(binaries / "python"))
    (folder,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    stranger = folder / "stranger-1.0.dist-info"
    stranger.mkdir()
    (stranger / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (stranger / "RECORD").write_text(
        "".join(f"{stranger.name}/{n},,\n" for n in ("METADATA", "RECORD"))
    )
    return folder


def names(packages):
    return sorted(path.name.partition("-")[0] for path in packages.glob("*.dist-info"))


def test_the_environment_has_what_is_locked_and_nothing_else(program, lock, wheels, packages):
    assert names(packages) == ["stranger"]
    assert program.install(wheels) == 0
    assert names(packages) == [SMALL]


def test_a_package_with_another_content_is_refused(program, lock, wheels, packages, capfd):
    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("more.py", "")
    assert program.install(wheels) != 0
    assert "hash" in capfd.readouterr().err.lower()
    assert names(packages) == ["stranger"]


def test_they_are_fetched_once(program, lock, wheels, packages, monkeypatch, tmp_path):
    fetched = []

    def fetch(folder):
        fetched.append(folder)
        shutil.copytree(wheels, folder, dirs_exist_ok=True)

    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    monkeypatch.setattr(program, "download", fetch)
    assert [program.main(), program.main()] == [0, 0]
    assert len(fetched) == 1 and names(packages) == [SMALL]
    lock.write_text(f"# another lock file\n{lock.read_text()}")
    assert program.main() == 0 and len(fetched) == 2


def test_a_cache_that_cannot_be_written_is_told(program, lock, tmp_path, monkeypatch, capsys):
    (tmp_path / "cache").write_text("a file is in the way")
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    assert program.main() == 1
    assert "Set ELEVATORLAB_CACHE to another folder" in capsys.readouterr().err


@pytest.mark.programs("make")
@pytest.mark.parametrize(
    "environment",
    [{}, {"XDG_CACHE_HOME": "/some/cache"}, {"ELEVATORLAB_CACHE": "/some/other cache"}],
    ids=lambda environment: next(iter(environment), "unset"),
)
def test_make_and_the_package_agree_where_the_cache_is(clone, environment):
    said = make(clone, "--eval", 'place: ; @echo "$(CACHE)"', "place", **environment)
    place = [sys.executable, "-c", "from elevatorlab import cache; print(cache.ROOT)"]
    usual = {"HOME": f"{clone.parent}", **environment}
    told = subprocess.run(place, env=usual, capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == (told.stdout, "")


def test_what_clean_says_at_its_end_can_be_followed():
    """By then the command that shows the cache is gone: it names the folder."""
    (kept,) = re.findall(r'^\t@echo "kept: (.*)"$', MAKEFILE, re.MULTILINE)
    assert kept.endswith("$(CACHE)") and "elevatorlab" not in kept
