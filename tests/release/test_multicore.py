"""Processors that work side by side: what they must do, and study 5 with some for each side."""

import subprocess
import sys

import pytest

from elevatorlab import testbeds
from elevatorlab.paths import ENVIRONMENTS, PROJECT
from elevatorlab.results import reading
from elevatorlab.testbeds.deterministic import image, template
from elevatorlab.testbeds.deterministic.qemu import Emulator
from elevatorlab.trial import profile
from helpers import every_core_busy, result_of, run_into
from multicore_runs import make_many_jobs, many_jobs, run  # noqa: F401  (fixtures)
from stream_batching_tables import expanded

pytestmark = [pytest.mark.image, pytest.mark.anew]


def test_the_patchs_own_test(tmp_path):
    """The test that the change brings for QEMU's own suite, beside what it stands for there."""
    (patch,) = (file.read_text() for file in (ENVIRONMENTS / "emulator").glob("0001-*.patch"))
    text = patch.partition("+++ b/tests/functional/test_x86_64_icount_slot.py\n")[2]
    lines = [line[1:] for line in text.splitlines()[1:] if line.startswith("+")]
    (tmp_path / "test_slot.py").write_text("\n".join(lines))
    (tmp_path / "qemu_test.py").write_text(QEMU_TEST)
    program = tmp_path / "qemu"
    program.write_text(f'#!/bin/sh\nexec {Emulator().binary} -L {image.FOLDER} "$@"\n')
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


@pytest.mark.parametrize("disk", ["sata_ssd", "ram_disk"])
@pytest.mark.parametrize("thinktime_us", [0, 500])
@pytest.mark.parametrize("cpus", [1, 2, 4, 8, 16])
def test_the_same_bits_quiet_loaded_and_after_another(
    cpus, thinktime_us, disk, run, make_many_jobs
):
    """Each run restores the one saved machine; those that sleep are idle for most of the time."""
    address = f"deterministic?cpus={cpus}&transfer=100"
    trial, another = (
        make_many_jobs(thinktime_us, device=profile(disk, 64), seed=seed) for seed in (1, 2)
    )
    quiet = run(address, trial)
    with every_core_busy():
        assert run(address, trial) == quiet
    assert run(address, another) != quiet
    assert run(address, trial) == quiet


def test_two_boots_give_the_same_machine(run, many_jobs, tmp_path, monkeypatch):
    address = "deterministic?cpus=2"
    emulator = Emulator(cpus=2)
    first = run(address, many_jobs)
    kept = template.ready(many_jobs.memory_mib, emulator)
    with every_core_busy():
        template.boot(many_jobs.memory_mib, tmp_path, emulator.boots_as)
    assert (tmp_path / "about.json").read_text() == (kept / "about.json").read_text()
    monkeypatch.setattr(template, "ready", lambda *_: tmp_path)
    assert run(address, many_jobs) == first


def test_known_truths():
    """Independent work takes no longer on four processors, and one lock serves one at a time."""
    benchmark = PROJECT / "benchmarks/multicore_truths.py"
    run = subprocess.run(
        [sys.executable, benchmark, "--cpus", "4", "--only", "compute,lock"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_both_sides_keep_to_their_processors_with_the_same_bits(tmp_path):
    """The proof is in the result, and the result is the same with every core of the host busy."""
    chosen = {"cores": (1,), "schedulers": ("sbq",), "depths": (64,)}
    (one,) = expanded("smoke", **chosen)
    testbed = testbeds.get("deterministic", say=lambda text: None)
    quiet = run_into(tmp_path / "quiet", testbed, one)
    result = result_of(quiet)
    (proof,) = [proof for proof in result["proofs"] if proof["knob"] == "processors"]
    assert proof["written"] == "host 0; target 1" and proof["read"].count(" 0 elsewhere") == 2
    with every_core_busy():
        busy = run_into(tmp_path / "busy", testbed, one)
    assert reading.digest(busy) == reading.digest(quiet)
