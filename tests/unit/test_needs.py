"""What a test may need, and the command that brings it."""

import ast
import functools
import subprocess
from pathlib import Path

import pytest

import needs
from helpers import FIXTURES

TESTS = FIXTURES.parent


def texts(node, assigned):
    """Yield every text in an expression, and in what it takes from the top of its file."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and part.id in assigned:
            yield from texts(assigned[part.id], {})


def asked_for(file):
    """Yield the programs that the markers in a file name."""
    content = file.read_text()
    if "programs(" not in content:  # to parse every test takes a second
        return
    tree = ast.parse(content)
    assigned = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "programs"
        for argument in node.args if called else ():
            found = list(texts(argument, assigned))
            assert found, f"{file.name}:{node.lineno}: expected texts, or a name of the file's top"
            yield from found


PARTIAL = (one for one in needs.MARKERS.values() if isinstance(one, functools.partial))
WANTED = sorted(
    {name for file in TESTS.rglob("*.py") for name in asked_for(file)}
    | {name for one in PARTIAL for name in one.args}
)


def test_programs_are_asked_for_in_several_ways():
    """In the marker itself, by a name, from a table, and by a marker that stands for a program."""
    assert {"gcc", "/usr/lib/systemd/systemd-udevd", "podman", "sshd"} <= set(WANTED)


@pytest.mark.parametrize("name", WANTED)
def test_a_list_has_the_package_of_each_program_that_a_marker_names(name):
    lists = [file for file in needs.COMMANDS if needs.package(name) in needs.listed(file)]
    assert lists, f"add the package of {name} to a list in environments/, or to needs.PACKAGES"
    assert needs.command(name) == needs.COMMANDS[lists[0]]


@pytest.mark.parametrize("name", WANTED)
def test_the_package_of_a_program_is_the_one_that_has_it(name):
    """As Debian's own list of installed files says, for a program that came with a package."""
    if not needs.program("dpkg-query"):
        needs.skip_on_this_machine("dpkg-query, which says what package a file is of")
    pattern = f"*/{Path(name).name}"
    run = subprocess.run(["dpkg-query", "--search", pattern], capture_output=True, text=True)
    owners = {
        owner.partition(":")[0]
        for line in run.stdout.splitlines()
        if not line.startswith("diversion ")
        for owner in line.rpartition(": ")[0].split(", ")
    }
    assert not owners or needs.package(name) in owners


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("fio", "sudo environments/provision.sh"),
        ("gcc", "environments/host-setup.sh"),
        ("qemu-system-x86_64", "sudo apt-get install qemu-system-x86"),
        # Of a machine of ours, and of no user's: provision.sh installs none on a host.
        ("sshd", "environments/host-setup.sh test-real-packages.txt"),
        ("of-no-list", "sudo apt-get install of-no-list"),
    ],
)
def test_the_command_is_the_one_that_brings_it(name, command):
    assert needs.command(name) == command
