"""Targets by pattern: cgroups of podman, Kubernetes and systemd that come and go."""

import shutil

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.operations.classes import check_paths, named
from elevatorlab.agent.regulator.targets import NamedCgroups, Pattern
from regulator_trees import Tree

DEVICES = ("loop4",)


@pytest.fixture(params=[1, 2])
def tree(request, tmp_path):
    tree = Tree(tmp_path, request.param)
    tree.device("loop4", "7:4")
    return tree


def cgroup(tree, path):
    """Make a cgroup, and those above it."""
    for above in reversed((tree.root / path).parents):
        name = str(above.relative_to(tree.root)) if above.is_relative_to(tree.root) else "."
        if name != "." and not above.exists():
            tree.cgroup(name)
    return tree.cgroup(path)


def source(tree, *paths, classes=()):
    tree.topology.device_of = lambda path: None
    patterns = [Pattern(path, DEVICES) for path in paths]
    return NamedCgroups(patterns, classes, tree.hierarchy, tree.topology)


def names(source):
    return [target.name for target in source.targets()[0]]


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("system.slice/nginx.service", ["nginx.service"]),
        ("/system.slice/nginx.service", ["nginx.service"]),
        ("system.slice/*.service", ["db@1.service", "nginx.service"]),
        ("machine.slice/libpod-*", ["libpod-c1f.scope", "libpod-conmon-c1f.scope"]),
        ("machine.slice/libpod-[0-9a-f][0-9a-f]*", ["libpod-c1f.scope"]),
        ("kubepods.slice/*/*-pod?.slice", ["burstable-pod1.slice", "burstable-pod2.slice"]),
        ("kubepods.slice/**/*.scope", ["cri-1.scope"]),
        ("no.slice/*", []),
    ],
)
def test_patterns_level_by_level(tree, pattern, found):
    for path in (
        "system.slice/nginx.service",
        "system.slice/db@1.service",
        "machine.slice/libpod-c1f.scope",
        "machine.slice/libpod-conmon-c1f.scope",
        "kubepods.slice/burstable.slice/burstable-pod1.slice/cri-1.scope",
        "kubepods.slice/burstable.slice/burstable-pod2.slice",
    ):
        cgroup(tree, path)
    assert names(source(tree, pattern)) == found


def test_a_pattern_that_fits_none_is_told_once_and_again_when_it_fits_none_again(tree):
    watched = source(tree, "system.slice/*")
    note = "no cgroup fits system.slice/* now"
    assert watched.targets() == ([], [note])
    assert watched.targets() == ([], [])
    folder = cgroup(tree, "system.slice/a.service")
    [target], notes = watched.targets()
    assert (target.name, target.devices, notes) == ("a.service", DEVICES, [])
    shutil.rmtree(folder)
    assert watched.targets() == ([], [note])


def test_a_cgroup_that_comes_back_under_its_name_is_another(tree):
    folder = cgroup(tree, "a.service")
    watched = source(tree, "*.service")
    [before], _ = watched.targets()
    folder.rename(tree.folder / "old")  # so that its inode stays taken
    cgroup(tree, "a.service")
    [after], _ = watched.targets()
    assert (before.name, before.folder) == (after.name, after.folder)
    assert before.key != after.key


def test_the_first_pattern_that_fits_decides_and_equal_names_are_told_apart(tree):
    cgroup(tree, "one/app")
    cgroup(tree, "two/app")
    patterns = [Pattern("one/*", DEVICES, "first"), Pattern("*/*", DEVICES)]
    tree.topology.device_of = lambda path: None
    watched = NamedCgroups(patterns, ["ap*"], tree.hierarchy, tree.topology)
    found = [(target.name, target.sla_class) for target in watched.targets()[0]]
    assert found == [("one/app", "first"), ("two/app", "ap*")]


def test_a_limit_of_version_2_holds_below_so_that_the_outermost_counts(tree):
    cgroup(tree, "pods/pod1/a")
    found = names(source(tree, "pods/*", "pods/*/*"))
    assert found == (["pod1"] if tree.hierarchy.version == 2 else ["pod1", "a"])


def test_a_cgroup_without_the_io_controller_is_left_alone_and_told_once(tree):
    (tree.root / "bare").mkdir()
    watched = source(tree, "*")
    found, [note] = watched.targets()
    assert found == [] and note.endswith(f"bare is left alone: it has no {tree.hierarchy.needed}")
    assert watched.targets() == ([], [])


def test_a_device_that_is_not_there_is_refused(tree):
    with pytest.raises(Refused, match="expected a block device named 'sdz'; found loop4"):
        NamedCgroups([Pattern("*", ("sdz",))], [], tree.hierarchy, tree.topology)


def test_what_an_operator_types(tree):
    cgroup(tree, "a.service")
    patterns = named(["x/*=sdb", "a.service"], ["sda"])
    assert patterns == [Pattern("x/*", ("sdb",)), Pattern("a.service", ("sda",))]
    check_paths(patterns, tree.hierarchy)
    with pytest.raises(Refused, match="expected a block device for cgroup x/\\*; found none"):
        named(["x/*"], [])
    with pytest.raises(Refused, match="expected the cgroup .*/gone; found none"):
        check_paths([Pattern("gone", DEVICES)], tree.hierarchy)
