"""The block layer's own events, true to the trial; and requests that come when they are due."""

import pandas as pd
import pytest

from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.observe import trace as tracer
from elevatorlab.agent.observe import tracefs
from elevatorlab.errors import ElevatorLabError
from elevatorlab.results import trace
from helpers import fio, null_disk, result_of, run_into

PRINTED = """\
# tracer: nop
             fio-250     [000] .....    12.500000: block_rq_insert: 252,0 R 4096 () 1024 + 8 [fio]
             fio-250     [000] .....    12.500010: block_bio_backmerge: 252,0 R 1032 + 8 [fio]
    kworker/0:1H-60      [000] .....    12.500020: block_rq_issue: 252,0 R 8192 () 1024 + 16 [kworker/0:1H]
          <idle>-0       [000] d.h1.    12.500120: block_rq_complete: 252,0 R () 1024 + 16 [0]
    kworker/0:1H-60      [000] .....    12.500130: block_rq_issue: 252,0 FF 0 () 18446744073709551615 + 0 [kworker/0:1H]
"""  # noqa: E501
#: Newer kernels print the priority, too.
NEWER = " x-1 [000] ..... 1.000000: block_rq_issue: 8,0 R 4096 () 8 + 8 none,0,0 [a b]\n"


def test_events_are_read_as_the_kernel_prints_them():
    rows = list(tracer.rows_since(PRINTED, 12.5))
    assert rows == [
        ("0.000000", "rq_insert", "R", 1024, 4096, "fio"),
        ("0.000010", "bio_backmerge", "R", 1032, 4096, "fio"),
        ("0.000020", "rq_issue", "R", 1024, 8192, "kworker/0:1H"),
        ("0.000120", "rq_complete", "R", 1024, 8192, ""),
        ("0.000130", "rq_issue", "FF", 0, 0, "kworker/0:1H"),
    ]
    assert list(tracer.rows_since(NEWER, 0)) == [("1.000000", "rq_issue", "R", 8, 4096, "a b")]


def test_a_line_that_is_not_understood_is_said():
    with pytest.raises(AgentError, match="expected a block event as Linux 6 prints it"):
        list(tracer.rows_since(PRINTED.replace("252,0", "nvme0n1"), 0))


def test_lost_events_fail_the_trial(tmp_path):
    full = tracer.Trace(False, "sda", None)
    full.wanted, full.text, full.lost = True, PRINTED, 7
    with pytest.raises(AgentError, match="lost 7 events and has 5; expected all of them"):
        full.write(tmp_path, 0)
    assert not list(tmp_path.iterdir())


def test_counts_of_lost_events_are_found():
    stats = "entries: 3\noverrun: 4\ncommit overrun: 0\nbytes: 9\ndropped events: 5\nread events: 0"
    assert tracefs.LOST.findall(stats) == ["4", "5"]


def test_requests_are_put_together_from_events():
    events = pd.DataFrame(list(tracer.rows_since(PRINTED, 12.5)), columns=tracer.COLUMNS)
    found = trace.requests(events.assign(time_s=events["time_s"].astype(float)))
    assert found.to_dict("records") == [
        {
            "sector": 1024,
            "bytes": 8192,
            "operation": "R",
            "process": "fio",
            "inserted_s": 0,
            "issued_s": 2e-05,
            "completed_s": 0.00012,
        }
    ]


def test_a_request_that_grew_at_its_front_keeps_when_it_was_inserted():
    events = [
        (0.0, "rq_insert", "R", 1024, 4096, "fio"),
        (0.1, "bio_frontmerge", "R", 1016, 4096, "cat"),
        (0.2, "rq_issue", "R", 1016, 8192, "kworker"),
        (0.3, "rq_complete", "R", 1016, 8192, ""),
    ]
    columns = ["time_s", "event", "operation", "sector", "bytes", "process"]
    (found,) = trace.requests(pd.DataFrame(events, columns=columns)).to_dict("records")
    assert (found["inserted_s"], found["process"], found["bytes"]) == (0, "fio", 8192)


def test_a_trial_without_a_trace_says_so(tmp_path):
    with pytest.raises(ElevatorLabError, match="expected the result of a trial with trace: true"):
        trace.read(tmp_path)


@pytest.fixture(scope="module")
def traced(testbed, make_trial, tmp_path_factory):
    """Return the folder of a traced trial: 64 random reads by 16 at a time, one served a time."""
    trial = make_trial(
        device=null_disk(1000),
        # By default a scheduler of this disk, which takes one at a time, has room for two.
        scheduler={"name": "mq-deadline", "tunables": {"nr_requests": 64}},
        workloads=(fio(iodepth=16, number_ios=64),),
        trace=True,
    )
    return run_into(tmp_path_factory.mktemp("traced"), testbed, trial)


@pytest.mark.image
def test_every_request_of_a_trial_is_in_its_trace(traced):
    found = trace.requests(trace.read(traced))
    assert len(found) == 64
    assert set(found["operation"]) == {"R"} and set(found["process"]) == {"fio"}
    assert (found["inserted_s"] <= found["issued_s"]).all()
    service_s = found["completed_s"] - found["issued_s"]
    assert service_s.between(0.001, 0.0012).all()  # the disk's own, and an interrupt


@pytest.mark.image
def test_a_trace_shows_an_elevator_at_work(traced):
    sectors = trace.requests(trace.read(traced))["sector"]
    upwards = (sectors.diff().dropna() > 0).mean()
    assert upwards > 0.8  # one downward move a sweep; in a random order one half


@pytest.mark.image
def test_tracing_leaves_nothing_in_the_journal(traced):
    assert "could not undo" not in (traced / "log.txt").read_text()


OFFSETS_KIB = (4096, 64, 32768, 8, 128)
REQUESTS = [
    {"at_us": 5000 * number, "offset_bytes": offset_kib << 10, "write": number == 3}
    for number, offset_kib in enumerate(OFFSETS_KIB)
]


@pytest.fixture(scope="module")
def replayed(testbed, make_trial, tmp_path_factory):
    """Return the folder of a trial: five requests for a disk that serves one in 20 ms."""
    replay = {"kind": "replay", "name": "replay", "group": "main", "requests": REQUESTS}
    trial = make_trial(
        device=null_disk(20_000),
        scheduler={"name": "mq-deadline", "tunables": {"nr_requests": 64}},
        workloads=(replay,),
        trace=True,
    )
    return run_into(tmp_path_factory.mktemp("replayed"), testbed, trial)


@pytest.mark.image
def test_requests_come_when_they_are_due(replayed):
    found = trace.requests(trace.read(replayed)).sort_values("inserted_s")
    assert found["sector"].tolist() == [2 * offset_kib for offset_kib in OFFSETS_KIB]
    assert found["operation"].str[0].tolist() == ["R", "R", "R", "W", "R"]
    assert found["inserted_s"].diff().dropna().between(0.0045, 0.0055).all()


@pytest.mark.image
def test_each_request_s_latency_counts_from_when_it_was_sent(replayed):
    result = result_of(replayed)
    requests = result["workloads"]["replay"]["requests"]
    assert len(requests) == len(REQUESTS)
    assert requests[0]["latency_us"] == pytest.approx(20_000, rel=0.05)
    assert all(one["latency_us"] > 20_000 and 0 <= one["late_us"] < 1000 for one in requests)
