"""A virtual machine inside the deterministic one: proven knobs, and the same bits each time."""

import json

import pytest

from deterministic_runs import run  # noqa: F401  (fixture)
from elevatorlab.results import reading
from guests import make_guest  # noqa: F401  (fixture)
from helpers import every_core_busy, fio, result_of

pytestmark = [pytest.mark.image, pytest.mark.anew]


def test_both_schedulers_are_proven_and_bits_are_the_same(run, make_guest):
    trial = make_guest(
        {"scheduler": {"name": "kyber"}},
        scheduler={"name": "mq-deadline"},
        workloads=(fio(number_ios=40, size="16M", thinktime=5000),),
    )
    quiet = run(trial)
    found = result_of(quiet)
    proofs = {one["knob"]: one["read"] for one in found["proofs"]}
    assert proofs["/sys/class/block/elevatorlab/queue/scheduler"] == "mq-deadline"
    assert proofs["virtual machine main: /sys/class/block/vda/queue/scheduler"] == "kyber"
    assert proofs["virtual machine main: aio"] == "native"
    assert json.loads((quiet / "raw/main.exits.json").read_text())["exits"] > 40
    with every_core_busy():
        assert reading.digest(run(trial)) == reading.digest(quiet)
