"""A tree of cgroups on this machine, which a test removes again."""

import os

import pytest

from elevatorlab.agent.groups import cgroups
from elevatorlab.agent.lifecycle.journal import Journal


@pytest.fixture
def tree(tmp_path):
    """Return this machine's tree, with a cgroup of this test for its root."""
    found = cgroups.find()
    found.root = found.hierarchy.root / f"elevatorlab-test-{os.getpid()}"
    with Journal(tmp_path / "journal") as journal:
        found.prepare(journal)
        yield found
    assert not found.root.exists()
