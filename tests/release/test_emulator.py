"""The emulator is what its digest says, whichever compiler made it."""

import os
import subprocess
from dataclasses import dataclass

import pytest

from elevatorlab.testbeds.deterministic import our_qemu, template
from elevatorlab.testbeds.deterministic.qemu import Emulator
from elevatorlab.testbeds.deterministic.testbed import DeterministicTestbed
from helpers import fio

pytestmark = [
    pytest.mark.image,
    pytest.mark.anew,
    pytest.mark.programs("clang"),
    pytest.mark.timeout(3600),
]


@dataclass(frozen=True)
class Built(Emulator):
    """The emulator, from another compiler than the one in the cache."""

    program: str = ""

    @property
    def binary(self):
        return self.program or super().binary


@pytest.mark.parametrize(("compiler", "flags"), [("clang", "-O1"), ("gcc", "-O3")])
def test_another_compiler_gives_the_same_bits(compiler, flags, tmp_path, make_trial, monkeypatch):
    build = [our_qemu.RECIPE / "build.sh", tmp_path / "out", tmp_path / "work"]
    subprocess.run(build, check=True, env={**os.environ, "CC": compiler, "CFLAGS": flags})
    trial = make_trial(workloads=(fio(iodepth=8, time_based=1, runtime="50ms"),))
    usual = DeterministicTestbed(say=lambda _: None)
    usual.prepare([trial])
    kept = template.ready(trial.memory_mib)
    other = Built(program=str(tmp_path / "out" / our_qemu.NAME))
    template.boot(trial.memory_mib, tmp_path, other)
    assert (tmp_path / "about.json").read_text() == (kept / "about.json").read_text()
    wanted = usual.run(trial).files["result.json"]
    monkeypatch.setattr(template, "ready", lambda *_: tmp_path)
    again = DeterministicTestbed(say=lambda _: None, emulator=other)
    again.prepare([trial])
    assert again.run(trial).files["result.json"] == wanted
