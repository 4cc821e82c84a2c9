"""Processors that work side by side: what may be asked for, and what they must do."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from elevatorlab import cache, testbeds
from elevatorlab.errors import NotReady
from elevatorlab.paths import ENVIRONMENTS, PROJECT
from elevatorlab.results import reading
from elevatorlab.testbeds.deterministic import image, qemu, rounds, template
from elevatorlab.testbeds.deterministic.multicore import RANGES, parse
from elevatorlab.testbeds.deterministic.rounds import ParallelRounds
from helpers import cli, every_core_busy, fio, run_into

FORM = "expected deterministic?cpus=N[&slot=INSTRUCTIONS][&transfer=INSTRUCTIONS]; found"


@pytest.mark.parametrize(
    ("address", "emulator"),
    [
        ("deterministic?cpus=1", ParallelRounds(1, 1000, 0)),
        ("deterministic?cpus=32&slot=200&transfer=100", ParallelRounds(32, 200, 100)),
    ],
)
def test_an_address(address, emulator):
    testbed = testbeds.get(address, say=None)
    assert (testbed.name, testbed.emulator) == ("multicore", emulator)
    assert testbed.anywhere


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("deterministic?", f"{FORM} 'deterministic?'"),
        ("deterministic?slot=100", f"{FORM} 'deterministic?slot=100'"),
        ("deterministic?cpus=2&cpus=4", f"{FORM} 'deterministic?cpus=2&cpus=4'"),
        ("deterministic?cpus=2&cores=4", f"{FORM} 'deterministic?cpus=2&cores=4'"),
        ("deterministic?cpus=33", "cpus: expected a number from 1 to 32; found '33'"),
        ("deterministic?cpus=0", "cpus: expected a number from 1 to 32; found '0'"),
        ("deterministic?cpus=two", "cpus: expected a number from 1 to 32; found 'two'"),
        ("deterministic?cpus=2&slot=1", "slot: expected a number from 20 to 1000000; found '1'"),
        ("deterministic?cpus=2&transfer=-1", "transfer: expected a number from 0 to 10000; found"),
    ],
)
def test_bad_addresses_are_refused(address, said, error_of):
    sentence = error_of(testbeds.get, address)
    assert sentence.startswith("testbed deterministic: ") and said in sentence
    assert "\n" not in sentence


def test_the_bare_name_needs_an_address(error_of):
    said = "expected an address, deterministic?cpus=N; found 'multicore'"
    assert said in error_of(testbeds.get, "multicore")


def machine(emulator):
    """Return the command line without the program's path."""
    places = (Path(name) for name in ("ram", "exchange", "recording", "monitor"))
    ram, *others = places
    return qemu.command(Path("image"), 512, 512, ram, "share=off", *others, emulator)[1:]


def test_every_parameter_makes_another_machine():
    one = ParallelRounds(2)
    others = [replace(one, **{name: most}) for name, (_, most) in RANGES.items()]
    machines = [machine(each) for each in (one, *others, qemu.STOCK)]
    assert len({" ".join(argv) for argv in machines}) == len(machines)


def test_results_of_other_arrangements_have_other_folders():
    addresses = [f"deterministic?cpus=2{more}" for more in ("", "&slot=200", "&transfer=100")]
    found = {testbeds.get(address, say=None).folder_name() for address in addresses}
    assert found == {"multicore-2-1000-0", "multicore-2-200-0", "multicore-2-1000-100"}


def test_more_processors_have_more_wall_time(make_trial):
    """So that the guest's own deadline ends what hangs, with the right sentence."""
    trial = make_trial(deadline_s=100)
    limits_s = {
        address: testbeds.get(address, say=None).wall_limit_s(trial)
        for address in ("deterministic", "deterministic?cpus=1", "deterministic?cpus=32")
    }
    assert list(limits_s.values()) == [6060, 6060, 60 + 32 * 6000]


def test_without_the_build_it_is_refused_with_the_remedy(tmp_path, monkeypatch, make_trial):
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    testbed = testbeds.get("deterministic?cpus=4", say=None)
    monkeypatch.setattr(testbed, "identity", testbed.emulator.version)  # as where the image is
    finding, image = (one for one in testbed.findings() if one.what in ("QEMU", "image"))
    assert finding.needed and not finding.ready
    assert (image.found, image.remedy) == (finding.found, rounds.BUILD_IT)
    assert finding.found == "the emulator with processors in parallel: it is not built"
    with pytest.raises(NotReady, match="it is not built. Build it, once: make multicore"):
        testbed.prepare([make_trial()])


def test_a_damaged_build_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    made = cache.obtain(rounds.KIND, rounds.digest(), lambda folder: fill(folder))
    assert rounds.ready() == made
    (made / qemu.NAME).unlink()
    with pytest.raises(NotReady, match="qemu-system-x86_64 is missing or has another size"):
        rounds.ready()


def fill(folder):
    (folder / qemu.NAME).write_text("a program")
    (folder / "version").write_text("QEMU emulator version 10.0.2\n")


def test_what_it_is_made_of_names_it(tmp_path, monkeypatch):
    before = rounds.digest()
    for name in rounds.INPUTS:
        (tmp_path / name).write_bytes((rounds.RECIPE / name).read_bytes())
    monkeypatch.setattr(rounds, "RECIPE", tmp_path)
    assert rounds.digest() == before
    for name in rounds.INPUTS:
        with open(tmp_path / name, "a") as file:
            file.write("\n")
        assert rounds.digest() != before
        before = rounds.digest()


def test_sources_with_another_hash_are_refused(tmp_path):
    wrong = tmp_path / "qemu.tar.xz"
    wrong.write_text("something else")
    run = cli(
        *("image", "emulator", "--source", str(wrong)),
        env={**os.environ, "ELEVATORLAB_CACHE": str(tmp_path / "cache")},
    )
    assert run.returncode == 1
    refusal, last = run.stderr.splitlines()
    found = hashlib.sha256(wrong.read_bytes()).hexdigest()
    assert f"{wrong} has {found}. Name the right file: make multicore SOURCE=FILE" in refusal
    assert last.endswith("the emulator could not be built; the lines above say why")
    assert not list((tmp_path / "cache").glob("*/*/entry.json"))


def test_the_build_never_names_a_package_host():
    for name in rounds.INPUTS:
        assert "://" not in (ENVIRONMENTS / "emulator" / name).read_text()


# ---- with the emulator: make test-multicore


def emulated(test):
    return pytest.mark.multicore(test)


@emulated
def test_the_patchs_own_test(tmp_path):
    """The test that the change brings for QEMU's own suite, beside what it stands for there."""
    patch = (ENVIRONMENTS / "emulator/parallel-rounds.patch").read_text()
    text = patch.partition("+++ b/tests/functional/test_x86_64_icount_slot.py\n")[2]
    lines = [line[1:] for line in text.splitlines()[1:] if line.startswith("+")]
    (tmp_path / "test_slot.py").write_text("\n".join(lines))
    (tmp_path / "qemu_test.py").write_text(QEMU_TEST)
    emulator = ParallelRounds(1)
    program = tmp_path / "qemu"
    program.write_text(f'#!/bin/sh\nexec {emulator.binary} {" ".join(emulator.data)} "$@"\n')
    program.chmod(0o755)
    argv = [sys.executable, "test_slot.py"]
    run = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0 and "Ran 3 tests" in run.stderr, run.stderr


QEMU_TEST = """
import tempfile, unittest
class QemuSystemTest(unittest.TestCase):
    qemu_bin = "./qemu"
    main = staticmethod(unittest.main)
    def setUp(self):
        self.workdir = self.enterContext(tempfile.TemporaryDirectory())
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs a trial on some processors, and returns its digest."""

    def again(address, trial):
        testbed = testbeds.get(address, say=lambda text: None)
        testbed.prepare([trial])
        folder = run_into(tmp_path_factory.mktemp("result"), testbed, trial)
        return reading.digest(folder)

    return again


@pytest.fixture(scope="module")
def many_jobs(make_trial):
    """Return a trial whose jobs move between processors and sleep now and then."""
    jobs = {"numjobs": 4, "group_reporting": 1, "time_based": 1, "runtime": "20ms"}
    return make_trial(
        scheduler={"name": "mq-deadline"}, workloads=(fio(iodepth=4, thinktime=500, **jobs),)
    )


@emulated
@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_the_same_bits_quiet_and_loaded(cpus, run, many_jobs):
    address = f"deterministic?cpus={cpus}&transfer=100"
    quiet = run(address, many_jobs)
    with every_core_busy():
        assert run(address, many_jobs) == quiet


@emulated
def test_two_boots_give_the_same_machine(run, many_jobs, tmp_path, monkeypatch):
    address = "deterministic?cpus=2"
    emulator = parse(address)
    first = run(address, many_jobs)
    kept = template.ready(many_jobs.memory_mib, emulator)
    with every_core_busy():
        template.boot(many_jobs.memory_mib, tmp_path, emulator.boots_as)
    assert (tmp_path / "about.json").read_text() == (kept / "about.json").read_text()
    monkeypatch.setattr(template, "ready", lambda *_: tmp_path)
    assert run(address, many_jobs) == first


@emulated
def test_the_default_image_is_another_one():
    assert image.digest(ParallelRounds(1)) != image.digest()


@emulated
def test_known_truths():
    """Independent work takes no longer on four processors, and one lock serves one at a time."""
    benchmark = PROJECT / "benchmarks/multicore_truths.py"
    run = subprocess.run(
        [sys.executable, benchmark, "--cpus", "4", "--only", "compute,lock"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
