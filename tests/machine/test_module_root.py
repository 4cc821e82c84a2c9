"""Modules of the kernel are compiled once, in a root made once a kernel, and run in a trial."""

import os
import platform
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from elevatorlab import cache
from elevatorlab.errors import NotReady
from elevatorlab.plugins import module_folders, scheduler_folders
from elevatorlab.testbeds.deterministic import modules
from helpers import (
    BOMB,
    FIXTURES,
    children,
    of_each_process,
    result_of,
    run_into,
    running,
    wait_until,
)
from scheduler_copy import folder, registered  # noqa: F401  (fixtures)

KERNEL, OTHER = "6.1.0-1-amd64", "6.1.0-2-amd64"

#: In the place of what compiles: a module of the names of its sources.
COMPILE = """
import os, pathlib, sys, tarfile, io
root, folder, work = map(pathlib.Path, sys.argv[1:])
with open({ledger!r}, "a") as ledger:
    print("compile", file=ledger)
names = sorted(os.listdir(folder))
one = root.read_text() + " ".join(names)
made = {{"log": "Skipping BTF generation\\n", "status": "0", "one.ko": one}}
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
    for name, content in made.items():
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content.encode()))
"""


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """Let scripts that do nearly nothing take the place of Debian; return what they were asked."""
    ledger, recipe = tmp_path / "ledger", tmp_path / "module-root"
    recipe.mkdir()
    (recipe / "make.sh").write_text(
        f'#!/bin/sh\necho "make $2" >>{ledger}\necho "root of $2" >"$1/root.tar"\necho made\n'
    )
    (recipe / "make.sh").chmod(0o755)
    (recipe / "compile.py").write_text(COMPILE.format(ledger=str(ledger)))
    monkeypatch.setattr(modules, "RECIPE", recipe)
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    return ledger


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "Kbuild").write_text("obj-m := one.o\n")
    (folder / "one.c").write_text("/* nothing */\n")
    return folder


def test_what_is_said_meanwhile_is_no_output(ledger, capfd):
    modules.root(KERNEL)
    assert capfd.readouterr() == ("", "made\n")


def test_the_root_is_made_once_a_kernel_and_a_module_once_a_root(ledger, sources):
    folder = module_folders.read(sources, "one")
    for release in (KERNEL, KERNEL, OTHER):
        built = modules.build(folder, release)
        assert built.file.read_text() == f"root of {release}\nKbuild one.c"
        assert built.said == ""
    lines = ledger.read_text().splitlines()
    assert lines == [f"make {KERNEL}", "compile", f"make {OTHER}", "compile"]


def test_other_sources_are_another_module(ledger, sources):
    modules.build(module_folders.read(sources, "one"), KERNEL)
    (sources / "one.c").write_text("/* something */\n")
    modules.build(module_folders.read(sources, "one"), KERNEL)
    assert ledger.read_text().count("compile") == 2


def test_another_recipe_makes_another_root(ledger):
    modules.root(KERNEL)
    with open(modules.RECIPE / "make.sh", "a") as script:
        script.write("# with another compiler\n")
    modules.root(KERNEL)
    assert ledger.read_text().count("make") == 2


def test_a_machine_that_cannot_lock_the_compiler_in(ledger, sources, error_of):
    (modules.RECIPE / "compile.py").write_text("import sys; sys.exit('expected namespaces')")
    said = error_of(modules.build, module_folders.read(sources, "one"), KERNEL)
    assert said == "module-root/compile.py: expected namespaces"


def test_another_processor_takes_what_is_compiled(ledger, sources, error_of, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    made = modules.build(module_folders.read(sources, "one"), KERNEL)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert modules.build(module_folders.read(sources, "one"), KERNEL) == made
    said = error_of(modules.build, module_folders.read(sources, "one"), OTHER)
    assert "on x86_64 alone; this machine is aarch64. Copy the folders module and" in said
    (sources / "one.c").write_text("/* something */\n")
    assert error_of(modules.build, module_folders.read(sources, "one"), KERNEL) == said
    assert ledger.read_text().splitlines() == [f"make {KERNEL}", "compile"]


#: What a Kbuild, a program, may want to know and do.
CURIOUS = r"""
$(info user $(shell id -u))
$(info folders $(shell ls -d /home/* /root/* /work /tmp/* 2>/dev/null))
$(info network $(shell ls /sys/class/net /proc/net 2>/dev/null))
$(info secret $(shell echo $$SECRET))
$(info written $(shell touch /usr/mine 2>/dev/null && echo yes))
"""

#: What a build's processes are, at most: those that its user may have, and who locks them in.
MOST = 200 + 10

#: Kbuilds with as many processes as they get: some that wait, and some that beget others.
MANY = "$(info $(shell for i in $$(seq 250); do sleep 7358 & done))\n"


def compilers(pid):
    """Return the builds that a process has started: each is the child of one."""
    found = [child for child in children(pid) if b"compile.py" in _content(cmdline(child))]
    return [child for child in found if descendants(child)]


def descendants(pid):
    """Return the process ids of all that a process has started, and those have started."""
    parents = {}
    for stat in of_each_process("stat"):
        if content := _content(stat):
            parents[int(stat.parent.name)] = int(content.rpartition(b")")[2].split()[1])
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new}
        found |= new
    return found


def cmdline(pid):
    return Path(f"/proc/{pid}/cmdline")


@pytest.mark.image
class TestLockedIn:
    """The compiler, and whatever a Kbuild starts."""

    @pytest.fixture
    def folder(self, tmp_path):
        one_list = FIXTURES / "schedulers" / "one-list"
        return shutil.copytree(one_list, tmp_path / "one-list")

    def kbuild(self, folder, text):
        with open(folder / "Kbuild", "a") as file:
            file.write(text)
        return module_folders.read(folder, "one-list-iosched")

    def test_it_sees_nothing_of_the_machine(self, folder, monkeypatch):
        monkeypatch.setenv("SECRET", "of the user")
        said = modules.build(self.kbuild(folder, CURIOUS)).said.splitlines()
        # make reads a Kbuild more than once.
        lines = list(dict.fromkeys(line.strip() for line in said))
        user, *others = lines
        assert user.startswith("user ") and user != f"user {os.getuid()}"
        assert others == ["folders", "network", "secret", "written"]

    def test_an_endless_one_is_ended(self, folder, monkeypatch, error_of):
        monkeypatch.setattr(modules, "LIMIT_S", 5)
        seconds = f"{os.getpid()}7357"  # nobody else's, in another run of the tests either
        endless = self.kbuild(folder, f"$(info $(shell sleep {seconds} & while :; do :; done))\n")
        said = error_of(modules.build, endless)
        assert said.endswith("expected one-list-iosched.ko; it did not compile within 5 s")
        # The kernel ends a namespace's processes a moment after its first one.
        wait_until(
            lambda: all(seconds.encode() not in _content(f) for f in of_each_process("cmdline"))
        )

    @pytest.mark.timeout(600)
    def test_each_has_as_many_processes_as_if_alone(self, folder, tmp_path):
        beside = shutil.copytree(folder, tmp_path / "beside")
        many = self.kbuild(folder, MANY)
        with ThreadPoolExecutor(1) as other:
            building = other.submit(modules.build, many)
            compiler = wait_until(lambda: compilers(os.getpid()))[0]
            try:
                wait_until(lambda: len(descendants(compiler)) > 150)
                with open(beside / "Kbuild", "a") as file:
                    file.write("$(info beside)\n")
                built = modules.build(module_folders.read(beside, "one-list-iosched"))
                found = len(descendants(compiler))
            finally:
                os.kill(compiler, signal.SIGKILL)
        assert isinstance(building.exception(), NotReady)
        assert "beside" in built.said and 150 < found < MOST
        wait_until(lambda: not running(compiler))

    def test_a_fork_bomb_ends(self, folder, error_of):
        said = error_of(modules.build, self.kbuild(folder, BOMB))
        assert "expected one-list-iosched.ko; it does not compile:" in said
        assert "Cannot fork" in said
        files = of_each_process("cmdline")
        assert not [file for file in files if b"bomb() {" in _content(file)]

    def test_a_link_in_the_place_of_a_module_is_no_module(self, folder, error_of):
        links = "obj-m :=\n$(info $(shell ln -sv /etc/hostname $(src)/one-list-iosched.ko))\n"
        said = error_of(modules.build, self.kbuild(folder, links))
        assert "expected one-list-iosched.ko; " in said and "/etc/hostname" in said

    @pytest.mark.parametrize("takes", ['#include "{}"', 'asm(".incbin \\"{}\\"");'])
    def test_a_source_takes_nothing_of_the_machine(self, takes, folder, tmp_path, error_of):
        (tmp_path / "secret.h").write_text("#error seen\n")
        with open(folder / "one-list-iosched.c", "a") as source:
            source.write(takes.format(tmp_path / "secret.h"))
        said = error_of(modules.build, scheduler_folders.read(folder).folder)
        assert f"{tmp_path}/secret.h" in said and "error: #error" not in said

    def test_what_makes_no_module_says_so(self, folder, error_of):
        said = error_of(modules.build, self.kbuild(folder, "obj-m :=\n"))
        assert said.endswith("expected one-list-iosched.ko; its Kbuild makes none (obj-m)")


def _content(file):
    try:
        return file.read_bytes()
    except OSError:  # it has ended
        return b""


@pytest.mark.image
class TestInTheMachine:
    """What the deterministic machine makes of it."""

    def test_a_trial_runs_on_it(self, registered, make_trial, testbed, tmp_path):
        trial = make_trial(scheduler={"name": "one-list"})
        result = result_of(run_into(tmp_path / "result", testbed, trial))
        (proof,) = [one for one in result["proofs"] if one["knob"].endswith("queue/scheduler")]
        assert (proof["read"], proof["probe"]) == ("one-list", "tunables: waiting")
        assert result["workloads"]["reader"]["read"]["requests"] > 100

    def test_a_module_of_another_name_is_named(self, folder, error_of):
        (folder / "Kbuild").write_text("obj-m += one.o\none-y := one-list-iosched.o\n")
        said = error_of(modules.build, scheduler_folders.read(folder).folder)
        assert "expected one-list-iosched.ko; its Kbuild makes one.ko (obj-m)" in said

    def test_a_mistake_is_told_as_the_compiler_does(self, folder, error_of):
        with open(folder / "one-list-iosched.c", "a") as source:
            source.write("int one_list_forgotten(void) { return forgotten; }\n")
        line = len((folder / "one-list-iosched.c").read_text().splitlines())
        said = error_of(modules.build, scheduler_folders.read(folder).folder)
        assert "expected one-list-iosched.ko; it does not compile:" in said
        assert f"one-list-iosched.c:{line}:" in said and "'forgotten' undeclared" in said
        assert "/build/" not in said
