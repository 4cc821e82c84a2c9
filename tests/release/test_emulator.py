"""The emulator is what its digest says, whichever compiler made it, and for whichever processor."""

import os
import subprocess
from dataclasses import dataclass

import pytest

from elevatorlab.paths import ENVIRONMENTS
from elevatorlab.testbeds.deterministic import our_qemu, template
from elevatorlab.testbeds.deterministic.qemu import Emulator
from elevatorlab.testbeds.deterministic.testbed import DeterministicTestbed
from helpers import fio

pytestmark = [
    pytest.mark.image,
    pytest.mark.anew,
    pytest.mark.timeout(3600),
]

#: From where this machine takes its own packages: the libraries of another processor.
LIBRARIES = """
set -eu
mkdir "$2/sources"
"$1" bookworm "$2/sources" >"$2/listed"
mapfile -t sources <"$2/listed"
mmdebstrap --quiet --architectures=arm64 --variant=extract --include=libglib2.0-dev \\
    bookworm "$2/root" "${sources[@]}" </dev/null
"""


@dataclass(frozen=True)
class Built(Emulator):
    """The emulator, from another compiler than the one in the cache."""

    program: str = ""

    @property
    def binary(self):
        return self.program or super().binary


def build(tmp_path, **environment):
    """Build another emulator, and return the program."""
    argv = [our_qemu.RECIPE / "build.sh", tmp_path / "out", tmp_path / "work"]
    subprocess.run(argv, check=True, env={**os.environ, **environment})
    return tmp_path / "out" / our_qemu.NAME


@pytest.fixture
def expect_same_bits(tmp_path, make_trial, monkeypatch):
    """Return a function that lets another emulator boot, and then run a trial."""

    def expect(program):
        trial = make_trial(workloads=(fio(iodepth=8, time_based=1, runtime="50ms"),))
        usual = DeterministicTestbed(say=lambda _: None)
        usual.prepare([trial])
        kept = template.ready(trial.memory_mib)
        other = Built(program=str(program))
        template.boot(trial.memory_mib, tmp_path, other)
        assert (tmp_path / "about.json").read_text() == (kept / "about.json").read_text()
        wanted = usual.run(trial).files
        monkeypatch.setattr(template, "ready", lambda *_: tmp_path)
        again = DeterministicTestbed(say=lambda _: None, emulator=other)
        again.prepare([trial])
        assert again.run(trial).files == wanted

    return expect


@pytest.mark.programs("clang")
@pytest.mark.parametrize(("compiler", "flags"), [("clang", "-O1"), ("gcc", "-O3")])
def test_another_compiler_gives_the_same_bits(compiler, flags, tmp_path, expect_same_bits):
    expect_same_bits(build(tmp_path, CC=compiler, CFLAGS=flags))


@pytest.mark.programs("aarch64-linux-gnu-gcc", "qemu-aarch64", "mmdebstrap")
def test_another_processor_gives_the_same_bits(tmp_path, expect_same_bits, monkeypatch):
    """An emulator for arm64 runs on an emulator of arm64's processor, many times slower."""
    argv = ["bash", "-c", LIBRARIES, "bash", ENVIRONMENTS / "debian-sources.sh", tmp_path]
    subprocess.run(argv, check=True)
    root = tmp_path / "root"
    run = f"qemu-aarch64 -L {root}"
    described = f"{root}/usr/lib/aarch64-linux-gnu/pkgconfig:{root}/usr/share/pkgconfig"
    program = build(
        tmp_path,
        CROSS_PREFIX="aarch64-linux-gnu-",
        CROSS_RUN=run,
        CFLAGS=f"-O2 --sysroot={root}",
        PKG_CONFIG="pkg-config",
        PKG_CONFIG_LIBDIR=described,
        PKG_CONFIG_SYSROOT_DIR=str(root),
    )
    wrapper = tmp_path / "emulator"
    wrapper.write_text(f'#!/bin/sh\nexec {run} {program} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(template, "BOOT_TIMEOUT_S", 3000)
    expect_same_bits(wrapper)
