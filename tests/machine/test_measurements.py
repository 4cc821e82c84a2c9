"""What trials measure makes sense: schedulers, containers, limits, and the sampler itself."""

import csv
from itertools import groupby

import pytest

from elevatorlab.results import store
from elevatorlab.running import campaign
from helpers import fio, null_disk, result_of

pytestmark = pytest.mark.image

SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
#: Five milliseconds a request, one after the other.
SLOW = null_disk(5000, "slow")
LIMIT = 2_000_000
#: Tells the log where a job runs; fio adds a redirection to it, which `true` takes.
WHERE_AM_I = (
    "for name in pid mnt uts net ipc; do readlink /proc/self/ns/$name >&2; done;"
    "echo ROLE host $(cat /proc/sys/kernel/hostname) >&2;"
    "echo ROLE first $(cat /proc/1/comm) >&2;"
    "echo ROLE cgroup $(cut -d: -f3 /proc/self/cgroup) >&2;"
    "echo ROLE root $(awk '$2 == \"/\" {print $3, $4}' /proc/mounts) >&2;"
    "true"
)


@pytest.fixture(scope="module")
def trials(make_trial):
    """All trials of this file, so that they run side by side, and once."""
    depth_32 = (fio(time_based=1, runtime="100ms", iodepth=32),)
    writer = {"rw": "write", "bs": "64k", "time_based": 1, "runtime": "3s"}
    limited = {"write_bytes_s": LIMIT, "weight": 50}
    roles = (("plain", "process"), ("boxed", "container"))
    return {
        **{name: make_trial(scheduler={"name": name}, workloads=depth_32) for name in SCHEDULERS},
        "tuned": make_trial(
            scheduler={"name": "bfq", "tunables": {"slice_idle": 0, "nr_requests": 32}},
            workloads=depth_32,
        ),
        "limited": make_trial(
            groups=({"name": "main", "limits": limited},), workloads=(fio("writer", **writer),)
        ),
        "roles": make_trial(
            filesystem="ext4",
            groups=[{"name": group, "isolation": isolation} for group, isolation in roles],
            workloads=[
                fio(
                    name,
                    group,
                    rw="write",
                    size="1m",
                    bs="64k",
                    exec_prerun=WHERE_AM_I.replace("ROLE", group),
                )
                for name, group in (("outside", "plain"), ("inside", "boxed"))
            ],
        ),
        # iostat sees all of it: reads and writes start after its window does, and end before.
        # With a scheduler requests queue where both can count them.
        "two witnesses": make_trial(
            device=SLOW,
            scheduler={"name": "mq-deadline"},
            workloads=(
                fio(
                    "mixed",
                    rw="randrw",
                    rwmixread=70,
                    iodepth=4,
                    number_ios=300,
                    startdelay=1,
                    thinktime=30_000,
                    thinktime_blocks=5,
                ),
                {"kind": "iostat", "name": "witness", "group": "main", "interval_s": 6, "count": 1},
            ),
        ),
    }


@pytest.fixture(scope="module")
def results(trials, testbed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measurements")
    campaign.run([campaign.Share(testbed, list(trials.values()))], folder)
    return {name: store.folder(folder, testbed) / trial.hash for name, trial in trials.items()}


def samples(folder, target):
    with open(folder / "samples.csv", newline="") as file:
        return [row for row in csv.DictReader(file) if row["target"] == target]


def proofs(folder):
    return {record["knob"]: record for record in result_of(folder)["proofs"]}


def test_what_schedulers_cost(results):
    iops = {n: result_of(results[n])["workloads"]["reader"]["read"]["iops"] for n in SCHEDULERS}
    # A fast disk at depth 32 is bounded by the processor: more code, fewer requests.
    assert iops["none"] > iops["kyber"] > iops["bfq"]
    assert iops["none"] > iops["mq-deadline"] > iops["bfq"]
    assert iops["none"] < 32 / 80e-6


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_is_proven(results, name):
    signature = {"none": "none, as expected", "mq-deadline": "fifo_batch", "bfq": "slice_idle"}
    record = proofs(results[name])["/sys/class/block/elevatorlab/queue/scheduler"]
    assert (record["written"], record["read"]) == (name, name)
    assert signature.get(name, "read_lat_nsec") in record["probe"]


def test_tunables_are_proven(results):
    found = proofs(results["tuned"])
    queue = "/sys/class/block/elevatorlab/queue"
    assert found[f"{queue}/iosched/slice_idle"]["read"] == "0"
    assert found[f"{queue}/nr_requests"]["read"] == "32"


def test_a_container_is_one(results):
    log = (results["roles"] / "log.txt").read_text()
    for line in (
        "boxed host boxed",
        "boxed first sleep",
        "boxed cgroup /elevatorlab/boxed/container",
        "boxed root overlay rw",
        "plain first python3",
        "plain cgroup /elevatorlab/plain",
    ):
        assert f"\n{line}" in log
    assert "upperdir=/run/elevatorlab/disk/boxed/upper" in log
    assert "\nplain host boxed" not in log
    spaces = [line for line in log.splitlines() if line.endswith("]") and ":[" in line]
    assert len(spaces) == len(set(spaces)) == 10  # both roles have five, none of them shared


def test_a_group_is_charged_for_its_own_requests(results):
    for group in ("plain", "boxed"):
        assert written_kib(samples(results["roles"], group)) >= 1024
    device = written_kib(samples(results["roles"], "device"))
    both = sum(written_kib(samples(results["roles"], group)) for group in ("plain", "boxed"))
    assert both <= device


def written_kib(rows):
    """Add up the rates; whole sectors again, which the rates' rounding to 6 digits hides."""
    ends = [0, *(float(row["time_s"]) for row in rows)]
    kib = sum(
        float(row["write_kib_s"]) * (end - start)
        for row, start, end in zip(rows, ends, ends[1:], strict=False)
    )
    return round(kib * 2) / 2


def test_a_limit_holds(results):
    rows = samples(results["limited"], "main")
    whole = [row for row in rows if float(row["write_kib_s"]) > 0][1:-1]
    assert len(whole) > 15
    mean = sum(float(row["write_kib_s"]) for row in whole) / len(whole)
    assert mean == pytest.approx(LIMIT / 1024, rel=0.1)
    figures = result_of(results["limited"])["workloads"]["writer"]["write"]
    assert figures["kib_s"] == pytest.approx(LIMIT / 1024, rel=0.1)


def test_limits_are_proven(results):
    found = proofs(results["limited"])
    cgroup = "/sys/fs/cgroup/elevatorlab/main"
    limit = found[f"{cgroup}/io.max"]
    assert limit["written"] == limit["read"]
    assert limit["read"].endswith(f" wbps={LIMIT}")
    assert found[f"{cgroup}/io.weight"]["read"] == "default 50"


def test_sampler_and_iostat_agree(results):
    """Both saw every request, so rate times duration is the same for both."""
    found = result_of(results["two witnesses"])
    ours, length_s = found["device"], found["device"]["duration_s"]
    (iostat,) = found["workloads"]["witness"]["reports"]
    theirs = {
        "read_iops": iostat["r/s"],
        "write_iops": iostat["w/s"],
        "read_kib_s": iostat["rkB/s"],
        "write_kib_s": iostat["wkB/s"],
        "queue_length": iostat["aqu-sz"],
        "utilization_ratio": iostat["util"] / 100,
    }
    ratio = {name: ours[name] * length_s / (theirs[name] * 6) for name in theirs}
    assert ratio == pytest.approx(dict.fromkeys(theirs, 1), rel=0.02)
    assert ours["read_await_ms"] == pytest.approx(iostat["r_await"], rel=0.01)
    assert ours["write_await_ms"] == pytest.approx(iostat["w_await"], rel=0.01)
    # The load was one that tells the figures apart.
    assert ours["read_iops"] * length_s + ours["write_iops"] * length_s == pytest.approx(300)
    assert 0.1 < ours["utilization_ratio"] < 0.9
    assert ours["read_await_ms"] > 5


def test_samples_add_up_to_the_whole(results):
    overall = result_of(results["two witnesses"])["device"]
    rows = samples(results["two witnesses"], "device")
    assert written_kib(rows) == pytest.approx(overall["write_kib_s"] * overall["duration_s"])
    # The samples begin before the foreground, the overall rates with it.
    assert 0 <= float(rows[-1]["time_s"]) - overall["duration_s"] < 0.1
    times = [float(row["time_s"]) for row in rows]
    assert [key for key, _ in groupby(times)] == sorted(set(times))
