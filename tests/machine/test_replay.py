"""Requests at given times reach the disk when they are due, in the order of the trial."""

import json

import pytest

from elevatorlab.results import trace
from helpers import run_into

OFFSETS_KIB = (4096, 64, 32768, 8, 128)
REQUESTS = [
    {"at_us": 5000 * number, "offset_bytes": offset_kib << 10, "write": number == 3}
    for number, offset_kib in enumerate(OFFSETS_KIB)
]


@pytest.fixture(scope="module")
def replayed(testbed, make_trial, tmp_path_factory):
    """Return the folder of a trial: five requests for a disk that serves one in 20 ms."""
    slow = {"kind": "null_blk", "profile": "x", "size_mib": 64, "service_time_us": 20_000}
    replay = {"kind": "replay", "name": "replay", "group": "main", "requests": REQUESTS}
    trial = make_trial(
        device={**slow, "parallelism": 1},
        scheduler={"name": "mq-deadline", "tunables": {"nr_requests": 64}},
        workloads=(replay,),
        trace=True,
    )
    testbed.prepare([trial])
    return run_into(tmp_path_factory.mktemp("replayed"), testbed, trial)


@pytest.mark.image
def test_requests_come_when_they_are_due(replayed):
    found = trace.requests(trace.read(replayed)).sort_values("inserted_s")
    assert found["sector"].tolist() == [2 * offset_kib for offset_kib in OFFSETS_KIB]
    assert found["operation"].str[0].tolist() == ["R", "R", "R", "W", "R"]
    assert found["inserted_s"].diff().dropna().between(0.0045, 0.0055).all()


@pytest.mark.image
def test_each_request_s_latency_counts_from_when_it_was_sent(replayed):
    result = json.loads((replayed / "result.json").read_text())
    requests = result["workloads"]["replay"]["requests"]
    assert len(requests) == len(REQUESTS)
    assert requests[0]["latency_us"] == pytest.approx(20_000, rel=0.05)
    assert all(one["latency_us"] > 20_000 and 0 <= one["late_us"] < 1000 for one in requests)
