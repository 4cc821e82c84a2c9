"""Trials: the hash, what is refused and in which words, and the way to JSON and back."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elevatorlab import studies
from elevatorlab.plugins.profiles import PROFILES
from elevatorlab.testbeds.remote.ssh import HostTestbed
from elevatorlab.trial import Trial, parse, profile
from helpers import FIXTURES, fio

STORED = FIXTURES / "trial.json"

#: Another valid value for each field of `make_trial`'s trial.
OTHERS = {
    "study": "another",
    "preset": "full",
    "labels": {"arm": "host"},
    "machine": "virtual_machine",
    "memory_mib": 513,
    "device": profile("nvme_ssd", 65),
    "scheduler": {"name": "bfq", "tunables": {"slice_idle": 0}},
    "backing_scheduler": "bfq",
    "filesystem": "ext4",
    "groups": ({"name": "main", "limits": {"read_iops": 5}},),
    "workloads": (fio(bs="8k"),),
    "settle_s": 0.02,
    "sample_interval_ms": 50,
    "divided": True,
    "io_cost": {"model": {"rbps": 1000000}},
    "trace": True,
    "warm_up_s": 0.5,
    "regulator": {"policy": "ute", "threshold": 0.75},
    "deadline_s": 61,
    "seed": 2,
    "repetition": 2,
}


def test_a_stored_trial_keeps_its_hash():
    # Another value here means that every stored result and the reference lose their trials.
    assert parse(json.loads(STORED.read_text())).hash == "775a01f7df9c54be2389"


def test_every_field_is_in_the_hash_test():
    # Tests of their own: test_plugins.py, test_scheduler_folders.py.
    assert set(OTHERS) == set(Trial.model_fields) - {"schema_version", "plugins", "modules"}


@pytest.mark.parametrize("field", OTHERS)
def test_the_hash_changes_with(field, make_real_trial):
    assert make_real_trial(**{field: OTHERS[field]}).hash != make_real_trial().hash


def test_the_hash_does_not_depend_on_the_spelling(make_trial):
    content = json.loads(make_trial().model_dump_json())
    other_way = dict(reversed(content.items())) | {"deadline_s": 60}
    assert parse(other_way).hash == make_trial(deadline_s=60.0).hash


def test_a_trial_does_not_change(make_trial):
    with pytest.raises(ValueError, match="frozen"):
        make_trial().seed = 3


def two(**changes):
    return ({"name": "main"}, {"name": "main", **changes})


ENDLESS = {"kind": "endless_write", "name": "writer", "group": "main"}
READS = {"kind": "timed_reads", "name": "cat", "group": "main", "sizes_mib": [1], "cache": "warm"}

WRITES = {
    "kind": "paced_writes",
    "name": "writer",
    "group": "main",
    "request_bytes": 4096,
    "phases": [{"duration_s": 1}, {"duration_s": 1, "writers": 2}],
}
POINTS = {
    "kind": "fio_points",
    "name": "points",
    "group": "main",
    "options": {},
    "points": [{"iodepth": 1}, {"iodepth": 2}],
    **{"ramp_ms": 100, "counted_ms": 500, "window_ms": 1000},
}
IOSTAT = {"kind": "iostat", "name": "witness", "group": "main", "interval_s": 2, "count": 3}

REPLAY = {
    "kind": "replay",
    "name": "replay",
    "group": "main",
    "requests": [{"at_us": 0, "offset_bytes": 0}, {"at_us": 2500, "offset_bytes": 8192}],
}

REFUSED = {
    "same group twice": ({"groups": two()}, ["groups", "expected different names", "main, main"]),
    "same workload twice": (
        {"workloads": (fio(), fio())},
        ["workloads", "expected different names", "found reader, reader"],
    ),
    "unknown group": (
        {"workloads": (fio(group="other"),)},
        ["workload reader", "expected a group among main", "found 'other'"],
    ),
    "no file system to read files from": (
        {"workloads": (READS,)},
        ["workload cat", "timed_reads needs a file system"],
    ),
    "a file system on a disk that keeps nothing": (
        {
            "filesystem": "ext4",
            "device": {"kind": "paced_disk", "profile": "x", "size_mib": 8, "service_us": 1},
        },
        ["filesystem", "expected none (null) on a paced_disk", "found ext4"],
    ),
    "a regulator with the other policy's number": (
        {"regulator": {"policy": "slae", "threshold": 0.7}},
        ["regulator", "expected sla_wait_ms with the policy slae", "found threshold"],
    ),
    "nothing left to measure": (
        {"warm_up_s": 2, "workloads": (WRITES,)},
        ["warm_up_s", "expected less than the 2 s of workload writer", "found 2"],
    ),
    "a deadline before the end of the writes": (
        {"deadline_s": 1.9, "workloads": (WRITES,)},
        ["deadline_s", "expected at least the 2 s that workload writer takes", "found 1.9"],
    ),
    "a deadline before the end of the points": (
        {"deadline_s": 3, "workloads": (POINTS,)},
        ["deadline_s", "expected at least the 3.2 s that workload points takes", "found 3"],
    ),
    "a point to trace that is none": (
        {"workloads": ({**POINTS, "traced_points": [1, 2]},)},
        ["traced_points", "expected numbers of the 2 points, from 0", "found 2"],
    ),
    "a deadline before the last report": (
        {"deadline_s": 5, "workloads": (IOSTAT,)},
        ["deadline_s", "expected at least the 6 s that workload witness takes", "found 5"],
    ),
    "a replay on a file system": (
        {"filesystem": "ext4", "workloads": (REPLAY,)},
        ["workload replay", "expected a bare device (filesystem null)", "found ext4"],
    ),
    "a replay that goes back in time": (
        {"workloads": ({**REPLAY, "requests": REPLAY["requests"][::-1]},)},
        ["expected them in the order of time", "found at_us 0 after 2500, as request 1 from 0"],
    ),
    "a replay beyond the end of the disk": (
        {"workloads": ({**REPLAY, "requests": [{"at_us": 0, "offset_bytes": 64 << 20}]},)},
        ["device.size_mib", "expected at least 65", "found 64"],
    ),
    "parts of a device with a file system": (
        {"divided": True, "filesystem": "ext4"},
        ["divided", "expected a bare device", "found ext4"],
    ),
    "nothing that ends": (
        {"filesystem": "ext4", "workloads": (ENDLESS,)},
        ["workloads", "expected at least one that ends", "found only endless ones"],
    ),
    "disk larger than the memory": (
        {"device": profile("nvme_ssd", 257)},
        ["device.size_mib", "expected at most memory_mib - 256 = 256", "found 257"],
    ),
    "a bandwidth with which large requests hang": (
        {"device": {**profile("sata_ssd", 64).model_dump(), "bandwidth_mib_s": 62}},
        ["device.bandwidth_mib_s", "expected 0 (no limit) or at least 63", "found 62"],
    ),
    "a group called like the disk's own rows": (
        {"groups": ({"name": "device"},), "workloads": (fio(group="device"),)},
        ["groups", "expected another name", "found 'device'"],
    ),
    "a scheduler below a disk that has nothing below": (
        {"backing_scheduler": "none"},
        ["backing_scheduler", "expected with a file-backed device", "found null_blk"],
    ),
    "a kernel name for a disk's id": (
        {"device": {"kind": "disk", "id": "/dev/sdb", "destroy": True}},
        ["device.id", "given: '/dev/sdb'"],
    ),
    "a disk without id": (
        {"device": {"kind": "disk", "destroy": True}},
        ["device.id: required, and not given"],
    ),
    "a device of an unknown kind": (
        {"device": {"kind": "floppy", "size_mib": 1}},
        ["device", "'disk', 'drive', 'file_backed', 'null_blk', 'nvme_tcp'", "or 'paced_disk'"],
    ),
    "a machine that is neither": ({"machine": "cloud"}, ["machine", "'host' or 'virtual_machine'"]),
    "unknown key": ({"sed": 1}, ["sed", "no such parameter", "given: 1"]),
    "unknown key deep inside": (
        {"scheduler": {"name": "none", "tunable": {}}},
        ["scheduler.tunable", "no such parameter"],
    ),
    "unknown scheduler": (
        {"scheduler": {"name": "noop"}},
        ["scheduler.name", "'none', 'mq-deadline', 'bfq', 'kyber', '", "given: 'noop'"],
    ),
    "wrong type": ({"seed": "one"}, ["seed", "valid integer", "given: 'one'"]),
    "out of range": ({"deadline_s": 0}, ["deadline_s", "greater than 0", "given: 0"]),
    "not a number": ({"settle_s": float("nan")}, ["settle_s", "finite", "given: nan"]),
    "a path for a name": ({"groups": ({"name": "../x"},)}, ["groups.0.name", "given: '../x'"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, make_trial, error_of):
    changes, parts = REFUSED[case]
    content = json.loads(make_trial().model_dump_json())
    said = error_of(parse, {**content, **changes})
    assert said.startswith("trial: ")
    assert [part for part in parts if part not in said] == [], said


def test_a_missing_field_is_named(error_of):
    assert "device: required, and not given" in error_of(parse, {"study": "x"})


def test_an_unknown_profile_is_refused(error_of):
    assert error_of(profile, "floppy", 1).endswith("found 'floppy'")


def test_a_disk_is_not_overwritten_unless_the_trial_says_so(make_trial):
    assert make_trial(device={"kind": "disk", "id": "ata-DISK_1"}).device.destroy is False


def test_a_file_backed_device_may_be_larger_than_the_memory(make_trial):
    trial = make_trial(device={"kind": "file_backed", "size_mib": 100_000}, memory_mib=512)
    assert trial.device.size_mib == 100_000


@pytest.mark.parametrize("name", ["vm_vs_container", "iozone_ranking", "innodb_commit"])
def test_below_a_disk_of_ones_own_no_other_is_expected(name):
    study, choice = studies.get(name), {"device": "ata-DISK_1", "destroy": True}
    real = HostTestbed.defaults
    of_the_disk = study.trials(studies.parameters(study, "quick", choice, real))
    assert {(one.device.kind, one.backing_scheduler) for one in of_the_disk} == {("disk", None)}
    of_a_file = study.trials(studies.parameters(study, "quick", {}, real))
    assert {one.backing_scheduler for one in of_a_file} == {"none"}


@pytest.mark.parametrize("name", PROFILES.names())
def test_every_profile_makes_a_device(name):
    assert profile(name, 100).model_dump()["profile"] == name


devices = [
    *(profile(name, 64) for name in PROFILES.names()),
    {"kind": "file_backed", "size_mib": 64},
    {"kind": "disk", "id": "nvme-eui.0025388b91", "destroy": True},
]
names = st.from_regex(r"[a-z][a-z0-9_-]{0,30}", fullmatch=True).filter(lambda n: n != "device")
counts = st.integers(1, 2**40)
positive = st.floats(1e-9, 1e9)
caches = st.sampled_from(["warm", "dropped", "direct"])


@st.composite
def whole_trials(draw):
    groups = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    workloads = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    common = {"group": st.sampled_from(groups)}
    kinds = [
        st.fixed_dictionaries(
            {
                **common,
                "kind": st.just("timed_reads"),
                "sizes_mib": st.lists(positive, min_size=1, max_size=4),
                "cache": caches,
            }
        ),
        st.fixed_dictionaries(
            {
                **common,
                "kind": st.just("fio"),
                "options": st.dictionaries(st.text(), st.text() | st.integers(), max_size=4),
            }
        ),
        st.fixed_dictionaries({**common, "kind": st.just("iostat"), "count": st.integers(1, 100)}),
    ]
    limits = st.fixed_dictionaries({}, optional={"read_iops": counts, "weight": st.just(7)})
    return {
        "study": draw(names),
        "preset": draw(st.sampled_from(["smoke", "quick", "paper", "full"])),
        "labels": draw(st.dictionaries(names, st.text(), max_size=3)),
        "machine": draw(st.sampled_from(["host", "virtual_machine"])),
        "device": draw(st.sampled_from(devices)),
        "scheduler": {"name": "bfq", "tunables": draw(st.dictionaries(names, st.integers()))},
        "groups": [
            {
                "name": name,
                "isolation": draw(st.sampled_from(["process", "container"])),
                "limits": draw(limits),
            }
            for name in groups
        ],
        "workloads": [{**draw(st.one_of(kinds)), "name": name} for name in workloads],
        "settle_s": draw(st.floats(0, 1e6)),
        "deadline_s": draw(st.floats(100, 1e9)),  # as long as the longest of iostat
        "seed": draw(st.integers(0, 2**63)),
    }


@given(whole_trials())
@settings(deadline=None)
def test_json_and_back(content):
    trial = parse(content)
    again = parse(json.loads(trial.canonical_json()))
    assert again == trial
    assert again.canonical_json() == trial.canonical_json()
    assert again.hash == trial.hash
