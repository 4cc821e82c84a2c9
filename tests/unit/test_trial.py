"""Trials: the hash, what is refused and in which words, and the way to JSON and back."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elevatorlab import studies
from elevatorlab.plugins.profiles import PROFILES
from elevatorlab.testbeds.remote.host import HostTestbed
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
    "processors": 2,
    "rounds": {"slot_instructions": 200},
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


ENDLESS = {"kind": "endless_write", "name": "writer", "group": "main"}
READS = {"kind": "timed_reads", "name": "cat", "group": "main", "sizes_mib": [1], "cache": "warm"}
PHASES = [{"duration_s": 1}, {"duration_s": 1, "writers": 2}]
WRITES = {"kind": "paced_writes", "name": "writer", "group": "main", "request_bytes": 4096}
WRITES |= {"phases": PHASES}
POINTS = {"kind": "fio_points", "name": "points", "group": "main", "options": {}}
POINTS |= {"points": [{"iodepth": 1}, {"iodepth": 2}]}
POINTS |= {"ramp_ms": 100, "counted_ms": 500, "window_ms": 1000}
IOSTAT = {"kind": "iostat", "name": "witness", "group": "main", "interval_s": 2, "count": 3}
AT = [{"at_us": 0, "offset_bytes": 0}, {"at_us": 2500, "offset_bytes": 8192}]
REPLAY = {"kind": "replay", "name": "replay", "group": "main", "requests": AT}
FAR = {**REPLAY, "requests": [{"at_us": 0, "offset_bytes": 64 << 20}]}
PACED = {"kind": "paced_disk", "profile": "x", "size_mib": 8, "service_us": 1}
SLOW = {**profile("sata_ssd", 64).model_dump(), "bandwidth_mib_s": 62}
DEVICE = {"name": "device"}  # what the disk's own rows are called

#: Changes of a trial, the field or workload that is named, and what was found.
REFUSED = [
    ({"groups": ({"name": "main"}, {"name": "main"})}, "groups", "main, main"),
    ({"workloads": (fio(), fio())}, "workloads", "found reader, reader"),
    ({"workloads": (fio(group="other"),)}, "workload reader", "found 'other'"),
    ({"workloads": (READS,)}, "workload cat", "timed_reads needs a file system"),
    ({"filesystem": "ext4", "device": PACED}, "filesystem", "found ext4"),
    ({"regulator": {"policy": "slae", "threshold": 0.7}}, "regulator", "found threshold"),
    ({"warm_up_s": 2, "workloads": (WRITES,)}, "warm_up_s", "less than the 2 s of workload writer"),
    (
        {"deadline_s": 1.9, "workloads": (WRITES,)},
        "deadline_s",
        "the 2 s that workload writer takes",
    ),
    ({"deadline_s": 3, "workloads": (POINTS,)}, "deadline_s", "the 3.2 s that workload points"),
    ({"workloads": ({**POINTS, "traced_points": [1, 2]},)}, "traced_points", "found 2"),
    ({"workloads": ({**POINTS, "least_ms": [1]},)}, "least_ms", "each of the 2 points"),
    (
        {"deadline_s": 6, "workloads": ({**POINTS, "least_ms": [50, 2000]},)},
        "deadline_s",
        "the 6.1 s that workload points",  # 0.1 + 0.5 + 1, and 2 + 0.5 + 2
    ),
    (
        {"deadline_s": 5, "workloads": (IOSTAT,)},
        "deadline_s",
        "the 6 s that workload witness takes",
    ),
    ({"filesystem": "ext4", "workloads": (REPLAY,)}, "workload replay", "found ext4"),
    ({"workloads": ({**REPLAY, "requests": AT[::-1]},)}, "at_us 0 after 2500", "request 1 from 0"),
    ({"workloads": (FAR,)}, "device.size_mib", "expected at least 65"),
    ({"divided": True, "filesystem": "ext4"}, "divided", "found ext4"),
    ({"filesystem": "ext4", "workloads": (ENDLESS,)}, "workloads", "found only endless ones"),
    ({"device": profile("nvme_ssd", 257)}, "device.size_mib", "memory_mib - 256 = 256"),
    ({"device": SLOW}, "device.bandwidth_mib_s", "at least 63"),
    ({"groups": (DEVICE,), "workloads": (fio(group="device"),)}, "groups", "found 'device'"),
    ({"backing_scheduler": "none"}, "backing_scheduler", "found null_blk"),
    ({"device": {"kind": "disk", "id": "/dev/sdb", "destroy": True}}, "device.id", "'/dev/sdb'"),
    ({"device": {"kind": "disk", "destroy": True}}, "device.id", "required, and not given"),
    ({"device": {"kind": "floppy", "size_mib": 1}}, "device", "'disk', 'drive', 'file_backed'"),
    ({"machine": "cloud"}, "machine", "'host' or 'virtual_machine'"),
    ({"sed": 1}, "sed", "no such parameter (given: 1)"),
    ({"scheduler": {"name": "none", "tunable": {}}}, "scheduler.tunable", "no such parameter"),
    ({"scheduler": {"name": "noop"}}, "scheduler.name", "given: 'noop'"),
    ({"seed": "one"}, "seed", "given: 'one'"),
    ({"deadline_s": 0}, "deadline_s", "greater than 0 (given: 0)"),
    ({"settle_s": float("nan")}, "settle_s", "given: nan"),
    ({"groups": ({"name": "../x"},)}, "groups.0.name", "given: '../x'"),
]


@pytest.mark.parametrize(("changes", "place", "found"), REFUSED)
def test_what_cannot_be_is_refused_by_its_place_and_what_was_found(
    changes, place, found, make_trial, error_of
):
    content = json.loads(make_trial().model_dump_json())
    said = error_of(parse, {**content, **changes})
    assert said.startswith("trial: ") and place in said and found in said


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
    sizes = st.lists(positive, min_size=1, max_size=4)
    options = st.dictionaries(st.text(), st.text() | st.integers(), max_size=4)
    kinds = {
        "timed_reads": {"sizes_mib": sizes, "cache": caches},
        "fio": {"options": options},
        "iostat": {"count": st.integers(1, 100)},
    }
    common = {"group": st.sampled_from(groups)}
    kinds = [
        st.fixed_dictionaries({**common, "kind": st.just(kind), **fields})
        for kind, fields in kinds.items()
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
