"""Control groups of both versions: counters, limits and their proofs, and no process left."""

import pytest

from cgroup_tree import tree  # noqa: F401  (fixtures)
from elevatorlab.agent.errors import AgentError, KnobFailed
from elevatorlab.agent.groups import cgroups
from elevatorlab.agent.groups.hierarchies import V1, V2
from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.lifecycle.proofs import Proofs
from helpers import ended

KEYS = ("rbytes", "wbytes", "rios", "wios")


@pytest.mark.parametrize(
    "line, expected",
    [
        ("251:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0", (4096, 8192, 1, 2)),
        ("251:0 rbytes=4096 rios=1", (4096, 0, 1, 0)),
        ("251:0", (0, 0, 0, 0)),
        ("8:0 rbytes=1 wbytes=1 rios=1 wios=1", (0, 0, 0, 0)),
        ("", (0, 0, 0, 0)),
    ],
)
def test_counters_of_version_2(tmp_path, line, expected):
    (tmp_path / "io.stat").write_text(line + "\n" if line else "")
    counters = cgroups.Tree(V2(tmp_path)).counters(tmp_path, "251:0")
    assert tuple(counters[key] for key in KEYS) == expected


#: As the kernel writes it (6.1): a line for each device and direction, then a total.
SERVICE_BYTES = """\
254:0 Read 999
254:0 Write 999
7:0 Read 4096
7:0 Write 8192
7:0 Sync 12288
7:0 Async 0
7:0 Discard 5
7:0 Total 12288
Total 13286
"""

SERVICED = "7:0 Read 1\n7:0 Write 2\n7:0 Sync 3\n7:0 Async 0\n7:0 Total 3\nTotal 3\n"


def test_counters_of_version_1(tmp_path):
    (tmp_path / "blkio.throttle.io_service_bytes_recursive").write_text(SERVICE_BYTES)
    (tmp_path / "blkio.throttle.io_serviced_recursive").write_text(SERVICED)
    counters = cgroups.Tree(V1(tmp_path)).counters(tmp_path, "7:0")
    assert tuple(counters[key] for key in KEYS) == (4096, 8192, 1, 2)
    unknown = cgroups.Tree(V1(tmp_path)).counters(tmp_path, "7:1")
    assert set(unknown.values()) == {0}


def test_only_a_controller_that_was_off_is_switched_off_again(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    switch = tmp_path / "cgroup.subtree_control"
    switch.write_text("cpu memory\n")
    tree, journal = cgroups.Tree(V2(tmp_path)), Journal(tmp_path / "journal")
    tree.prepare(journal)
    assert journal.steps == [["write", str(switch), "-io"], ["remove_cgroup", str(tree.root)]]


def test_version_2_is_preferred(tmp_path):
    (tmp_path / "blkio").mkdir()
    (tmp_path / "blkio/blkio.throttle.io_service_bytes").touch()
    assert cgroups.find(tmp_path).number == 1
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu memory pids\n")
    assert cgroups.find(tmp_path).number == 1, "a unified tree without I/O is of no use"
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    assert cgroups.find(tmp_path).number == 2


def test_a_machine_without_io_cgroups(tmp_path):
    with pytest.raises(AgentError, match="has neither a cgroup v2 tree .* nor a v1 tree blkio"):
        cgroups.find(tmp_path)


def test_a_limit_of_version_2_that_did_not_take(tmp_path):
    (tmp_path / "io.max").write_text("")
    tree = cgroups.Tree(V2(tmp_path))
    with pytest.raises(KnobFailed) as failure:
        # A plain file keeps the words in the order of writing; the kernel answers in its own.
        tree.prove(tmp_path, "read_iops", 5, "7:0", Proofs())
    assert "io.max did not take: wrote '7:0 riops=5', read back ''" in str(failure.value)


def test_the_answer_of_io_max_is_compared_for_what_was_set(tmp_path):
    text = (
        "8:0 rbps=1 wbps=max riops=max wiops=max\n251:0 rbps=max wbps=2000000 riops=max wiops=9\n"
    )
    (tmp_path / "io.max").write_text(text)
    tree, proofs = cgroups.Tree(V2(tmp_path)), Proofs()
    tree.prove(tmp_path, "write_bytes_s", 2000000, "251:0", proofs)
    assert proofs.records[0]["read"] == "251:0 wbps=2000000"
    with pytest.raises(KnobFailed, match="wrote '251:1 wbps=1', read back '8:0 rbps=1 .* wiops=9'"):
        tree.prove(tmp_path, "write_bytes_s", 1, "251:1", proofs)


def test_a_limit_of_version_1_that_somebody_else_set(tmp_path):
    (tmp_path / "blkio.throttle.write_bps_device").write_text("254:0 7\n7:0 1048576\n")
    tree, proofs = cgroups.Tree(V1(tmp_path)), Proofs()
    tree.prove(tmp_path, "write_bytes_s", 1048576, "7:0", proofs)
    assert proofs.records[0]["read"] == "7:0 1048576"
    with pytest.raises(KnobFailed, match="wrote '7:0 5', read back '7:0 1048576'"):
        tree.prove(tmp_path, "write_bytes_s", 5, "7:0", proofs)


def test_the_cgroup_of_a_process_that_has_ended():
    number = ended()
    with pytest.raises(AgentError, match=f"process {number} has ended; expected it to run"):
        cgroups.find().of_process(number)
