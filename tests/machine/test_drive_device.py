"""A disk with an arm in the deterministic machine: its driver, its trace, and the commands."""

import json
import sys
from typing import ClassVar, Literal

import pandas as pd
import pytest

from elevatorlab.drives import block_traces, replaying, traces
from elevatorlab.paths import DATA
from elevatorlab.plugins.trial_parts import WORKLOADS
from elevatorlab.results import trace
from elevatorlab.trial import WorkloadModel
from elevatorlab.trial.drives import drive
from helpers import FIXTURES, cli, fio, result_of, run_into

TRACE = DATA / "drives/traces/cheetah9lp.csv.gz"
TIMES = ["overhead_us", "waited_us", "seek_us", "rotation_us", "media_us", "bus_us"]

#: The far side of a workload that reads what the driver tells about its drive.
READER = """
from pathlib import Path
from agent.workloads.base import Workload

class Reader(Workload):
    def prepare(self):
        pass

    def run(self):
        folder = Path("/sys/block/drive0/drive")
        self.told = {file.name: file.read_text().split("\\n")[:-1] for file in folder.iterdir()}

    def measurements(self):
        return self.told
"""


class ReadsAttributes(WorkloadModel):
    """A workload of this test."""

    agent: ClassVar[str] = "reading_beside_disk:Reader"
    needs_filesystem: ClassVar[bool] = False

    kind: Literal["reads_attributes"] = "reads_attributes"


@pytest.fixture
def attributes_of(testbed, make_trial, tmp_path, monkeypatch):
    """Return a function that tells what /sys/block/drive0/drive has for a drive."""
    (tmp_path / "reading_beside_disk.py").write_text(READER)
    monkeypatch.syspath_prepend(str(tmp_path))
    WORKLOADS.register("reads_attributes", ReadsAttributes)

    def tell(device):
        workload = {"kind": "reads_attributes", "name": "reader", "group": "main"}
        trial = make_trial(device=device, workloads=[workload])
        folder = run_into(tmp_path / "r", testbed, trial)
        return result_of(folder)["workloads"]["reader"]

    yield tell
    WORKLOADS.unregister("reads_attributes")
    sys.modules.pop("reading_beside_disk", None)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Return a file with the first requests of a trace."""
    file = tmp_path_factory.mktemp("trace") / "few.csv"
    pd.read_csv(TRACE).head(60).to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def replayed(few, testbed, tmp_path_factory):
    device = drive("cheetah9lp")
    requests = traces.read(few, device.drive.capacity_sectors)
    return replaying.replay(device, requests, tmp_path_factory.mktemp("replayed"))


@pytest.mark.image
def test_requests_of_a_trace_take_what_the_model_says(replayed):
    told = replayed.as_json()
    assert told["requests"] == len(replayed.response_ms) == 60
    assert told["mean_ms"] == pytest.approx(told["real_mean_ms"], rel=0.25)
    assert replayed.kinds["requests"].tolist()[0] == 1 + replayed.kinds["requests"][1:].sum() == 60
    arm = trace.arm(replayed.folder)
    parts_ms = arm[TIMES].sum(axis=1) / 1000
    # The driver's own way from and to the block layer.
    assert (replayed.response_ms - parts_ms).between(0, 0.01).all()
    assert (arm["cylinder"].shift() == arm["from_cylinder"])[1:].mean() > 0.5
    assert arm.loc[arm["hit"] == 1, ["seek_us", "rotation_us", "media_us"]].eq(0).all(axis=None)


@pytest.mark.image
def test_a_trace_of_another_tool_keeps_its_idle_time_and_places(testbed, tmp_path):
    """The idle time is that of tests/unit/test_block_traces.py."""
    device = drive("barracuda")
    sectors = device.drive.capacity_sectors
    read = block_traces.load(FIXTURES / "traces" / "trace-msr.csv", sectors)
    replayed = replaying.replay(device, read.requests, tmp_path)
    first, second = trace.requests(trace.read(replayed.folder)).itertuples()
    assert second.issued_s - first.completed_s == pytest.approx(1.327924, abs=0.001)
    assert [first.sector, second.sector] == read.requests["sector"].tolist()
    assert [first.bytes, second.bytes] == [24576, 8192]
    assert replayed.as_json()["real_mean_ms"] == 2.16245


@pytest.mark.image
def test_the_kernel_is_told_what_the_drive_is(replayed):
    proofs = result_of(replayed.folder)["proofs"]
    told = {proof["knob"].rpartition("drive0/")[2]: proof["read"] for proof in proofs}
    assert told["size"] == "17783240" and told["queue/rotational"] == "1"
    assert told["queue/write_cache"] == "write back"


@pytest.mark.image
def test_the_driver_tells_an_array_s_own_cache_and_zones(attributes_of):
    """All numbers are of the eight members together, whose zones lie side by side."""
    device = drive("array-of-eight")
    record, told = device.drive, attributes_of(device)
    buffer = record.buffer
    buffer_bytes = 8 * buffer.segments * buffer.segment_sectors * 512
    assert told["members"] == ["8"] and told["read_buffer_bytes"] == [str(buffer_bytes)]
    assert told["write_cache_bytes"] == [str(buffer_bytes)]
    zones = [list(map(int, line.split())) for line in told["zones"]]
    assert sum(zone[1] for zone in zones) == 8 * record.sectors
    assert [zone[0] for zone in zones[1:]] == [sum(zone[:2]) for zone in zones[:-1]]
    turns_s = record.rotation_rpm / 60
    outermost_bytes_s = 8 * record.zones[0].sectors_per_track * 512 * turns_s
    assert zones[0][2] == pytest.approx(outermost_bytes_s, rel=1e-4)


@pytest.mark.image
@pytest.mark.parametrize(
    "name, segments", [("hp-c3323a", 0), ("barracuda", 1), ("notebook-5400", 16)]
)
def test_the_driver_tells_how_much_may_wait_in_its_buffer(attributes_of, name, segments):
    """Nothing without a write cache; one segment for one stream; else the whole buffer."""
    device = drive(name)
    told = attributes_of(device)
    waits_bytes = segments * device.drive.buffer.segment_sectors * 512
    assert told["write_cache_bytes"] == [str(waits_bytes)]


@pytest.mark.image
def test_what_was_written_is_read_again(testbed, make_trial, tmp_path):
    """fio compares what it reads with what it wrote, on a file system and its flushes."""
    options = {"rw": "randwrite", "size": "1m", "verify": "crc32c", "fsync": 16}
    trial = make_trial(
        device=drive("barracuda"), filesystem="ext4", workloads=(fio("writer", **options),)
    )
    result = result_of(run_into(tmp_path / "r", testbed, trial))
    assert result["workloads"]["writer"]["read"]["requests"] == 256


@pytest.mark.image
def test_the_drive_s_own_queue_sorts_better_than_first_come(testbed, make_trial, tmp_path):
    """Of 32 waiting requests, the one that the arm meets first: about twice as many a second."""
    device = drive("barracuda")
    rates = {}
    for order in ("in_order", "shortest_positioning_time"):
        queue = device.drive.queue.model_copy(update={"depth": 32, "order": order})
        sorted_drive = device.drive.model_copy(update={"queue": queue})
        trial = make_trial(
            device=device.model_copy(update={"drive": sorted_drive}),
            scheduler={"name": "none"},
            workloads=(fio(iodepth=32, runtime="4s", time_based=1),),
        )
        folder = run_into(tmp_path / order, testbed, trial)
        result = result_of(folder)
        rates[order] = result["workloads"]["reader"]["read"]["iops"]
    assert 1.5 < rates["shortest_positioning_time"] / rates["in_order"] < 3


@pytest.mark.image
def test_an_array_has_an_arm_for_each_member(testbed, make_trial, tmp_path):
    """One arm would serve fewer than 200 random reads a second; its cache is kept by a battery."""
    trial = make_trial(
        device=drive("array-of-eight"),
        scheduler={"name": "none"},
        workloads=(fio(iodepth=32, runtime="2s", time_based=1),),
    )
    result = result_of(run_into(tmp_path / "r", testbed, trial))
    assert result["workloads"]["reader"]["read"]["iops"] > 1000
    told = {proof["knob"].rpartition("/")[2]: proof["read"] for proof in result["proofs"]}
    assert told["write_cache"] == "write through" and int(told["size"]) > 8 * 585_000_000


def test_a_drive_is_shown():
    shown = cli("drive", "show", "hp-c3323a", "--json")
    told = json.loads(shown.stdout)
    assert told["turn_ms"] == pytest.approx(11.119, abs=0.001) and len(told["zones"]) == 8
    assert 10 < told["random_read_ms"]["mean"] < 25
    assert "the bus, 0.1455 ms a sector, as where DiskSim" in told["assumptions"][0]


def test_a_bad_drive_ends_the_command_before_anything_starts(tmp_path, few):
    file = tmp_path / "drive.json"
    file.write_text('{"drive": "x"}')
    refused = cli("drive", "replay", file, few)
    assert refused.returncode == 1 and f"{file}:1: source: required" in refused.stderr
