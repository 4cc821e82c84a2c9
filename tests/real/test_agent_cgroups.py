"""Control groups of both versions: counters, limits and their proofs, and no process left."""

import subprocess
import sys

import pytest

from cgroup_tree import tree  # noqa: F401  (fixtures)
from elevatorlab.agent.errors import AgentError, KnobFailed
from elevatorlab.agent.groups import cgroups
from elevatorlab.agent.lifecycle.proofs import Proofs
from helpers import running, wait_until

pytestmark = pytest.mark.root


def in_group(path, *argv, **more):
    """Start a command in a cgroup."""
    enter = f'echo $$ >{path}/cgroup.procs && exec "$@"'
    return subprocess.Popen(["sh", "-c", enter, "sh", *argv], **more)


def test_every_process_of_a_group_ends_even_those_below(tree):
    (tree.root / "one" / "below").mkdir(parents=True)
    (tree.root / "two").mkdir()
    sleepers = [in_group(tree.root / name, "sleep", "100") for name in ("two", "one/below")]
    shy = in_group(tree.root / "one", "sh", "-c", "trap '' TERM INT HUP; sleep 100 & wait")
    wait_until(lambda: len(cgroups.processes(tree.root)) == 4)
    assert tree.of_process(shy.pid) == tree.root / "one"
    cgroups.kill(tree.root)
    assert cgroups.processes(tree.root) == []
    assert [process.wait() for process in (*sleepers, shy)] == [-9, -9, -9]
    cgroups.remove(tree.root)


def test_a_group_that_the_agent_is_in_is_not_killed(tree):
    """The tree's root, for example: every process of the machine is in it, or below."""
    group = tree.root / "one"
    group.mkdir()
    with in_group(group, "sleep", "100") as neighbour:
        kill = f"from elevatorlab.agent.groups import cgroups; cgroups.kill({str(group)!r})"
        agent = in_group(group, sys.executable, "-c", kill, stderr=subprocess.PIPE, text=True)
        said = agent.communicate()[1]
        assert f"expected a cgroup of the trial's own to end; found {group}" in said
        assert (agent.returncode, neighbour.poll()) == (1, None)
        cgroups.kill(tree.root)
    assert neighbour.returncode == -9


def test_a_group_that_is_gone_needs_no_killing(tree):
    cgroups.kill(tree.root / "never")
    cgroups.remove(tree.root / "never")
    assert not running(0x7FFFFFFF)


def test_a_limit_on_a_device_that_is_not_there_is_refused(tree):
    with pytest.raises(KnobFailed, match="did not take: wrote '4095:1048575"):
        tree.limit(tree.root, {"read_iops": 5}, "4095:1048575", Proofs())


def test_a_process_that_nobody_has_waited_for_has_ended_too(tree):
    """Until then the kernel says that it is in the root, with every process of the machine."""
    (tree.root / "one").mkdir()
    ended = in_group(tree.root / "one", "true")
    wait_until(lambda: not running(ended.pid))
    with pytest.raises(AgentError, match=f"process {ended.pid} has ended; expected it to run"):
        tree.of_process(ended.pid)
    ended.wait()
