"""What is missing or broken gives one sentence: expected, found, what to do. Nothing stays."""

import os
import shutil
import signal
import subprocess
import threading
from collections import namedtuple
from pathlib import Path

import pytest

from elevatorlab import cache
from elevatorlab.errors import ElevatorLabError, NotReady, TrialFailed
from elevatorlab.results import reading, store
from elevatorlab.running import campaign
from elevatorlab.running.campaign import Share
from elevatorlab.testbeds.deterministic import exchange, image, our_qemu, qemu, template
from elevatorlab.testbeds.deterministic import testbed as deterministic
from helpers import fio, machines, null_disk, wait_until

Disk = namedtuple("Disk", "total used free")


@pytest.fixture
def fresh():
    """Forget what is remembered of this machine, before and after."""
    for remembered in (our_qemu.version_of_another, image.digest):
        remembered.cache_clear()
    yield
    for remembered in (our_qemu.version_of_another, image.digest):
        remembered.cache_clear()


@pytest.fixture
def another_qemu(testbed, monkeypatch):
    """Have the testbed take a QEMU that the user names in place of ours."""
    monkeypatch.setattr(testbed, "emulator", qemu.AnotherQemu(program="no-qemu"))


@pytest.fixture
def other_image(tmp_path, monkeypatch, fresh):
    """Return an empty folder that is taken for the image's."""
    monkeypatch.setattr(image, "FOLDER", tmp_path / "image")
    return tmp_path / "image"


@pytest.fixture
def copied_image(other_image):
    """Return a copy of the image that a test may damage."""
    shutil.copytree(
        image.BUILD / "image",
        other_image,
        ignore=lambda folder, names: ["templates"],
        copy_function=os.symlink,
    )
    return other_image


def says(sentence, *parts):
    """Assert that one sentence has all the parts, and is one."""
    assert [part for part in parts if part not in sentence] == [], sentence
    assert "Traceback" not in sentence and "\n" not in sentence.strip()


@pytest.fixture
def refused(testbed, tmp_path, make_trial):
    """Return a function that runs a trial and returns the sentence it is refused with."""

    def sentence(trial=None, kind=ElevatorLabError):
        results = tmp_path / "results"
        with pytest.raises(kind) as refusal:
            campaign.run([Share(testbed, [trial or make_trial()])], results)
        files = [path for path in results.rglob("*") if path.is_file()]
        if kind is TrialFailed:  # its log stays
            files = [path for path in files if not path.name.endswith(".failed.txt")]
        assert [path for path in files if path.name != "identity"] == []
        assert list(results.glob("*/*.part")) == []
        assert machines(os.getpid()) == []
        return str(refusal.value)

    return sentence


class TestMachine:
    """The machine lacks something: refused before anything starts."""

    def test_no_image(self, other_image, refused):
        says(
            refused(kind=NotReady),
            "missing or damaged",
            "vmlinuz",
            str(other_image),
            "elevatorlab image build",
        )

    def test_no_emulator_on_a_worker(self, monkeypatch, tmp_path, testbed):
        """It is asked for its identity before it gets a trial."""
        monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
        with pytest.raises(NotReady, match="the emulator: it is not built"):
            testbed.identity()

    def test_another_qemu_that_is_missing(self, another_qemu, fresh, refused):
        says(refused(kind=NotReady), "no-qemu is missing", "expected QEMU 7.2", "Install it")

    def test_another_qemu_that_is_too_old(self, monkeypatch, another_qemu, fresh, refused):
        old = subprocess.CompletedProcess([], 0, stdout="QEMU emulator version 6.2.0 (Debian)\n")
        monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/" + name)
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: old)
        says(refused(kind=NotReady), "expected QEMU 7.2", "version 6.2.0", "Install a newer one")

    def test_doctor_tells_all_of_it(self, other_image, testbed):
        missing = {finding.what: finding for finding in testbed.findings() if not finding.ready}
        assert missing["image"].remedy == "Build it: elevatorlab image build"
        assert "missing or damaged" in missing["image"].found

    def test_no_disk_for_an_image(self, other_image, monkeypatch, tmp_path):
        monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(0, 0, 77 << 20))
        with pytest.raises(NotReady) as refusal:
            image.build(force=True)
        says(str(refusal.value), "needs 4000 MiB", "found 77 MiB", "ELEVATORLAB_CACHE")
        assert not other_image.exists() and list(cache.entries()) == []


@pytest.mark.image
class TestImage:
    """The image is there, but something about it or its machine is wrong."""

    @pytest.mark.parametrize(
        ("name", "content"), [("root.ext2", b"half of it"), ("manifest.json", None)]
    )
    def test_damaged(self, copied_image, refused, name, content):
        (copied_image / name).unlink()
        if content:
            (copied_image / name).write_bytes(content)
        said = refused(kind=NotReady)
        says(said, "missing or damaged", name, str(copied_image), "elevatorlab image build")

    def test_recipe_has_changed(self, monkeypatch, fresh, refused):
        monkeypatch.setattr(image, "recipe_digest", lambda: "another")
        says(refused(kind=NotReady), "does not fit environments/", "elevatorlab image build")

    def test_too_little_memory(self, monkeypatch, refused):
        monkeypatch.setattr(deterministic, "available_memory_mib", lambda: 700)
        says(refused(kind=NotReady), "need 1024 MiB", "found 700 MiB", "Close programs")

    def test_too_little_disk_for_results(self, monkeypatch, refused):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(0, 0, 50 << 20))
        says(refused(), "expected 101 MiB", "found 50 MiB", "name another folder")

    def test_too_little_disk_for_a_template(self, copied_image, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(0, 0, 500 << 20))
        with pytest.raises(NotReady) as refusal:
            template.make(512)
        says(str(refusal.value), "needs 512 MiB", "found 500 MiB", "Free some")
        assert not (copied_image / "templates").exists()

    def test_a_kernel_that_does_not_come_up(self, copied_image, monkeypatch):
        (copied_image / "vmlinuz").unlink()
        (copied_image / "vmlinuz").write_bytes(bytes(1 << 20))
        found = {
            "sha256": dict.fromkeys(image.FILES, ""),
            "sizes_bytes": {name: (copied_image / name).stat().st_size for name in image.FILES},
        }
        monkeypatch.setattr(image, "current", lambda: found)
        monkeypatch.setattr(template, "_last_words", lambda *_: "(nothing)")
        with pytest.raises(NotReady) as refusal:
            template.make(512)
        assert "did not come up" in str(refusal.value)
        assert list((copied_image / "templates").iterdir()) == []
        assert machines(os.getpid()) == []

    def test_what_the_testbed_cannot_be(self, refused, make_trial):
        trial = make_trial(device={"kind": "file_backed", "size_mib": 64})
        says(refused(trial, NotReady), "device file_backed: not to be had here", "--testbed host")


@pytest.mark.image
class TestTrial:
    """A trial fails inside the machine: the agent's sentence comes out."""

    def test_unknown_tunable(self, refused, make_trial):
        scheduler = {"name": "bfq", "tunables": {"fifo_batch": 3}}
        said = refused(make_trial(scheduler=scheduler), TrialFailed)
        assert "queue/iosched/fifo_batch does not exist" in said
        assert "expected it to take 3" in said

    def test_a_value_that_the_kernel_refuses(self, refused, make_trial):
        scheduler = {"name": "none", "tunables": {"nr_requests": 1_000_000}}
        said = refused(make_trial(scheduler=scheduler), TrialFailed)
        assert "queue/nr_requests did not take: wrote 1000000, read back" in said

    def test_fio_that_fails(self, refused, make_trial):
        trial = make_trial(workloads=(fio(ioengine="no-such-engine"),))
        assert "fio ended with status" in refused(trial, TrialFailed)

    @pytest.mark.parametrize("last", ["first", "second"])
    def test_deadline(self, last, refused, make_trial):
        for_ever = {"thinktime": 1_000_000, "number_ios": 100_000}
        lengths = {"first": {"number_ios": 1}, "second": {"number_ios": 1}, last: for_ever}
        workloads = [fio(name, **options) for name, options in lengths.items()]
        said = refused(make_trial(workloads=workloads, deadline_s=3), TrialFailed)
        assert "did not end within its 3.0 s" in said and "Raise deadline_s" in said

    def test_deadline_with_a_busy_worker(self, refused, make_trial):
        cat = {"kind": "timed_reads", "name": "cat", "group": "main", "sizes_mib": [30]}
        trial = make_trial(
            device=null_disk(20_000, "slow"),  # 240 requests: about 5 s
            filesystem="ext4",
            workloads=[{**cat, "cache": "dropped"}],
            deadline_s=4,
        )
        assert "did not end within its 4.0 s" in refused(trial, TrialFailed)

    def test_a_killed_machine(self, refused, make_trial):
        trial = make_trial(workloads=(fio(time_based=1, runtime="1000s"),), deadline_s=2000)

        def kill():
            (machine,) = wait_until(lambda: machines(os.getpid()))
            os.kill(machine, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        said = refused(trial, TrialFailed)
        killer.join()
        assert trial.hash in said
        assert "run it again" in said.lower() or "run the trial again" in said

    def test_a_guest_that_hangs(self, testbed, make_trial, tmp_path):
        trial = make_trial(workloads=(fio(time_based=1, runtime="1000s"),), deadline_s=2000)
        testbed.prepare([trial])
        memory = tmp_path / "exchange"
        exchange.write(memory, {"trial.json": trial.canonical_json().encode()})
        kept = template.ready(trial.memory_mib)
        with pytest.raises(
            TrialFailed, match="did not end within 5 s of wall time; it was stopped"
        ):
            testbed._continue(
                kept, (trial.memory_mib, testbed.emulator), memory, tmp_path, limit_s=5
            )
        assert machines(os.getpid()) == []


class TestExchange:
    """The memory through which a result comes back."""

    @pytest.fixture
    def memory(self, tmp_path):
        """Return an exchange in which a guest has put an answer: here, the trial itself."""
        exchange.write(tmp_path / "exchange", {"status": b"0"})
        with open(tmp_path / "exchange", "r+b") as file:
            content = file.read(16 + (10 << 10))
            file.seek(exchange.HALF)
            file.write(exchange.RESULT_MAGIC + content[8:])
        return tmp_path / "exchange"

    def test_whole(self, memory):
        assert exchange.read_result(memory) == {"status": b"0"}

    def test_cut_off(self, memory):
        os.truncate(memory, exchange.HALF + 16 + 1000)
        with pytest.raises(TrialFailed) as refusal:
            exchange.read_result(memory)
        says(str(refusal.value), "no whole result", "expected one in the exchange memory")

    def test_nothing_sent(self, tmp_path):
        exchange.write(tmp_path / "exchange", {"trial.json": b"{}"})
        with pytest.raises(TrialFailed, match="no whole result"):
            exchange.read_result(tmp_path / "exchange")


@pytest.mark.image
class TestResults:
    """The folder of results is not what it should be."""

    def test_somebody_elses_files(self, testbed, make_trial, tmp_path, error_of):
        (tmp_path / "thesis.tex").write_text("mine")
        said = error_of(campaign.run, [Share(testbed, [make_trial()])], tmp_path)
        says(said, str(tmp_path), "found other files (thesis.tex)", "Name another folder")
        assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]

    def test_results_of_another_image(self, testbed, make_trial, tmp_path, error_of):
        store.check(tmp_path, testbed)
        (tmp_path / testbed.name / "identity").write_text("f" * 64)
        (tmp_path / testbed.name / "0123").mkdir()
        for name in ("result.json", "provenance.json"):
            (tmp_path / testbed.name / "0123" / name).write_text("{}")
        said = error_of(campaign.run, [Share(testbed, [make_trial()])], tmp_path)
        says(
            said,
            "of deterministic ffffffffffff",
            f"this is deterministic {testbed.identity()[:12]}",
        )
        says(said, "the image's digest", "--results")

    def test_what_a_killed_campaign_left_is_removed(self, testbed, make_trial, tmp_path):
        trial = make_trial()
        store.check(tmp_path, testbed)
        part = Path(tmp_path, testbed.name, "0123.part")
        part.mkdir()
        (part / "result.json").write_text("{")
        campaign.run([Share(testbed, [trial])], tmp_path)
        assert sorted(path.name for path in part.parent.iterdir()) == sorted(
            ["identity", trial.hash]
        )
        assert reading.finished(store.folder(tmp_path, testbed) / trial.hash)
