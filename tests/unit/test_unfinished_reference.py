"""A reference that takes longer than a machine is at hand: the next one goes on from an archive."""

import pytest

from elevatorlab.results import references, store, unfinished
from elevatorlab.results.outcome import Outcome
from elevatorlab.running import provenance
from elevatorlab.studies import vm_vs_container
from fake_testbed import FakeTestbed
from stored import provenance as origin


def measured(results, trials, testbed):
    store.check(results, testbed)
    for trial in trials:
        files = {"result.json": b"{}", "raw/out.txt": trial.hash.encode()}
        store.keep(results, testbed, trial, Outcome(files, origin()))


def contents(results, trials):
    place = results / FakeTestbed.name
    return {trial.hash: (place / trial.hash / "raw/out.txt").read_text() for trial in trials}


@pytest.fixture
def trials():
    return provenance.preset_trials(vm_vs_container, "smoke")


def test_another_machine_goes_on(tmp_path, trials):
    half = trials[: len(trials) // 2]
    archive, bench = tmp_path / "half.tar.xz", FakeTestbed()
    measured(tmp_path / "here", half, bench)
    assert unfinished.keep(archive, tmp_path / "here", bench, trials) == len(half)
    assert unfinished.take_up(archive, tmp_path / "there", bench) == len(half)
    there = [path.name for path in (tmp_path / "there" / bench.name).iterdir()]
    assert sorted(there) == sorted(["identity", *(trial.hash for trial in half)])
    assert contents(tmp_path / "there", half) == {trial.hash: trial.hash for trial in half}
    assert unfinished.take_up(archive, tmp_path / "there", bench) == 0  # all are there already
    bytes_here = archive.read_bytes()
    unfinished.keep(archive, tmp_path / "there", bench, trials)
    assert archive.read_bytes() == bytes_here


def test_results_of_another_image_stay_where_they_are(tmp_path, trials):
    archive, bench = tmp_path / "half.tar.xz", FakeTestbed()
    measured(tmp_path / "here", trials[:1], bench)
    unfinished.keep(archive, tmp_path / "here", bench, trials)
    other = FakeTestbed()
    other.identity = lambda: "another image"
    assert unfinished.take_up(archive, tmp_path / "there", other) == 0
    assert not (tmp_path / "there").exists()
    assert unfinished.keep(archive, tmp_path / "there", other, trials) == 0
    assert unfinished.take_up(archive, tmp_path / "elsewhere", bench) == 1


def test_a_whole_study_and_an_empty_one_leave_no_archive(tmp_path, trials):
    archive, bench = tmp_path / "half.tar.xz", FakeTestbed()
    assert unfinished.keep(archive, tmp_path, bench, trials) == 0
    measured(tmp_path, trials[:1], bench)
    unfinished.keep(archive, tmp_path, bench, trials)
    assert archive.exists()
    measured(tmp_path, trials[1:], bench)
    assert unfinished.keep(archive, tmp_path, bench, trials) == 0
    assert not archive.exists()


def test_a_reference_of_the_same_trials_and_image_is_current(tmp_path, trials, monkeypatch):
    monkeypatch.setattr(references, "FOLDER", tmp_path)
    name = vm_vs_container.NAME
    assert not references.is_current(name, "quick", trials, "image")
    lines = [f"{trial.hash},image,digest" for trial in trials]
    (tmp_path / f"{name}.csv").touch()
    (tmp_path / f"{name}.digests.csv").write_text(
        "\n".join(["trial,image_digest,result_sha256", *lines])
    )
    assert references.is_current(name, "quick", trials, "image")
    assert not references.is_current(name, "quick", trials, "another image")
    assert not references.is_current(name, "quick", trials[1:], "image")
