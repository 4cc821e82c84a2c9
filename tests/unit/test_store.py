"""Results on disk: visible when whole, with a digest that sees every byte."""

import os

import pytest

import stored
from elevatorlab.results import reading, store
from elevatorlab.results.outcome import Outcome

FILES = {"result.json": b"{}\n", "samples.csv": b"a,b\n", "raw/reader.fio.json": b"{}"}


@pytest.fixture
def folder(tmp_path):
    for name, content in {**FILES, "provenance.json": b"{}", "log.txt": b"said"}.items():
        file = tmp_path / "result" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return tmp_path / "result"


@pytest.mark.parametrize("name", FILES)
def test_one_other_byte_changes_the_digest(folder, name):
    before = reading.digest(folder)
    content = bytearray((folder / name).read_bytes())
    content[0] ^= 1
    (folder / name).write_bytes(content)
    assert reading.digest(folder) != before


def test_another_name_changes_the_digest(folder):
    before = reading.digest(folder)
    (folder / "samples.csv").rename(folder / "sample.csv")
    assert reading.digest(folder) != before


def test_another_file_changes_the_digest(folder):
    before = reading.digest(folder)
    (folder / "empty").touch()
    assert reading.digest(folder) != before


@pytest.mark.parametrize("name", reading.HOST_DECIDES)
def test_what_the_host_decides_does_not_count(folder, name):
    before = reading.digest(folder)
    (folder / name).write_text("another host")
    assert reading.digest(folder) == before


def test_a_result_that_cannot_be_written_leaves_nothing(tmp_path, make_trial, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda number: os.close(-1))
    with pytest.raises(OSError):
        store.write(tmp_path / "hash", make_trial(), Outcome(FILES, stored.provenance()))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_result_is_not_finished(folder):
    assert reading.finished(folder)
    (folder / "result.json").unlink()
    assert not reading.finished(folder)


class SomeTestbed:
    """A testbed as the store sees it: a name, a folder, and an identity that may come later."""

    name = "vagrant"
    identity_is = " (machine, kernel)"

    def __init__(self, identity):
        self._identity = identity

    def identity(self):
        return self._identity

    def machine(self):
        return "0123456789abcdef"

    def folder_name(self):
        return f"{self.name}-{self.machine()[:8]}"


def finish_one(results, testbed, trial):
    outcome = Outcome({"result.json": b"{}"}, stored.provenance(testbed=testbed.name))
    store.keep(results, testbed, trial, outcome)


def test_an_identity_that_is_known_later_is_checked_then(tmp_path, make_trial, error_of):
    store.check(tmp_path, SomeTestbed(""))
    store.check(tmp_path, SomeTestbed("a" * 64))
    finish_one(tmp_path, SomeTestbed("a" * 64), make_trial())
    store.check(tmp_path, SomeTestbed(""))
    store.check(tmp_path, SomeTestbed("a" * 64))
    said = error_of(store.check, tmp_path, SomeTestbed("b" * 64))
    assert "holds results of vagrant aaaaaaaaaaaa; this is vagrant bbbbbbbbbbbb" in said
    assert "--results" in said


def test_a_folder_without_results_takes_another_identity(tmp_path):
    store.check(tmp_path, SomeTestbed("a" * 64))
    store.check(tmp_path, SomeTestbed("b" * 64))
    assert (tmp_path / "vagrant-01234567/identity").read_text().strip() == "b" * 64


def test_what_is_visible_is_on_the_disk(tmp_path, make_trial, monkeypatch):
    """Also after a power cut: every file and folder is flushed, then renamed, then its parent."""
    steps = []
    flush, rename = os.fsync, os.rename
    monkeypatch.setattr(
        os, "fsync", lambda n: (steps.append(os.readlink(f"/proc/self/fd/{n}")), flush(n))
    )
    monkeypatch.setattr(os, "rename", lambda a, b: (steps.append("renamed"), rename(a, b)))
    bed, trial = SomeTestbed("a"), make_trial()
    files = {"result.json": b"{}", "raw/reader.json": b"{}"}
    store.keep(tmp_path, bed, trial, Outcome(files, stored.provenance()))
    folder = store.folder(tmp_path, bed)
    part = folder / f"{trial.hash}.part"
    names = ("result.json", "trial.json", "provenance.json", "raw", "raw/reader.json")
    before, after = steps[: steps.index("renamed")], steps[steps.index("renamed") + 1 :]
    assert set(before) == {str(part), *(str(part / name) for name in names)}
    assert after == [str(folder)]
    assert (folder / trial.hash / "raw/reader.json").read_bytes() == b"{}"
