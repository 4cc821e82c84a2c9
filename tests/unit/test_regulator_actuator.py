"""The actuator: limits are proved, noted before they are set, and always taken back.

Against the real blkio controller where this machine has one that may be written to, and
against io.max files as cgroup v2 writes them.
"""

from pathlib import Path

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.groups.hierarchies import V1, V2
from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.regulator.actuator import LIMITED, Actuator
from elevatorlab.agent.regulator.topology import find_cgroups
from regulator_trees import Tree


@pytest.fixture
def v2(tmp_path):
    tree = Tree(tmp_path, version=2)
    tree.device("sda", "8:0")
    return tree, tree.cgroup("c")


@pytest.mark.parametrize(
    "before, limits",
    [
        ("", (None, None)),
        ("8:0 rbps=max wbps=1048576 riops=max wiops=max\n", (None, 1048576)),
        ("8:16 rbps=5 wbps=5\n8:0 rbps=7 wbps=max riops=2 wiops=9\n", (7, None)),
    ],
)
def test_limits_as_io_max_shows_them(v2, before, limits):
    tree, folder = v2
    (folder / "io.max").write_text(before)
    found = tree.hierarchy.limits(folder, "8:0", LIMITED)
    assert tuple(found[name] for name in LIMITED) == limits


@pytest.mark.parametrize(
    "limits, line",
    [
        ((None, None), "8:0 rbps=max wbps=max"),
        ((1000, 2000), "8:0 rbps=1000 wbps=2000"),
        ((None, 2000), "8:0 rbps=max wbps=2000"),
    ],
)
def test_limits_as_io_max_takes_them(v2, limits, line):
    tree, folder = v2
    wanted = dict(zip(LIMITED, limits, strict=True))
    [(file, value, reader)] = tree.hierarchy.knobs(folder, "8:0", wanted)
    assert (file, value) == (folder / "io.max", line)
    # The kernel answers with all four keys, and with nothing where all are max.
    if limits != (None, None):
        assert reader(f"8:16 rbps=1 wbps=1 riops=1 wiops=1\n{line} riops=max wiops=max\n") == line
    else:
        assert reader("") == line


def test_v2_is_journalled_with_the_limits_that_were(v2, tmp_path):
    tree, folder = v2
    (folder / "io.max").write_text("8:0 rbps=max wbps=5000 riops=max wiops=max\n")
    with Journal(tmp_path / "journal") as journal:
        actuator = Actuator(tree.hierarchy, tree.topology.number, journal)
        actuator.set(tree.target("c", "sda"), 3000)
        assert (folder / "io.max").read_text() == "8:0 rbps=3000 wbps=3000\n"
        before = "8:0 rbps=max wbps=5000"
        assert journal.steps == [["restore_limit", str(folder / "io.max"), before]]
    assert (folder / "io.max").read_text() == "8:0 rbps=max wbps=5000\n"


MOUNTS = {
    "v1": "30 25 0:26 / /cg/blkio rw - cgroup cgroup rw,blkio\n",
    "hybrid": "31 25 0:27 / /cg/unified rw - cgroup2 cgroup2 rw\n"
    "30 25 0:26 / /cg/blkio rw,nosuid shared:7 - cgroup cgroup rw,blkio\n",
}


@pytest.mark.parametrize("text", MOUNTS.values(), ids=MOUNTS)
def test_the_blkio_hierarchy_is_found(tmp_path, text):
    (tmp_path / "mountinfo").write_text(text)
    found = find_cgroups(tmp_path / "mountinfo")
    assert (found.version, str(found.root)) == (1, "/cg/blkio")


@pytest.mark.parametrize("controllers, works", [("cpu io memory", True), ("cpu memory", False)])
def test_v2_needs_the_io_controller(tmp_path, controllers, works):
    (tmp_path / "cgroup.controllers").write_text(controllers + "\n")
    (tmp_path / "mountinfo").write_text(f"31 25 0:27 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    if works:
        assert find_cgroups(tmp_path / "mountinfo").version == 2
    else:
        with pytest.raises(Refused, match="expected the io controller .* found cpu memory; boot"):
            find_cgroups(tmp_path / "mountinfo")


def test_a_host_without_cgroups(tmp_path):
    (tmp_path / "mountinfo").write_text("1 1 254:0 / / rw - ext4 /dev/vda rw\n")
    with pytest.raises(Refused, match="found neither mounted"):
        find_cgroups(tmp_path / "mountinfo")


@pytest.mark.parametrize(
    "hierarchy, text, expected",
    [
        (V1("/cg"), "9:name=systemd:/x\n7:blkio,net:/docker/abc\n0::/\n", "/cg/docker/abc"),
        (V1("/cg"), "0::/docker/abc\n", None),
        (V2("/cg"), "0::/system.slice/abc.scope\n", "/cg/system.slice/abc.scope"),
    ],
)
def test_the_cgroup_of_a_process(hierarchy, text, expected):
    found = hierarchy.path(text)
    assert found == (Path(expected) if expected else None)
