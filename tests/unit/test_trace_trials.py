"""A trace as the workload of trials: what is sent, on which disk, and what is told of it."""

import json
from types import SimpleNamespace

import pytest

import stored
from elevatorlab.drives import block_traces, trace_trials
from elevatorlab.errors import ElevatorLabError
from elevatorlab.results import reading, replays
from elevatorlab.trial import parse
from helpers import FIXTURES, cli

MSR = FIXTURES / "traces" / "trace-msr.csv"

#: 64 MiB.
CAPACITY = 64 * 2048

#: Of three requests, two overlap on the real disk; the second is sent in two parts.
TEXT = """\
1000000,usr,0,Read,0,4096,20000
1005000,usr,0,Write,1048576,1572864,20000
1030000,usr,0,Read,4096,8192,500
"""


@pytest.fixture
def written(tmp_path):
    file = tmp_path / "usr_0.csv"
    file.write_text(TEXT)
    return file


def bench(arm="host", anywhere=False):
    return SimpleNamespace(anywhere=anywhere, defaults={"arms": (arm,)}, machine=lambda: "m" * 40)


DETERMINISTIC = bench(anywhere=True)


def sent(replay):
    return [(one.at_us, one.offset_bytes, one.size_bytes, one.write) for one in replay.requests]


EXPECTED = [
    (0, 0, 4096, False),
    (500, 1 << 20, 1 << 20, True),
    (500, 2 << 20, 1 << 19, True),
    (3000, 4096, 8192, False),
]


def test_requests_come_as_long_after_the_first_one_as_in_the_trace(written):
    """Whether or not others have ended: 100 ns are a tick of the trace."""
    replay = block_traces.load(written, CAPACITY).workload("replay", "main")
    assert sent(replay) == EXPECTED and replay.in_flight == 256


def test_fast_they_are_all_due_at_once(written):
    replay = block_traces.load(written, CAPACITY, fast=True).workload("replay", "main", 4)
    assert sent(replay) == [(0, *rest) for _, *rest in EXPECTED] and replay.in_flight == 4


def test_this_package_s_own_trace_comes_as_the_real_drive_answered(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text("op,sector,sectors,response_us,next_after_us\nR,5,4,10.5,10\nW,9,4,10.5,20\n")
    replay = block_traces.load(file, CAPACITY).workload("replay", "main")
    assert sent(replay) == [(0, 5 * 512, 2048, False), (20, 9 * 512, 2048, True)]


def test_folded_addresses_are_what_is_left_and_never_reach_behind_the_disk(tmp_path):
    capacity = 1000
    places = {0: 0, 999: 992, 1000: 0, 1001: 1, 2500: 500, 1995: 992}
    file = tmp_path / "trace"
    file.write_text("".join(f"7,R,{at * 512},4096,{n}\n" for n, at in enumerate(places)))
    trace = block_traces.load(file, capacity, fold=True)
    assert trace.requests["sector"].tolist() == list(places.values())
    assert trace.scale is None and trace.as_json()["address_scale"] is None
    kept = block_traces.load(file, 4000, fold=True)
    assert kept.requests["sector"].tolist() == list(places) and kept.scale == 1


def test_there_is_a_trial_for_each_scheduler_and_repetition(written, tmp_path):
    made = trace_trials.prepare(
        written, DETERMINISTIC, ["none", "bfq", "none"], repetitions=2, results=tmp_path
    )
    trials = made.share.trials
    assert [(one.scheduler.name, one.seed, one.repetition) for one in trials] == [
        *(("none", 1, 1), ("bfq", 1, 1), ("none", 2, 2), ("bfq", 2, 2))
    ]
    for one in trials:
        assert sent(one.workloads[0]) == EXPECTED
        assert one.filesystem is None and one.device.profile == "sata_ssd"
        assert one.labels == {"trace": "usr_0.csv", "addresses": "kept"}
        assert parse(json.loads(one.canonical_json())) == one


def test_another_trace_is_another_trial(written, tmp_path):
    def hash_of():
        made = trace_trials.prepare(written, DETERMINISTIC, results=tmp_path)
        return made.share.trials[0].hash

    before = hash_of()
    assert hash_of() == before
    written.write_text(TEXT.replace("8192", "8704"))
    assert hash_of() != before


@pytest.mark.parametrize(
    "arm, machine, isolation",
    [
        ("host", "host", "process"),
        ("container", "host", "container"),
        ("vm", "virtual_machine", "process"),
    ],
)
def test_a_real_testbed_s_trial_runs_in_what_it_offers_on_a_file(written, arm, machine, isolation):
    made = trace_trials.prepare(written, bench(arm), size_mib=300)
    (trial,) = made.share.trials
    assert (trial.machine, trial.groups[0].isolation) == (machine, isolation)
    assert (trial.device.kind, trial.device.size_mib) == ("file_backed", 300)
    assert trial.scheduler.tunables == {}  # the machine's own


@pytest.mark.parametrize("size_mib, capacity_mib", [(None, 2006), (500, 500)])
def test_a_drive_is_used_whole_unless_a_size_is_named(size_mib, capacity_mib, tmp_path):
    made = trace_trials.prepare(
        MSR, DETERMINISTIC, disk="barracuda", size_mib=size_mib, results=tmp_path
    )
    (trial,) = made.share.trials
    furthest = max(one.offset_bytes + one.size_bytes for one in trial.workloads[0].requests)
    assert trial.device.capacity_mib == pytest.approx(capacity_mib, rel=0.01)
    assert furthest == trial.device.capacity_mib << 20


BAD = [
    ({"disk": "ata-X_1", "destroy": True}, "--size-mib: expected how much of the disk"),
    ({"size_mib": 1}, "usr_0.csv:2: expected at most the drive's 2048 sectors; found '3072'"),
    ({"in_flight": 257}, "in_flight.*257"),
    ({"repetitions": 0}, "--repetitions: expected at least 1; found 0"),
    ({"size_mib": -1}, "--size-mib: expected at least 1; found -1"),
]


@pytest.mark.parametrize("given, sentence", BAD, ids=[" ".join(given) for given, _ in BAD])
def test_what_no_trial_can_be_made_of_is_refused(written, tmp_path, given, sentence):
    with pytest.raises(ElevatorLabError, match=sentence):
        trace_trials.prepare(written, bench(), results=tmp_path, **given)


@pytest.mark.parametrize("size_mib", [None, 64])
def test_the_deterministic_testbed_has_no_disk_by_its_id(written, size_mib):
    with pytest.raises(ElevatorLabError, match="--disk: .*sata_ssd.*barracuda.*found 'sda_ssd'"):
        trace_trials.prepare(written, DETERMINISTIC, disk="sda_ssd", size_mib=size_mib)


def test_a_bad_trace_is_refused_with_its_line_before_anything_starts(written, tmp_path):
    written.write_text(TEXT + "1040000,usr,0,Trim,0,512,1\n")
    results = tmp_path / "results"
    ran = cli("replay", written, "--results", results)
    assert ran.returncode == 1 and not results.exists() and ran.stdout == ""
    assert "usr_0.csv:4: expected a line of an MSR Cambridge trace" in ran.stderr


def test_the_table_has_the_two_directions_of_each_replay(written, tmp_path):
    made = trace_trials.prepare(written, DETERMINISTIC, results=tmp_path)
    (trial,) = made.share.trials
    times = [(10, 100), (30, 900), (50, 700), (90, 300)]
    requests = [{"late_us": late, "latency_us": latency} for late, latency in times]
    folder = tmp_path / trial.hash
    folder.mkdir()
    (folder / "trial.json").write_text(trial.canonical_json())
    (folder / "result.json").write_text(
        json.dumps(stored.result({"replay": {"requests": requests}}))
    )
    (folder / "provenance.json").write_text(json.dumps(stored.provenance()))
    read, write = replays.table([reading.read(folder)]).to_dict("records")
    assert (read["direction"], read["requests"], read["moved_bytes"]) == ("read", 2, 12288)
    assert (write["direction"], write["requests"], write["moved_bytes"]) == ("write", 2, 3 << 19)
    assert read["duration_s"] == write["duration_s"] == (3000 + 90 + 300) / 1e6
    assert (read["latency_mean_us"], read["latency_max_us"]) == (200, 300)
    assert (write["latency_p50_us"], write["late_mean_us"], write["late_max_us"]) == (800, 40, 50)
    assert (read["trial"], read["scheduler"], read["testbed"]) == (trial.hash, "none", "stub")
