"""Trials on this machine: measured on a real device, every knob proved, everything given back."""

import csv
import json
from pathlib import Path

import pytest

from disks import said
from elevatorlab import testbeds
from elevatorlab.agent.devices import block_device
from elevatorlab.agent.groups import cgroups
from elevatorlab.errors import NotReady, TrialFailed
from elevatorlab.results import store
from elevatorlab.running import campaign
from helpers import fio, result_of
from state import assert_restored, machine_state

pytestmark = [pytest.mark.root, pytest.mark.programs("fio", "iostat", "losetup", "mkfs.ext4")]

LIMIT_IOPS = 200


@pytest.fixture(scope="module")
def host():
    return testbeds.get("host", say=lambda _: None)


@pytest.fixture
def run(host, tmp_path):
    """Return a function that runs a trial on this machine and returns its result's folder."""

    def one(trial, note=lambda _: None):
        before = machine_state()
        try:
            campaign.run([campaign.Share(host, [trial])], tmp_path / "results", note=note)
        finally:
            assert_restored(before, limit_s=0)
        return store.folder(tmp_path / "results", host) / trial.hash

    return one


def rows_of(folder, target):
    with open(folder / "samples.csv", newline="") as table:
        return [row for row in csv.DictReader(table) if row["target"] == target]


def own_disk():
    """Return the disk below the folder for file-backed devices."""
    return block_device.disks_below("/var/tmp")[0]


def selected(name):
    return Path("/sys/class/block", name, "queue/scheduler").read_text().split("[")[1].split("]")[0]


def test_a_trial_from_beginning_to_end(run, make_real_trial):
    told = []
    folder = run(make_real_trial(scheduler={"name": "bfq"}), told.append)
    result = result_of(folder)
    assert result["outcome"] == "finished"
    assert result["workloads"]["reader"]["read"]["requests"] > 10
    proofs = {proof["knob"]: proof for proof in result["proofs"]}
    (scheduler,) = (proof for knob, proof in proofs.items() if knob.endswith("queue/scheduler"))
    assert scheduler["read"] == "bfq" and "slice_idle" in scheduler["probe"]
    assert json.loads((folder / "raw/reader.fio.json").read_text())["fio version"]
    assert [line.rpartition("] ")[2] for line in told if "is ready" not in line] == [
        *("start", "groups are ready", "files are ready", "measured")
    ]


def test_where_it_ran_is_in_the_provenance_alone(run, host, make_real_trial):
    folder = run(make_real_trial())
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["testbed"] == "host"
    assert provenance["machine"] == host.machine() and len(provenance["machine"]) == 16
    assert provenance["kernel"] == Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert provenance["packages"]["fio"]
    assert provenance["accelerator"] and provenance["host"]["disks"] == [own_disk()]
    assert provenance["clock_skew_s"] == pytest.approx(0, abs=1)
    everything = (folder / "result.json").read_text() + (folder / "trial.json").read_text()
    assert provenance["machine"] not in everything


def test_limits_bite_the_group_that_has_them(run, make_real_trial):
    options = {"runtime": "2s", "time_based": 1, "iodepth": 4}
    trial = make_real_trial(
        groups=(
            {"name": "slow", "limits": {"read_iops": LIMIT_IOPS, "write_bytes_s": 1 << 20}},
            {"name": "free"},
        ),
        workloads=(fio("held", "slow", **options), fio("free", "free", **options)),
    )
    result = result_of(run(trial))
    limits = [proof for proof in result["proofs"] if "/elevatorlab/slow/" in proof["knob"]]
    version = cgroups.find().number
    names = {
        1: {"blkio.throttle.read_iops_device", "blkio.throttle.write_bps_device"},
        2: {"io.max"},
    }[version]
    assert {Path(proof["knob"]).name for proof in limits} == names
    assert all(proof["read"] == proof["written"] for proof in limits)
    held, free = (result["workloads"][name]["read"]["iops"] for name in ("held", "free"))
    assert held == pytest.approx(LIMIT_IOPS, rel=0.25)
    assert free > 1.5 * held


def test_groups_are_told_apart_in_the_samples(run, make_real_trial):
    trial = make_real_trial(
        groups=({"name": "one"}, {"name": "two"}),
        workloads=(
            fio("busy", "one", runtime="1s", time_based=1, rate_iops=300),
            fio("quiet", "two", number_ios=1),
        ),
    )
    folder = run(trial)
    sums = {
        name: sum(float(row["read_iops"]) for row in rows_of(folder, name))
        for name in ("device", "one", "two")
    }
    assert sums["one"] > 20 * sums["two"] > 0
    assert sums["device"] == pytest.approx(sums["one"] + sums["two"], rel=0.02)


def test_the_scheduler_of_the_disk_below_is_set_and_restored(run, make_real_trial):
    name, seen = own_disk(), {}
    before = selected(name)
    other = "kyber" if before != "kyber" else "bfq"

    def watch(text):
        if "groups are ready" in text:
            seen["during"] = selected(name)

    folder = run(make_real_trial(backing_scheduler=other), watch)
    assert seen == {"during": other}
    assert selected(name) == before
    (proof,) = (p for p in result_of(folder)["proofs"] if f"/{name}/" in p["knob"])
    assert (proof["written"], proof["read"]) == (other, other)


def test_while_a_disk_serves_a_virtual_machine_no_other_trial_touches_it(
    host, run, make_real_trial
):
    """Both would give back the scheduler that the other one had chosen."""
    other = "kyber" if selected(own_disk()) != "kyber" else "bfq"
    what = "backing-scheduler", other, "/var/tmp"
    with host.far.held("no", *what, say=pytest.fail, alone=True) as proofs:
        assert [proof["read"] for proof in proofs] == [other]
        with pytest.raises(TrialFailed, match="another trial runs on this machine"):
            run(make_real_trial())
        with pytest.raises(TrialFailed, match="no: another trial runs on this machine"):
            with host.far.held("no", *what, say=pytest.fail, alone=True):
                pytest.fail("it was done beside the first")
    assert result_of(run(make_real_trial()))["outcome"] == "finished"


def test_files_on_a_file_system(run, make_real_trial):
    cat = {"kind": "timed_reads", "name": "cat", "group": "main", "sizes_mib": [1, 4]}
    writer = {"kind": "endless_write", "name": "writer", "group": "main", "direct": True}
    trial = make_real_trial(
        filesystem="ext4", workloads=(writer, {**cat, "cache": "dropped"}), settle_s=0.1
    )
    reads = result_of(run(trial))["workloads"]["cat"]["reads"]
    assert [read["bytes_read"] for read in reads] == [1 << 20, 4 << 20]
    for read in reads:
        assert read["time_ns"] > 0
        assert read["storage_read_bytes"] >= read["bytes_read"]


class TestNamedDisk:
    """A disk of the machine, named by its id."""

    def trial(self, make_real_trial, stable_id, **more):
        return make_real_trial(
            device={"kind": "disk", "id": stable_id, "destroy": True, **more},
            scheduler={"name": "bfq"},
            workloads=(fio(number_ios=20, size="1M"),),
            filesystem="ext4",
        )

    def test_it_is_used_and_given_back(self, run, make_real_trial, disk, by_id):
        before = selected(disk)
        folder = run(self.trial(make_real_trial, by_id(disk)))
        proofs = result_of(folder)["proofs"]
        assert proofs[0]["knob"] == "disk elevatorlab-test-disk"
        assert proofs[1]["knob"] == f"/sys/class/block/{disk}/queue/scheduler"
        assert selected(disk) == before
        assert 'TYPE="ext4"' in said("blkid", "--probe", f"/dev/{disk}")

    def test_without_destroy_nothing_is_written(self, run, make_real_trial, disk, by_id):
        said("mkfs.ext4", "-q", "-L", "precious", f"/dev/{disk}")
        trial = self.trial(make_real_trial, by_id(disk), destroy=False)
        with pytest.raises(TrialFailed, match="expected the trial to say destroy: true"):
            run(trial)
        assert "precious" in said("blkid", "--probe", f"/dev/{disk}")


class TestRefused:
    """What this machine cannot run is said before, or in the agent's one sentence."""

    def test_a_file_too_large_for_the_disk(self, run, make_real_trial):
        trial = make_real_trial(device={"kind": "file_backed", "size_mib": 1 << 30})
        with pytest.raises(TrialFailed) as failure:
            run(trial)
        said = str(failure.value)
        assert f"MiB free; expected {(1 << 30) + 64} MiB for the file of the device" in said
        assert "choose a smaller preset" in said

    def test_a_trial_of_another_testbed(self, host, make_real_trial):
        with pytest.raises(NotReady, match="belong on another testbed than host"):
            campaign.divide([(host, [make_real_trial(machine="virtual_machine")])])
        container = [{"name": "main", "isolation": "container"}]
        with pytest.raises(NotReady, match="containers on `docker`"):
            campaign.divide([(host, [make_real_trial(groups=container, filesystem="ext4")])])


def test_a_failed_trial_is_run_again(run, make_real_trial, tmp_path):
    """What failed leaves no result, and the same command tries again."""
    endless = fio(thinktime=1_000_000, number_ios=100_000)
    trial = make_real_trial(workloads=(endless,), deadline_s=1)
    for _ in range(2):
        with pytest.raises(TrialFailed):
            run(trial)
        assert [path for path in tmp_path.rglob("*") if path.name == "result.json"] == []
