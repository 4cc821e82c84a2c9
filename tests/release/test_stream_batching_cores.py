"""Study 5 with host and target on processors of their own: trials, proof, claims."""

import json

import pytest

from elevatorlab import testbeds
from elevatorlab.results import reading
from helpers import every_core_busy, run_into
from stream_batching_cores_support import expanded


@pytest.mark.multicore
def test_both_sides_keep_to_their_processors_with_the_same_bits(tmp_path):
    """The proof is in the result, and the result is the same with every core of the host busy."""
    chosen = {"cores": (1,), "schedulers": ("sbq",), "depths": (64,)}
    (one,) = expanded("smoke", **chosen)
    testbed = testbeds.get("deterministic?cpus=2", say=lambda text: None)
    testbed.prepare([one])
    quiet = run_into(tmp_path / "quiet", testbed, one)
    result = json.loads((quiet / "result.json").read_text())
    (proof,) = [proof for proof in result["proofs"] if proof["knob"] == "processors"]
    assert proof["written"] == "host 0; target 1" and "none elsewhere" in proof["read"]
    with every_core_busy():
        busy = run_into(tmp_path / "busy", testbed, one)
    assert reading.digest(busy) == reading.digest(quiet)
