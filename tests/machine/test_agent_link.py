"""Delay, rate and queue of the cable between an NVMe/TCP host and its target."""

import json
import re

import pytest

from elevatorlab.agent.devices import link

TEN = {"rate_gbit_s": 10, "delay_us": 35, "queue_packets": 1000}


@pytest.mark.image
@pytest.mark.parametrize("wanted", [TEN, {**TEN, "rate_gbit_s": 100, "delay_us": 5}])
def test_a_link_in_the_guest_is_proven(testbed, make_trial, wanted):
    """What a trial says of its link is in the result, for both directions."""
    device = {"kind": "nvme_tcp", "backing": make_trial().device, "driver": "stock", "link": wanted}
    trial = make_trial(memory_mib=1024, device=device)
    testbed.prepare([trial])
    result = json.loads(testbed.run(trial).files["result.json"])
    proofs = [proof for proof in result["proofs"] if proof["knob"].startswith("tc qdisc")]
    assert [proof["knob"] for proof in proofs] == [
        "tc qdisc of elevatorlab0",
        "tc qdisc of elevatorlab1",
    ]
    for proof in proofs:
        delay_us, rate_gbit_s, ping_us = map(float, re.findall(r"[\d.]+", proof["probe"]))
        link.check(link.Measured(delay_us, rate_gbit_s), wanted, "port")
        assert ping_us >= 2 * wanted["delay_us"]
        assert proof["read"] == f"rate {wanted['rate_gbit_s']} Gb/s, queue of 1000 packets"
