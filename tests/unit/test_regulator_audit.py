"""`regulate audit`: each kind of finding on a small copy of a host's files, and hosts in order."""

import json
import os
import re
import threading
import time

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.lifecycle import journal, supervisor
from elevatorlab.agent.operations import cli
from elevatorlab.agent.operations.asked import parsed
from elevatorlab.agent.operations.audit import (
    audit,
    chosen,
    copied_cgroups,
    live_cgroups,
    main,
    page,
)
from elevatorlab.agent.operations.audited_host import Devices, Host
from elevatorlab.agent.operations.findings import Kind, Severity, above_notes
from elevatorlab.agent.regulator.topology import find_cgroups
from elevatorlab.paths import PROJECT
from regulator_trees import Tree

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
MIB = 1 << 20


class Audited(Tree):
    """A live host with the disk sda, its partition sda1, and one cgroup with the process 41.

    While the audit pauses, its processes go on as until then, so all counts double.
    """

    def __init__(self, folder, version, scheduler="none", wbt_us=0):
        super().__init__(folder, version)
        self.disk("sda", "8:0", scheduler, wbt_us)
        self.partition("sda1", "8:1", "sda")
        self.group = self.cgroup("batch")
        self.texts = []
        self.live = True
        self.meanwhile = self.double

    def disk(self, name, number, scheduler="none", wbt_us=0):
        self.device(name, number)
        queue = self.folder / "sys/class/block" / name / "queue"
        queue.mkdir()
        names = dict.fromkeys(("none", "mq-deadline", "bfq", "cfq", scheduler))
        line = " ".join(f"[{one}]" if one == scheduler else one for one in names)
        (queue / "scheduler").write_text(line + "\n")
        (queue / "wbt_lat_usec").write_text(f"{wbt_us}\n")

    def volume(self, name, number, *slaves):
        """Make a logical volume."""
        self.device(name, number)
        for slave in slaves:
            (self.folder / "sys/class/block" / name / "slaves" / slave).mkdir(parents=True)

    def write(self, file, text, group="batch"):
        (self.root / group / file).write_text(text + "\n")

    def limited(self, number="8:0", key="wbps", value=MIB, group="batch"):
        if self.hierarchy.version == 1:
            direction = {"w": "write", "r": "read"}[key[0]]
            self.write(f"blkio.throttle.{direction}_bps_device", f"{number} {value}", group)
        else:
            pairs = dict.fromkeys(("rbps", "wbps", "riops", "wiops"), "max")
            pairs[key] = value
            words = " ".join(f"{name}={figure}" for name, figure in pairs.items())
            self.write("io.max", f"{number} {words}", group)

    def did(self, read=0, written=0, number="8:0", group="batch"):
        """Write what is charged to a cgroup."""
        if self.hierarchy.version == 1:
            self.v1(group, {number: (read >> 12, written >> 12, read, written)})
        else:
            line = f"{number} rbytes={read} wbytes={written} rios=1 wios=1 dbytes=0 dios=0"
            self.write("io.stat", line, group)

    def did_on(self, written, group="batch"):
        """Write what is charged to a cgroup as written, device by device."""
        if self.hierarchy.version == 1:
            self.v1(group, {number: (0, 1, 0, count) for number, count in written.items()})
        else:
            row = "{} rbytes=0 wbytes={} rios=1 wios=1 dbytes=0 dios=0"
            self.write("io.stat", "\n".join(row.format(*one) for one in written.items()), group)

    def process(self, written=0, group="batch", number="41", mountinfo=None, called=0):
        """Put a process into a cgroup, which wrote so many bytes."""
        self.write("cgroup.procs", number, group)
        (self.proc / number).mkdir()
        self.wrote(written, number, called)
        if mountinfo:
            (self.proc / number / "mountinfo").write_text(mountinfo)

    def wrote(self, written, number="41", called=0):
        counts = f"wchar: {called}\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n"
        (self.proc / number / "io").write_text(counts)

    def double(self):
        counts = ("io.stat", "blkio.throttle.io_service*")
        files = [file for name in counts for file in self.root.glob(f"**/{name}")]
        for file in (*files, *self.proc.glob("*/io")):
            numbers = re.compile(r"(?<=[= ])\d+(?= |$)", re.MULTILINE)
            file.write_text(numbers.sub(lambda one: str(2 * int(one[0])), file.read_text()))

    def opened(self, path, mount, flags=os.O_WRONLY, number="41", file="3"):
        """Let a process have a file open."""
        for folder in ("fd", "fdinfo"):
            (self.proc / number / folder).mkdir(exist_ok=True)
        (self.proc / number / "fd" / file).symlink_to(path)
        text = f"pos:\t0\nflags:\t0{flags:o}\nmnt_id:\t{mount}\nino:\t12\n"
        (self.proc / number / "fdinfo" / file).write_text(text)

    def mounted(self, *mounts):
        lines = [mount_line(20 + index, *mount) for index, mount in enumerate(mounts)]
        (self.proc / "self/mountinfo").write_text("".join(lines))

    def controllers(self, folder, own, passed=None):
        (self.root / folder / "cgroup.controllers").write_text(own + "\n")
        if passed is not None:
            (self.root / folder / "cgroup.subtree_control").write_text(passed + "\n")

    def asked(self, what):
        self.texts.append(("FILE", what if isinstance(what, str) else json.dumps(what)))

    def host(self, *patterns):
        groups = chosen(self.hierarchy, patterns)
        state = self.folder / "state"
        return Host(self.hierarchy, self.topology, groups, parsed(self.texts), state, self.folder)

    def found(self):
        host = self.host()
        host.live = self.live
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "sleep", lambda _: self.meanwhile())
            return audit(host)

    def kinds(self):
        """Return (kind, severity) of each finding about the cgroups."""
        return [(finding.kind.value, finding.severity) for finding in self.found()]


def mount_line(number, device, point, kind, options="rw", source="/dev/sda1"):
    return f"{number} 1 {device} / {point} rw,relatime shared:1 - {kind} {source} {options}\n"


def docker(**config):
    return [{"Id": "batch", "Name": "/web", "State": {"Pid": 0}, "HostConfig": config}]


def rate(path, value=MIB):
    return [{"Path": path, "Rate": value}]


@pytest.fixture(params=[1, 2])
def either(request, tmp_path):
    return Audited(tmp_path, request.param)


@pytest.fixture
def v1(tmp_path):
    return Audited(tmp_path, 1)


@pytest.fixture
def v2(tmp_path):
    return Audited(tmp_path, 2)


def test_who_gave_no_answer_is_told(v2):
    host = v2.host()
    host.answers = {"docker": "", "podman": "cannot connect"}
    (found,) = audit(host)
    assert (found.kind, found.severity, found.subject) == (Kind.NOT_ASKED, NOTE, "podman")
    assert "asked: docker;" in page(host, [found])


# Hosts in order


def test_a_host_without_limits_has_no_findings(either):
    assert either.found() == []
    version = either.hierarchy.version
    said = page(either.host(), [])
    assert f"cgroup v{version}, 1 cgroups looked at: 0 limits" in said


def test_a_host_with_ext4_and_the_default_writeback_throttling_has_notes_alone(tmp_path):
    tree = Audited(tmp_path, 2, wbt_us=75000)
    tree.mounted(
        ("8:1", "/", "ext4"),
        ("0:40", "/sys/fs/fuse/connections", "fusectl", "rw", "fusectl"),
        ("0:41", "/var/lib/lxcfs", "fuse.lxcfs", "rw", "lxcfs"),
    )
    tree.controllers(".", "cpuset cpu io memory pids", "cpu io memory pids")
    tree.controllers("batch", "cpu io memory pids", "")
    tree.write("memory.stat", "anon 4096\nfile_dirty 1048576\nfile_writeback 65536")
    tree.limited()
    tree.process(40 * MIB)
    tree.did(written=39 * MIB)
    tree.asked(docker(BlkioDeviceWriteBps=rate("/dev/sda"), BlkioWeight=0))
    found = tree.kinds()
    assert found == [("shared-journal", NOTE), ("writeback-throttling", NOTE)]
    assert not above_notes(tree.found())


def test_a_limit_of_version_1_that_direct_writes_keep_to_is_in_order(v1):
    v1.limited()
    v1.process(61440 << 10)
    v1.did(written=61440 << 10)
    assert v1.found() == []


def test_a_limit_of_version_1_before_anything_was_written_has_a_note(v1):
    v1.limited()
    assert v1.kinds() == [("v1-buffered-writes", NOTE)]


# Limits that the kernel holds


def test_buffered_writes_pass_a_limit_of_version_1_by(v1):
    v1.limited()
    v1.process(10_000 << 10)
    v1.did(written=64 << 10)
    [finding] = v1.found()
    assert (finding.kind.value, finding.severity, finding.subject) == (
        *("v1-buffered-writes", ERROR),
        "batch",
    )
    assert finding.evidence["newly_written_bytes"] == 10_000 << 10
    assert finding.evidence["newly_charged_bytes"] == 64 << 10 and finding.evidence["wbps"] == MIB


def test_an_open_file_tells_that_buffered_writes_of_version_1_pass_a_limit_by(v1):
    """Nothing is written while the audit looks, so no growth tells."""
    v1.meanwhile = lambda: None
    v1.mounted(("8:1", "/", "xfs"))
    v1.limited()
    v1.process(900 * MIB)
    v1.did(written=64 << 10)
    assert v1.kinds() == [("v1-buffered-writes", NOTE)]
    v1.opened("/log", 20, os.O_WRONLY | os.O_DIRECT)
    assert v1.found() == []
    v1.opened("/log", 20, file="4")
    assert v1.kinds() == [("v1-buffered-writes", WARNING)]


@pytest.mark.parametrize(
    "written, charged, severities",
    [(0, 0, {1: NOTE, 2: NOTE}), (10 * MIB, 10 * MIB, {}), (10 * MIB, 0, {1: ERROR, 2: WARNING})],
)
def test_what_a_process_wrote_before_it_was_limited_is_no_proof(
    either, written, charged, severities
):
    """A process counts from its start, and a cgroup from when it got io, or its first limit."""

    def meanwhile():
        either.wrote((500 << 30) + written)
        either.did(written=30 * MIB + charged)

    version = either.hierarchy.version
    either.mounted(("8:1", "/", "xfs"))
    either.limited()
    either.process(500 << 30)
    either.did(written=30 * MIB)
    either.meanwhile = meanwhile
    kind = ("v1-buffered-writes", "uncharged-writes")[version - 1]
    assert dict(either.kinds()).get(kind) is severities.get(version)


def test_a_mount_is_not_blamed_for_what_was_written_before_the_limit(v2):
    v2.mounted(("8:1", "/", "xfs"), ("0:50", "/backup", "nfs4", "rw", "nas:/b"))
    v2.limited()
    v2.process(500 << 30)
    v2.did(written=30 * MIB)
    v2.live = False
    assert v2.kinds() == [("network-writes", NOTE)]


def test_a_copy_shows_a_way_past_a_limit_and_not_that_it_is_used(v2):
    v2.live = False
    v2.mounted(("8:1", "/", "xfs"), ("0:50", "/backup", "nfs4", "rw", "nas:/b"))
    v2.limited()
    v2.process(64 * MIB)
    v2.opened("/backup/file", 21)
    assert v2.kinds() == [("network-writes", WARNING)]
    v2.controllers("batch", "io pids")
    v2.opened("/file", 20, file="4")
    assert v2.kinds() == [("memory-controller-off", WARNING), ("network-writes", NOTE)]


def test_a_host_in_order_is_read_once(either):
    either.limited()
    either.process(64 * MIB)
    either.did(written=64 * MIB)
    either.meanwhile = pytest.fail
    assert not above_notes(either.found())


@pytest.mark.parametrize("in_parent", [0, 61440 << 10])
def test_version_1_does_not_pass_a_limit_on_to_the_cgroup_with_the_processes(v1, in_parent):
    """A pod's limit, with O_DIRECT in its container: all is charged, and nothing is limited."""
    v1.cgroup("batch/container")
    v1.limited()
    v1.did(written=in_parent)
    v1.process(61440 << 10, "batch/container")
    v1.did(written=61440 << 10, group="batch/container")
    [finding] = v1.found()
    assert (finding.kind.value, finding.severity) == ("v1-not-inherited", ERROR)
    assert finding.evidence["cgroups_below"] == ["batch/container"]
    v1.limited(group="batch/container")
    assert v1.kinds() == ([] if in_parent else [("v1-buffered-writes", NOTE)])


def test_version_1_may_be_mounted_so_that_limits_are_inherited(v1):
    (v1.root / "cgroup.sane_behavior").write_text("1\n")
    v1.cgroup("batch/container")
    v1.limited(key="rbps")
    v1.process(0, "batch/container")
    assert v1.found() == []


FOREIGN = [
    ("fuse.s3fs", "rw", "s3fs", "fuse-writes"),
    ("fuseblk", "rw", "/dev/sdz1", "fuse-writes"),
    ("zfs", "rw,xattr", "tank/data", "zfs-writes"),
    ("nfs4", "rw,vers=4.2", "server:/export", "network-writes"),
    ("ext4", "rw,data=journal", "/dev/sda1", "data-journal-writes"),
]


@pytest.mark.parametrize("kind, options, source, name", FOREIGN)
def test_writes_that_others_are_charged_for(v2, kind, options, source, name):
    number = "8:1" if kind == "ext4" else "0:50"
    v2.mounted(("8:2", "/", "xfs", "rw", "/dev/sda2"), (number, "/data", kind, options, source))
    v2.limited()
    v2.process(64 * MIB)
    v2.did(written=MIB)
    assert v2.kinds() == [(name, ERROR)]
    v2.opened("/data/file", 21)
    [finding] = v2.found()
    assert finding.kind.value == name and finding.evidence["mount"] == "/data"


def test_what_is_handed_to_fuse_is_in_no_count_of_bytes_written(either):
    either.mounted(("8:1", "/", "xfs"), ("0:50", "/data", "fuse.s3fs", "rw", "s3fs"))
    either.limited()
    either.process(4096, called=64 * MIB)
    assert either.kinds() == [("fuse-writes", WARNING)]


@pytest.mark.parametrize("kind, options, source, name", FOREIGN[:-1])
def test_open_files_tell_that_a_mount_is_not_the_cause(v1, kind, options, source, name):
    v1.mounted(("8:1", "/", "ext4"), ("0:50", "/data", kind, options, source))
    v1.limited()
    v1.process(64 * MIB)
    assert v1.kinds() == [("v1-buffered-writes", ERROR)]
    v1.opened("/log", 20)
    assert v1.kinds() == [("v1-buffered-writes", ERROR)]
    (v1.proc / "41/fdinfo/3").write_text("pos:\t0\nflags:\t01\nmnt_id:\t21\n")
    assert v1.kinds() == [(name, ERROR)]


@pytest.mark.parametrize(
    "version, controllers, expected",
    [
        (1, "", [("v1-buffered-writes", ERROR), ("network-writes", NOTE)]),
        (2, "io", [("memory-controller-off", ERROR), ("network-writes", NOTE)]),
        (2, "io memory", [("network-writes", ERROR)]),
    ],
)
def test_a_cause_for_all_files_goes_before_one_for_some(tmp_path, version, controllers, expected):
    tree = Audited(tmp_path, version)
    tree.mounted(("8:1", "/", "xfs"), ("0:50", "/logs", "nfs4", "rw", "server:/logs"))
    if controllers:
        tree.controllers("batch", controllers)
    tree.limited()
    tree.process(64 * MIB)
    tree.opened("/logs/a", 21)
    tree.opened("/b", 20, file="4")
    assert tree.kinds() == expected


def test_direct_writers_are_not_buffered_ones(v1):
    v1.mounted(("8:1", "/", "ext4"))
    v1.limited()
    v1.process(64 * MIB)
    v1.opened("/file", 20, os.O_WRONLY | os.O_DIRECT)
    assert v1.found() == []


def test_an_overlay_writes_to_the_file_system_below_it(v2):
    options = "rw,lowerdir=/l,upperdir=/var/lib/docker/overlay2/a/diff,workdir=/w"
    v2.mounted(("8:1", "/", "ext4"), ("0:50", "/var/lib/docker", "zfs", "rw", "tank/docker"))
    v2.limited()
    own = mount_line(90, "0:60", "/", "overlay", options, "overlay")
    v2.process(64 * MIB, mountinfo=own)
    v2.opened("/file", 90)
    assert v2.kinds()[0] == ("zfs-writes", ERROR)


def test_a_file_system_on_the_limits_disk_is_no_matter_of_chance(v2):
    v2.disk("sdb", "8:16")
    v2.limited("8:16")
    v2.mounted(("8:1", "/", "xfs"), ("0:50", "/tank", "zfs", "rw", "tank"))
    assert v2.kinds() == [("zfs-writes", WARNING)]
    v2.mounted(("8:1", "/", "xfs"), ("8:16", "/d", "ext4", "rw,data=journal", "/dev/sdb"))
    assert v2.kinds() == [("data-journal-writes", WARNING)]


def test_a_mount_that_nobody_writes_to_is_worth_a_note(v2):
    v2.mounted(("8:2", "/", "xfs"), ("0:50", "/home", "nfs4", "rw", "server:/home"))
    v2.limited()
    assert v2.kinds() == [("network-writes", NOTE)]


@pytest.mark.parametrize("charged, severity", [(0, ERROR), (64 * MIB, NOTE)])
def test_without_the_memory_controller_the_root_is_charged(v2, charged, severity):
    v2.controllers(".", "cpuset cpu io pids", "io pids")
    v2.controllers("batch", "io pids")
    v2.limited()
    v2.process(64 * MIB)
    v2.did(written=charged)
    assert v2.kinds() == [("memory-controller-off", severity)]


def test_a_limit_of_reads_while_writes_run(either):
    either.limited(key="rbps")
    either.did(read=4096, written=64 * MIB)
    assert either.kinds() == [("other-direction", WARNING)]
    either.did(read=64 * MIB, written=64 * MIB)
    assert either.found() == []


def test_a_limit_on_another_disk_than_the_used_one(either):
    either.disk("sdb", "8:16")
    either.mounted(("8:16", "/", "xfs", "rw", "/dev/sdb"))
    either.limited(key="rbps")
    either.did(read=64 * MIB, number="8:16")
    assert either.kinds() == [("other-disk", WARNING)]
    either.mounted(("8:1", "/", "xfs"), ("8:16", "/d", "xfs", "rw", "/dev/sdb"))
    assert either.kinds() == [("other-disk", NOTE)]  # it may use the limit's disk yet
    either.did(written=64 * MIB, number="8:16")
    assert either.found() == []  # what is not limited tells nothing
    either.did(read=64 * MIB)
    assert either.found() == []


@pytest.mark.parametrize(("key", "found"), [("wiops", 0), ("riops", 1)])
def test_a_limit_of_writes_is_on_a_disk_that_is_discarded_on(v2, key, found):
    """blk-throttle takes a discard for a write of one sector."""
    v2.disk("sdb", "8:16")
    v2.mounted(("8:16", "/", "xfs", "rw", "/dev/sdb"))
    v2.limited("8:0", key)
    moved = "rios=9 wios=9 rbytes=67108864 wbytes=67108864 dbytes=0 dios=0"
    discarded = "rios=0 wios=0 rbytes=0 wbytes=0 dbytes=67108864 dios=9"
    v2.write("io.stat", f"8:16 {moved}\n8:0 {discarded}")
    assert [kind for kind, _ in v2.kinds()] == ["other-disk"] * found


@pytest.mark.parametrize("holder", ["batch", "batch/job/step"])
def test_the_used_disk_may_be_limited_from_above_or_below(v2, holder):
    """Version 2 counts in each cgroup what those below it did."""
    v2.disk("sdb", "8:16")
    v2.volume("dm-0", "253:0", "sdb")
    for group in ("batch/job", "batch/job/step"):
        v2.cgroup(group)
        v2.did(read=64 * MIB, number="253:0", group=group)
    v2.limited("8:0", "rbps", group="batch/job")
    assert v2.kinds() == [("other-disk", WARNING)]
    v2.limited("8:16", "wbps", group=holder)  # of another direction
    assert v2.kinds()[0] == ("other-disk", WARNING)
    v2.limited("8:16", "rbps", group=holder)
    assert "other-disk" not in dict(v2.kinds())


def test_a_limit_on_another_volume_of_the_same_disk(either):
    """The disk's own row does not say which of its volumes was used; the volumes' rows do."""
    for name, number in (("dm-0", "253:0"), ("dm-1", "253:1")):
        either.volume(name, number, "sda")
    either.mounted(("253:1", "/", "xfs", "rw", "/dev/dm-1"))
    either.limited("253:0", "rbps")
    either.did(read=64 * MIB, number="253:1")
    assert either.kinds() == [("other-disk", WARNING)]


def test_what_a_cgroup_can_read_or_swap_to_it_may_use_yet(v2):
    v2.disk("sdb", "8:16")
    v2.did(read=64 * MIB, number="8:0")
    v2.mounted(("8:1", "/", "xfs"))
    v2.limited("8:16", "rbps")
    assert v2.kinds() == [("other-disk", WARNING)]
    (v2.proc / "swaps").write_text("Filename Type\n/dev/sdb partition 1024 0 -2\n")
    assert v2.kinds() == [("other-disk", NOTE)]
    (v2.proc / "swaps").unlink()
    v2.process(number="41", mountinfo=mount_line(20, "8:1", "/", "xfs"))
    second = mount_line(20, "8:16", "/data", "xfs", "ro", "/dev/sdb")
    v2.process(number="42", mountinfo=second)
    v2.write("cgroup.procs", "41\n42")
    assert v2.kinds() == [("other-disk", NOTE)]
    (v2.proc / "42/mountinfo").unlink()
    v2.opened("/dev/sdb", "", os.O_RDONLY, number="42")
    assert v2.kinds() == [("other-disk", NOTE)]


def test_swapping_to_memory_uses_no_disk(v2):
    v2.device("zram0", "252:0")
    v2.limited("8:0")
    v2.did(written=64 * MIB, number="252:0")
    assert v2.found() == []


def test_a_loop_is_on_the_disk_of_its_file(v2):
    v2.disk("sdb", "8:16")
    v2.device("loop0", "7:0")
    v2.mounted(("8:1", "/", "xfs"), ("7:0", "/snap", "xfs", "rw", "/dev/loop0"))
    v2.limited("8:16", "rbps")
    v2.did(read=64 * MIB, number="7:0")
    assert v2.found() == []  # nobody knows
    file = v2.folder / "sys/class/block/loop0/loop/backing_file"
    file.parent.mkdir()
    file.write_text("/var/snap\n")
    assert v2.kinds() == [("other-disk", WARNING)]


@pytest.mark.parametrize("direct", [0, os.O_DIRECT])
def test_a_loop_whose_thread_is_charged_for_the_writes_to_its_file(either, direct):
    kind = ("v1-buffered-writes", ERROR)
    if either.hierarchy.version == 2:
        kind = ("uncharged-writes", WARNING)
    either.device("loop0", "7:0", backing="/var/img")
    either.mounted(("8:1", "/", "xfs"), ("7:0", "/mnt", "xfs", "rw", "/dev/loop0"))
    either.limited()
    either.process(64 * MIB)
    either.opened("/mnt/file", 21, os.O_WRONLY | direct)
    either.did_on({"7:0": 64 * MIB})
    assert either.kinds() == [kind]
    either.did_on({"7:0": 64 * MIB, "8:0": 64 * MIB})
    either.wrote(64 * MIB)
    assert either.found() == []


def test_what_is_written_to_a_loop_elsewhere_is_charged(v2):
    v2.device("loop0", "7:0", backing="/nfs/img")
    mounts = ("0:50", "/nfs", "nfs4", "ro", "nas:/b"), ("7:0", "/mnt", "xfs", "rw", "/dev/loop0")
    v2.mounted(("8:1", "/", "xfs"), *mounts)
    v2.limited()
    v2.process(64 * MIB)
    v2.opened("/mnt/file", 22)
    v2.did_on({"7:0": 64 * MIB})
    assert v2.found() == []


def test_a_limit_below_a_cache_is_not_on_the_disk_that_is_used(either):
    either.disk("nvme0n1", "259:0")
    either.volume("bcache0", "252:0", "sda1", "nvme0n1")
    either.mounted(("252:0", "/", "xfs", "rw", "/dev/bcache0"))
    either.limited()
    either.process(64 * MIB)
    either.opened("/file", 20, os.O_WRONLY | os.O_DIRECT)
    either.did_on({"252:0": 64 * MIB, "259:0": 64 * MIB})
    [finding] = either.found()
    assert (finding.kind, finding.severity) == (Kind.OTHER_DISK, NOTE)
    assert finding.evidence["used_device"] == "259:0"
    either.did_on({"252:0": 64 * MIB, "8:0": 64 * MIB})
    either.wrote(64 * MIB)
    assert either.found() == []


def test_pages_of_another_disk_hold_up_no_journal_of_the_limits(v2):
    v2.disk("sdb", "8:16")
    v2.mounted(("8:1", "/", "ext4"), ("8:16", "/d", "ext4", "rw", "/dev/sdb"))
    v2.limited()
    v2.did(written=64 * MIB)
    v2.write("memory.stat", f"file_dirty {60 * MIB}\nfile_writeback 0")
    assert ("shared-journal", WARNING) in v2.kinds()
    v2.did(written=64 * MIB, number="8:16")
    assert v2.kinds() == [("other-disk", NOTE), ("shared-journal", NOTE)]


def test_a_limit_of_reads_while_writes_run_to_where_the_limit_is_not(v1):
    v1.disk("sdb", "8:16")
    v1.mounted(("8:16", "/", "xfs", "rw", "/dev/sdb"))
    v1.limited(key="rbps")
    v1.process(64 * MIB)
    v1.did(read=64 * MIB, number="8:16")
    assert v1.kinds() == [("other-disk", WARNING)]


def test_a_limit_that_was_dropped_is_why_the_other_disk_has_none(v2):
    v2.disk("sdb", "8:16")
    v2.limited("8:16", "rbps")
    v2.did(read=64 * MIB)
    v2.asked(docker(BlkioDeviceReadBps=[*rate("/dev/sda"), *rate("/dev/sdb")]))
    assert v2.kinds() == [("limit-dropped", ERROR)]


def test_a_limit_of_reads_holds_up_no_writes(tmp_path):
    tree = Audited(tmp_path, 2, wbt_us=75000)
    tree.mounted(("8:1", "/", "ext4"))
    tree.limited(key="rbps")
    assert tree.found() == []


def test_a_parent_that_is_stricter_than_its_child(v2):
    v2.cgroup("batch/inner")
    v2.cgroup("batch/inner/most")
    v2.limited(value=MIB)
    v2.limited(value=8 * MIB, group="batch/inner/most")
    [finding] = v2.found()
    assert (finding.kind.value, finding.severity) == ("parent-stricter", WARNING)
    assert finding.subject == "batch/inner/most" and finding.evidence["parent_wbps"] == MIB
    v2.limited(value=MIB // 2, group="batch/inner/most")
    assert v2.found() == []


def test_a_limit_on_a_partition(either):
    either.limited("8:1")
    assert either.kinds() == [("partition", ERROR)]
    assert either.found()[0].evidence["disk"] == "sda"


@pytest.mark.parametrize("number, kind", [("8:99", "device-gone"), ("0:50", "no-disk")])
def test_a_limit_on_a_number_that_no_disk_has(either, number, kind):
    either.limited(number)
    assert either.kinds() == [(kind, ERROR)]


def test_a_disk_that_is_gone_may_share_its_number_with_a_console(either):
    (either.folder / "sys/dev/char").mkdir()
    (either.folder / "sys/dev/char/7:1").symlink_to("../../devices/virtual/vc/vcs1")
    (either.proc / "devices").write_text(
        "Character devices:\n  7 vcs\n\nBlock devices:\n  7 loop\n"
    )
    either.limited("7:1")
    assert either.kinds() == [("device-gone", ERROR)]
    (either.proc / "devices").write_text("Character devices:\n  7 vcs\n\nBlock devices:\n")
    assert either.kinds() == [("no-disk", ERROR)]


def test_a_disk_in_memory_is_one(either):
    either.device("ram0", "1:0")
    either.limited("1:0", key="rbps")
    assert either.found() == []


@pytest.mark.parametrize("ram_disk", [True, False])
def test_a_limit_on_dev_zero(either, ram_disk):
    (either.folder / "sys/dev/char").mkdir()
    (either.folder / "sys/dev/char/1:5").symlink_to("../../devices/virtual/mem/zero")
    if ram_disk:
        either.device("ram5", "1:5")
    either.limited("1:5")
    if either.hierarchy.version == 1:
        either.v1("batch", {"1:5": (0, 0, 0, 0)})  # which comes with the limit
    assert either.kinds() == [("no-disk", ERROR)]
    assert either.found()[0].evidence["character_device"] == "zero"


@pytest.mark.parametrize(
    "kind, options, findings",
    [
        ("ext4", "rw", [("shared-journal", NOTE)]),
        ("ext4", "rw,data=writeback", []),
        ("xfs", "rw", []),
    ],
)
@pytest.mark.parametrize("number", ["8:1", "253:0"])
def test_a_limit_that_can_pin_a_shared_journal_also_on_logical_volumes(
    v2, number, kind, options, findings
):
    v2.volume("dm-0", "253:0", "sda1")
    v2.volume("dm-1", "253:1", "sda1")
    v2.mounted((number, "/var", kind, options, "/dev/mapper/vg-var"))
    v2.limited()
    assert v2.kinds() == findings
    v2.limited("253:1")
    assert v2.kinds() == []
    v2.limited("8:0")
    v2.write("memory.stat", f"anon 4096\nfile_dirty {60 * MIB}\nfile_writeback 65536")
    assert v2.kinds() == [(name, WARNING) for name, _ in findings]


def test_a_container_holds_up_only_the_journals_that_it_sees(v2):
    v2.partition("sda2", "8:2", "sda")
    v2.mounted(("8:1", "/", "ext4"), ("8:2", "/boot", "ext4"))
    v2.limited()
    v2.process(mountinfo=mount_line(90, "8:1", "/etc/hosts", "ext4"))
    assert [finding.evidence["mount"] for finding in v2.found()] == ["/"]


def test_the_links_of_a_real_sysfs_are_followed(tmp_path):
    disk, volume = tmp_path / "devices/pci0/block/sda", tmp_path / "devices/virtual/block/dm-0"
    for folder in (disk / "sda2", volume / "slaves", volume / "dm"):
        folder.mkdir(parents=True)
    (disk / "sda2/partition").write_text("2\n")
    (volume / "dm/name").write_text("vg-root\n")
    (volume / "slaves/sda2").symlink_to(os.path.relpath(disk / "sda2", volume / "slaves"))
    for number, folder in (("8:0", disk), ("8:2", disk / "sda2"), ("253:0", volume)):
        (folder / "dev").write_text(number + "\n")
        for name in (f"class/block/{folder.name}", f"dev/block/{number}"):
            link = tmp_path / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(folder, link.parent))
    (tmp_path / "block").mkdir()
    (tmp_path / "block/sda").symlink_to("../devices/pci0/block/sda")
    devices = Devices(tmp_path)
    assert devices.names == {"8:0": "sda", "8:2": "sda2", "253:0": "dm-0"}
    assert devices.mapped("vg-root") == "dm-0" and devices.whole("sda2") == "sda"
    assert devices.chain("dm-0") == ["dm-0", "sda2", "sda"] and devices.bottom("dm-0") == ["sda"]


def test_a_row_of_io_stat_is_that_of_the_last_device_before_its_counts(v2):
    """Some kernels print the numbers of devices without counts before it."""
    v2.volume("dm-0", "253:0", "sda1")
    v2.mounted(("8:1", "/", "xfs"), ("0:50", "/home", "nfs4", "rw", "server:/home"))
    v2.limited()
    v2.process(64 * MIB)
    v2.write("io.stat", f"\n7:7 253:0 8:0 rbytes=0 wbytes={64 * MIB}\n252:0 ")
    assert v2.kinds() == [("network-writes", NOTE)]
    v2.limited(key="rbps")
    assert v2.kinds() == [("other-direction", WARNING)]


def test_a_row_of_an_unknown_device_counts_nothing_again(v1):
    """The hidden path of a disk repeats what the disk counts."""
    v1.limited()
    v1.process(64 * MIB)
    v1.v1("batch", {"(unknown)": (0, 1, 0, 32 * MIB), "8:0": (0, 1, 0, 32 * MIB)})
    assert v1.kinds() == [("v1-buffered-writes", ERROR)]


def test_what_a_volume_alone_counts_is_charged(v1):
    """Old kernels lose the cgroup below a volume, so a limit of the disk holds for nothing."""
    v1.volume("dm-0", "253:0", "sda1")
    v1.limited("253:0")
    v1.process(64 * MIB)
    v1.did(written=64 * MIB, number="253:0")
    assert v1.found() == []
    v1.write("blkio.throttle.write_bps_device", f"8:0 {MIB}")
    assert v1.kinds() == [("v1-buffered-writes", ERROR)]


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize(
    ("charged", "found"), [(0, [("uncharged-writes", WARNING)]), (64 * MIB, [])]
)
def test_writes_that_nobody_charges_are_told_though_no_file_says_why(v2, charged, found, opened):
    v2.mounted(("8:1", "/", "vfat"))
    v2.limited()
    v2.process(64 * MIB)
    v2.did(written=charged)
    if opened:
        v2.opened("/file", 20)
    assert v2.kinds() == found


@pytest.fixture
def luks(either):
    """Return a host with the volume dm-1 on dm-0, which dm-crypt makes of sda1."""
    either.volume("dm-0", "253:0", "sda1")
    either.volume("dm-1", "253:1", "dm-0")
    folder = either.folder / "sys/class/block/dm-0/dm"
    folder.mkdir()
    (folder / "uuid").write_text("CRYPT-LUKS2-0123-root\n")
    either.mounted(("253:1", "/", "xfs", "rw", "/dev/mapper/vg-root"))
    either.did_on({"253:1": 64 * MIB, "253:0": 64 * MIB, "8:0": MIB})
    return either


@pytest.mark.parametrize("direct", [0, os.O_DIRECT])
def test_the_threads_of_dm_crypt_are_charged_for_what_is_written(luks, direct):
    luks.live = False  # what both devices count began together
    luks.limited()
    luks.process(64 * MIB)
    luks.opened("/file", 20, os.O_WRONLY | direct)
    [finding] = luks.found()
    assert (finding.kind, finding.severity) == (Kind.CRYPT, ERROR)
    assert finding.evidence["crypt_device"] == "253:0"
    assert [finding.evidence[one] for one in ("crypt_bytes", "charged_bytes")] == [64 * MIB, MIB]
    luks.limited("253:0")
    assert luks.found() == []


@pytest.mark.parametrize("either", [2], indirect=True)
def test_writes_that_wait_for_a_limit_below_dm_crypt_do_not_pass_it_by(luks):
    luks.limited()
    luks.write("memory.stat", f"file_dirty 0\nfile_writeback {63 * MIB}")
    assert luks.found() == []


def test_a_kernel_whose_dm_crypt_keeps_the_cgroup_is_in_order(luks):
    luks.limited()
    luks.process(64 * MIB)
    luks.did_on({"253:1": 64 * MIB, "253:0": 64 * MIB, "8:0": 64 * MIB})
    assert luks.found() == []


def test_a_weight_below_dm_crypt_is_not_one_of_writes(tmp_path):
    tree = Audited(tmp_path, 2, "bfq")
    tree.volume("dm-0", "253:0", "sda1")
    folder = tree.folder / "sys/class/block/dm-0/dm"
    folder.mkdir()
    (folder / "uuid").write_text("CRYPT-PLAIN-swap\n")
    tree.write("io.bfq.weight", "default 50")
    tree.did_on({"253:0": 64 * MIB, "8:0": 0})
    assert tree.kinds() == [("dm-crypt-writes", NOTE)]


def test_the_threads_of_a_raid_are_charged_for_what_its_disks_write(v2):
    v2.disk("sdb", "8:16")
    v2.volume("md0", "9:0", "sda1", "sdb")
    v2.mounted(("9:0", "/", "xfs", "rw", "/dev/md0"))
    v2.limited()
    v2.process(64 * MIB)
    v2.opened("/file", 20)
    v2.did(written=64 * MIB, number="9:0")
    assert v2.kinds() == [("uncharged-writes", WARNING)]
    v2.limited("9:0")
    assert v2.found() == []


@pytest.mark.parametrize(
    "kind, option, charged, found",
    [
        ("btrfs", "compress=zstd:1", 20, []),
        ("btrfs", "compress-force=lzo", 20, []),
        ("f2fs", "compress_algorithm=lz4", 20, []),
        ("btrfs", "compress=zstd:1", 1, [("uncharged-writes", WARNING)]),
        ("btrfs", "space_cache=v2", 20, [("uncharged-writes", WARNING)]),
    ],
)
def test_compressed_data_are_charged_in_the_size_that_reaches_the_disk(
    v2, kind, option, charged, found
):
    v2.mounted(("0:25", "/", kind, f"rw,{option}"))
    v2.limited()
    v2.process(64 * MIB)
    v2.did(written=charged * MIB)
    assert v2.kinds() == found


def test_what_is_mounted_read_only_is_not_written_to(v2):
    v2.mounted(("8:1", "/", "xfs"))
    v2.limited()
    line = mount_line(90, "0:50", "/models", "nfs4", source="server:/models")
    v2.process(64 * MIB, mountinfo=line.replace("rw,relatime", "ro,relatime"))
    assert v2.kinds() == [("uncharged-writes", WARNING)]
    v2.mounted(("8:1", "/", "ext4"))
    hosts = mount_line(91, "8:1", "/etc/hosts", "ext4").replace("rw,relatime", "ro,relatime")
    (v2.proc / "41/mountinfo").write_text(hosts + line)
    assert v2.kinds() == [("network-writes", ERROR)]


def test_a_mount_may_have_a_name_in_any_encoding(v2):
    v2.limited()
    v2.process()
    line = mount_line(90, "0:50", "/B\xfccher", "nfs4", source="server:/export")
    (v2.proc / "41/mountinfo").write_bytes(line.encode("latin-1") + b"91 1 8:1")
    assert v2.kinds() == [("network-writes", WARNING)]


@pytest.mark.parametrize("path", ["/memfd:x (deleted)", "/dev/null"])
def test_what_is_open_in_memory_is_no_file_of_a_disk(v1, path):
    v1.mounted(("8:1", "/", "ext4"), ("0:50", "/data", "fuse.s3fs", "rw", "s3fs"))
    v1.limited()
    v1.process(called=64 * MIB)
    v1.opened("/data/file", 21)
    v1.opened(path, 5, os.O_RDWR, file="4")
    assert v1.kinds() == [("fuse-writes", WARNING)]


def test_the_journals_mode_may_be_in_the_superblock(v2):
    v2.mounted(("8:1", "/", "ext4"))
    v2.limited()
    v2.process(64 * MIB)
    folder = v2.proc / "fs/ext4/sda1"
    folder.mkdir(parents=True)
    (folder / "options").write_text("rw\ndelalloc\ndata=ordered\n")
    assert v2.kinds() == [("uncharged-writes", WARNING), ("shared-journal", NOTE)]
    (folder / "options").write_text("rw\ndelalloc\ndata=journal\n")
    assert v2.kinds() == [("data-journal-writes", ERROR)]
    (folder / "options").write_text("rw\nnodelalloc\n")  # without a journal
    assert v2.kinds() == [("uncharged-writes", WARNING)]


def test_a_journal_on_another_disk_is_no_matter_of_the_limit(v2):
    v2.disk("sdb", "8:16")
    v2.mounted(("8:1", "/", "xfs"), ("8:16", "/d", "ext4", "rw,data=journal", "/dev/sdb"))
    v2.limited()
    v2.process(64 * MIB)
    v2.opened("/d/file", 21)
    assert v2.found() == []


def test_what_a_cgroup_writes_to_another_disk_is_no_matter_of_the_limit(either):
    either.disk("sdb", "8:16")
    either.mounted(("8:1", "/", "xfs"), ("8:16", "/d", "xfs", "rw", "/dev/sdb"))
    if either.hierarchy.version == 2:
        either.controllers("batch", "io pids")
    either.limited()
    either.process(64 * MIB)
    assert [severity for _, severity in either.kinds()] == [ERROR]
    either.opened("/d/file", 21)
    assert either.found() == []
    (either.proc / "41/fdinfo/3").unlink()
    (either.proc / "41/mountinfo").write_text(mount_line(90, "8:16", "/", "xfs"))
    assert either.found() == []


def test_a_loops_file_may_lie_on_any_disk(v1):
    v1.device("loop0", "7:0")
    v1.volume("dm-0", "253:0", "loop0")
    v1.mounted(("253:0", "/", "xfs", "rw", "/dev/mapper/docker"))
    v1.limited()
    v1.process(64 * MIB)
    assert v1.kinds() == [("v1-buffered-writes", ERROR)]


def test_an_idle_cgroup_beside_those_with_the_limit_is_worth_a_note(v1):
    """A pod's pause has no limit of its own."""
    v1.cgroup("batch/container")
    v1.cgroup("batch/pause")
    v1.limited()
    v1.process(group="batch/pause", number="42")
    assert v1.kinds() == [("v1-not-inherited", ERROR)]
    v1.limited(group="batch/container")
    v1.process(64 * MIB, "batch/container")
    v1.did(written=64 * MIB, group="batch/container")
    assert v1.kinds() == [("v1-not-inherited", NOTE)]
    v1.did(written=64 * MIB, group="batch/pause")
    assert v1.kinds() == [("v1-not-inherited", ERROR)]


def test_a_program_with_a_socket_may_have_written_to_that(v2):
    v2.mounted(("8:1", "/", "xfs"), ("0:50", "/etc/pve", "fuse", "rw", "/dev/fuse"))
    v2.limited()
    v2.process(4096, called=64 * MIB)
    assert v2.kinds() == [("fuse-writes", WARNING)]
    v2.opened("socket:[99]", 9, os.O_RDWR)
    assert v2.kinds() == [("fuse-writes", NOTE)]


def test_a_limit_of_reads_while_writes_run_that_nobody_is_charged_for(v2):
    v2.controllers("batch", "io pids")
    v2.limited(key="rbps")
    v2.process(64 * MIB)
    assert v2.kinds() == [("other-direction", WARNING)]


def test_a_limit_of_reads_while_writes_to_another_disk_run(v1):
    v1.disk("sdb", "8:16")
    v1.mounted(("8:1", "/", "xfs"), ("8:16", "/d", "xfs", "rw", "/dev/sdb"))
    v1.limited(key="rbps")
    v1.process(64 * MIB)
    assert v1.kinds() == [("other-direction", WARNING)]
    v1.opened("/d/file", 21)
    assert v1.found() == []
    (v1.proc / "41/fdinfo/3").unlink()
    v1.did(written=64 * MIB, number="8:16")
    assert v1.found() == []


def test_a_parent_that_is_stricter_on_the_disk_below_a_volume(v2):
    v2.volume("dm-0", "253:0", "sda1")
    v2.cgroup("batch/inner")
    v2.limited()
    v2.limited("253:0", value=8 * MIB, group="batch/inner")
    assert v2.kinds() == [("parent-stricter", WARNING)]


def test_dev_zero_is_known_by_its_number(either):
    either.limited("1:5")  # in a copy without sys/dev/char
    assert either.kinds() == [("no-disk", ERROR)]


def test_where_no_device_is_known_none_is_gone(tmp_path):
    """A copy of cgroups alone."""
    tree = Tree(tmp_path, 2)
    for name in ("batch", "batch/inner"):
        tree.cgroup(name).joinpath("io.max").write_text(f"8:0 rbps={9 if '/' in name else 5}\n")
    asked = parsed([("d", json.dumps(docker(BlkioDeviceReadBps=rate("/dev/sda"))))])
    found = audit(Host(tree.hierarchy, tree.topology, chosen(tree.hierarchy, ()), asked))
    assert [(one.kind, one.severity) for one in found] == [
        (Kind.PARENT_STRICTER, WARNING),
        (Kind.UNRESOLVED, NOTE),
    ]


def test_a_copy_may_lack_the_partitions_of_a_disk(tmp_path):
    tree = Tree(tmp_path, 2)
    tree.device("sda", "8:0")
    tree.cgroup("batch").joinpath("io.max").write_text("8:0 rbps=max wbps=5\n")
    tree.device("dm-0", "253:0")
    (tmp_path / "sys/class/block/dm-0/slaves/sda2").mkdir(parents=True)

    def found(*texts):
        groups = chosen(tree.hierarchy, ())
        asked = parsed([("batch", text) for text in texts])
        host = Host(tree.hierarchy, tree.topology, groups, asked)
        return [(one.kind, one.severity) for one in audit(host)]

    for number, source in (("8:1", "/dev/sda1"), ("253:0", "/dev/mapper/vg-var")):
        line = mount_line(20, number, "/", "ext4", source=source)
        (tree.proc / "self/mountinfo").write_text(line)
        assert found() == [(Kind.JOURNAL, NOTE)]
    unit = "[Service]\nIOReadBandwidthMax=/dev/sda1 1M\n"
    assert found(unit)[0] == (Kind.DROPPED, ERROR)
    tree.partition("sda2", "8:2", "sda")  # then sda1 would be there, too
    assert found(unit)[0] == (Kind.NO_DISK, ERROR)


def test_version_1_has_threads_as_well(v1):
    v1.cgroup("batch/container")
    v1.limited()
    v1.write("tasks", "41", "batch/container")  # in a copy without cgroup.procs
    assert v1.kinds() == [("v1-not-inherited", ERROR)]


def test_without_the_memory_controller_no_writeback_waits_for_the_limit(v2):
    v2.mounted(("8:1", "/", "ext4"))
    v2.controllers("batch", "io pids")
    v2.limited()
    assert v2.kinds() == [("memory-controller-off", WARNING)]


def test_a_limit_of_requests_can_hold_up_a_journal_for_long(v2):
    v2.mounted(("8:1", "/", "ext4"))
    v2.limited(key="wiops", value=10)
    v2.write("memory.stat", f"file_dirty {40 * MIB}")
    assert v2.kinds() == [("shared-journal", NOTE)]
    v2.write("memory.stat", f"file_dirty {60 * MIB}")
    assert v2.kinds() == [("shared-journal", WARNING)]


def test_writeback_is_throttled_on_the_disk_below_a_volume(tmp_path):
    tree = Audited(tmp_path, 2, wbt_us=2000)
    tree.volume("dm-0", "253:0", "sda1")
    tree.limited("253:0")
    [finding] = tree.found()
    assert finding.kind is Kind.WBT and "/sys/block/sda/queue" in finding.sentence


def test_a_copy_that_was_cut_off_is_audited(either):
    either.limited()
    either.process()
    (either.proc / "41/io").write_text("wchar: -\nwrite_bytes:")
    either.mounted(("8:1", "/", "xfs"))
    either.opened("/file", 20)
    (either.proc / "41/fdinfo/3").write_text("flags:\tz\nmnt_id:\t20\n")
    either.write("memory.stat", "file_dirty -")
    counts = "io.stat", "8:0 wbytes=-"
    if either.hierarchy.version == 1:
        counts = "blkio.throttle.io_service_bytes", "8:0 Write -"
    either.write(*counts)
    assert not above_notes(either.found())


# Weights and goals


@pytest.mark.parametrize(
    "version, file, scheduler, kind",
    [
        (1, "blkio.bfq.weight", "bfq", None),
        (1, "blkio.bfq.weight", "mq-deadline", "weight-ignored"),
        (1, "blkio.weight", "cfq", None),
        (1, "blkio.weight", "mq-deadline", "weight-without-cfq"),
        (2, "io.bfq.weight", "none", "weight-ignored"),
        (2, "io.weight", "bfq", "weight-ignored"),
    ],
)
def test_a_weight_to_which_nothing_keeps(tmp_path, version, file, scheduler, kind):
    tree = Audited(tmp_path, version, scheduler)
    tree.write(file, "300" if version == 1 else "default 300")
    tree.did(4096, 4096)
    assert tree.kinds() == ([(kind, WARNING)] if kind else [])
    default = "500" if file == "blkio.weight" else "100"
    tree.write(file, default if version == 1 else f"default {default}")
    assert tree.found() == []


def test_a_weight_that_one_of_two_disks_keeps_to(tmp_path):
    tree = Audited(tmp_path, 2, "bfq")
    tree.disk("sdb", "8:16", "mq-deadline")
    tree.write("io.bfq.weight", "default 300")
    [finding] = tree.found()
    assert (finding.kind.value, finding.severity) == ("weight-ignored", NOTE)  # nothing is used yet
    assert finding.evidence["deaf_disks"] == ["sdb"]
    assert finding.evidence["weighed_disks"] == ["sda"]
    tree.did_on({"8:0": 4096, "8:16": 4096})
    assert tree.kinds() == [("weight-ignored", WARNING)]
    tree.did(4096, 4096)  # on sda alone
    assert tree.found() == []


def test_a_weight_on_a_disk_where_the_scheduler_never_idles_may_count_for_little(tmp_path):
    tree = Audited(tmp_path, 2, "bfq")
    tree.write("io.bfq.weight", "default 300")
    folder = tree.folder / "sys/class/block/sda/queue/iosched"
    folder.mkdir()
    for idle_ms, found in (("8", []), ("0", [("weight-ignored", NOTE)])):
        (folder / "slice_idle").write_text(f"{idle_ms}\n")
        assert tree.kinds() == found


def test_one_of_two_files_is_enough_for_a_weight(tmp_path):
    """systemd writes both; each disk keeps to one of them."""
    tree = Audited(tmp_path, 2, "bfq")
    tree.write("io.bfq.weight", "default 136")
    tree.write("io.weight", "default 500")
    assert tree.found() == []
    tree.disk("sdb", "8:16")
    assert tree.kinds() == [("weight-ignored", NOTE)]
    (tree.root / "io.cost.qos").write_text("8:16 enable=1 ctrl=user rpct=0.00\n")
    assert tree.found() == []


def test_a_weight_of_a_logical_volume_is_that_of_the_disk_below(tmp_path):
    tree = Audited(tmp_path, 2, "bfq")
    tree.disk("dm-0", "253:0")
    (tree.folder / "sys/class/block/dm-0/slaves/sda1").mkdir(parents=True)
    tree.write("io.bfq.weight", "default 300\n8:0 500")
    tree.did(4096, 4096, "253:0")
    assert tree.found() == []


def test_a_weight_is_not_missed_on_what_a_card_starts_from(tmp_path):
    tree = Audited(tmp_path, 2, "bfq")
    tree.disk("mmcblk0boot0", "179:8")
    tree.write("io.bfq.weight", "default 300")
    assert tree.found() == []
    tree.disk("mmcblk0", "179:0")
    assert [one.evidence["deaf_disks"] for one in tree.found()] == [["mmcblk0"]]


@pytest.mark.parametrize("name, number", [("zram0", "252:0"), ("loop0", "7:0")])
def test_a_weight_is_not_missed_on_memory_and_files(tmp_path, name, number):
    """A page swapped to zram, or a byte read from a snap, is no use of a drive."""
    tree = Audited(tmp_path, 2, "bfq")
    tree.disk(name, number)
    tree.write("io.bfq.weight", "default 300")
    tree.write("io.stat", f"{number} rbytes=4096 wbytes=4096\n8:0 rbytes=4096 wbytes=4096")
    assert tree.found() == []


def test_version_1_has_rows_of_zeros_for_disks_that_a_cgroup_did_not_use(tmp_path):
    tree = Audited(tmp_path, 1, "bfq")
    tree.disk("sdb", "8:16", "mq-deadline")
    tree.write("blkio.bfq.weight", "300")
    tree.v1("batch", {"8:16": (0, 0, 0, 0), "8:0": (1, 1, 4096, 4096)})
    assert tree.found() == []


@pytest.mark.parametrize("scheduler, kinds", [("bfq", []), ("none", [("weight-ignored", WARNING)])])
def test_a_disk_with_several_paths_has_its_scheduler_on_them(tmp_path, scheduler, kinds):
    tree = Audited(tmp_path, 2, "bfq")
    tree.disk("nvme0n1", "259:1")
    tree.disk("nvme0c0n1", "0:0", scheduler)
    (tree.folder / "sys/class/block/nvme0c0n1/dev").unlink()  # it is hidden, and has no number
    (tree.folder / "sys/dev/block/0:0").unlink()
    tree.write("io.bfq.weight", "default 300")
    tree.write("io.weight", "default 300")
    tree.did(4096, 4096, "259:1")
    assert tree.kinds() == kinds
    assert all("enable=1" not in finding.sentence for finding in tree.found())


def test_device_mapper_with_several_paths_has_its_scheduler_on_itself(v2):
    v2.disk("dm-0", "253:0", "bfq")
    (v2.folder / "sys/class/block/dm-0/slaves/sda").mkdir(parents=True)
    v2.write("io.bfq.weight", "default 300")
    v2.did(4096, 4096, "253:0")
    assert v2.found() == []


@pytest.mark.parametrize(
    "scheduler, kinds",
    [
        ("none", [("priority-class-ignored", WARNING)]),
        ("kyber", [("priority-class-ignored", WARNING)]),
        ("mq-deadline", []),
        ("bfq", []),
        ("another", []),  # what is not the kernel's own may serve classes apart
    ],
)
def test_a_class_of_priority_that_the_scheduler_does_not_know(tmp_path, scheduler, kinds):
    tree = Audited(tmp_path, 2, scheduler)
    tree.did(4096, 4096)
    tree.write("io.prio.class", "idle")
    assert tree.kinds() == kinds
    tree.write("io.prio.class", "no-change")
    assert tree.found() == []


def test_a_goal_of_latency_beside_the_cost_controller(v2):
    v2.write("io.latency", "8:0 target=10000")
    assert v2.found() == []
    (v2.root / "io.cost.qos").write_text("8:0 enable=1 ctrl=auto\n")
    assert v2.kinds() == [("latency-beside-cost", WARNING)]


# What was asked


def test_a_limit_that_the_runtime_dropped(either):
    either.asked(docker(BlkioDeviceWriteBps=rate("/dev/sda"), BlkioDeviceReadIOps=[]))
    [finding] = either.found()
    assert (finding.kind.value, finding.severity) == ("limit-dropped", ERROR)
    assert finding.evidence["asked"] == MIB and finding.evidence["disk"] == "sda"
    either.limited(value=MIB)
    assert not above_notes(either.found())
    either.limited(value=10 * MIB)
    assert either.kinds()[0] == ("limit-differs", ERROR)
    either.limited(value=MIB // 2)
    assert ("limit-differs", WARNING) in either.kinds()


def test_a_goal_of_latency_that_the_kernel_does_not_hold(either):
    either.asked("Id=batch\nControlGroup=/batch\nIODeviceLatencyTargetSec=/dev/sda 25ms\n")
    [finding] = either.found()  # Debian's kernel has no io.latency
    assert (finding.kind.value, finding.severity) == ("limit-dropped", ERROR)
    assert finding.evidence["asked"] == 25_000 and "CONFIG_BLK_CGROUP_IOLATENCY" in finding.sentence


def test_a_goal_of_latency_that_is_another(v2):
    v2.asked("Id=batch\nControlGroup=/batch\nIODeviceLatencyTargetUSec=/dev/sda 25ms\n")
    v2.write("io.latency", "")
    assert v2.kinds() == [("limit-dropped", ERROR)]
    v2.write("io.latency", "8:0 target=50000")
    assert v2.kinds() == [("limit-differs", ERROR)]
    v2.write("io.latency", "8:0 target=25000")
    assert v2.found() == []


def test_a_dropped_limit_of_writes_explains_that_only_reads_are_limited(v2):
    v2.limited(key="rbps")
    v2.did(written=64 * MIB)
    v2.asked(
        docker(BlkioDeviceReadBps=rate("/dev/sda"), BlkioDeviceWriteBps=rate("/dev/disk/by-x/y"))
    )
    assert ("device-unresolved", NOTE) in v2.kinds()
    v2.texts.clear()
    v2.asked(docker(BlkioDeviceReadBps=rate("/dev/sda"), BlkioDeviceWriteBps=rate("/dev/sda")))
    assert v2.kinds() == [("limit-dropped", ERROR)]


def test_limits_of_two_partitions_that_became_one_disks(v2):
    v2.partition("sda2", "8:2", "sda")
    unit = "Id=batch\nControlGroup=/batch\nIOWriteBandwidthMax=/dev/sda1 1M\n"
    v2.asked(unit + "IOWriteBandwidthMax=/dev/sda2 2M\nIOReadIOPSMax=/dev/sda 18446744073709551615")
    assert v2.kinds() == [("limit-dropped", ERROR)]  # systemd itself asks for the disk
    v2.limited(value=2_000_000)
    [finding] = v2.found()
    assert finding.kind.value == "partitions-merged" and finding.evidence["held"] == 2_000_000
    assert finding.evidence["asked"] == ["sda1=1000000", "sda2=2000000"]


def test_a_runtime_was_asked_for_partitions(v2):
    v2.partition("sda2", "8:2", "sda")
    v2.asked(docker(BlkioDeviceWriteBps=rate("/dev/sda1") + rate("/dev/sda2", 2 * MIB)))
    found = v2.found()
    assert [one.kind for one in found] == [Kind.PARTITION] * 2
    figures = {one.evidence["partition"]: one.evidence["asked"] for one in found}
    assert figures == {"sda1": MIB, "sda2": 2 * MIB}


def test_a_line_that_systemd_ignores_is_named_beside_the_others(v2):
    unit = "IOWriteBandwidthMax=/dev/sda 10MB\nIOReadBandwidthMax=/dev/sda 1M\n"
    v2.texts.append(("batch", f"[Service]\n{unit}"))
    ignored, dropped = v2.found()[::-1]
    assert (dropped.kind, dropped.evidence["key"]) == (Kind.DROPPED, "rbps")
    assert (ignored.kind, ignored.severity) == (Kind.NOT_SUPPORTED, ERROR)
    assert ignored.subject == "systemd:batch"
    assert ignored.evidence["fields"] == ["IOWriteBandwidthMax=/dev/sda 10MB"]


def test_a_limit_by_a_path_is_one_of_the_disk_below_it(v2):
    v2.volume("dm-0", "253:0", "sda1")
    v2.mounted(("253:0", "/srv", "xfs", "rw", "/dev/mapper/vg-srv"))
    v2.asked("Id=batch\nIOWriteBandwidthMax=/srv/data 1048576\n")
    v2.limited()
    assert v2.found() == []


@pytest.mark.parametrize("link", ["/data/pg", "../../data/pg", "/srv/pg", "/dev/sdb"])
def test_a_path_by_a_link_is_one_of_the_disk_below_its_end(v2, link):
    v2.disk("sdb", "8:16")
    v2.mounted(("8:1", "/", "ext4"), ("8:16", "/data", "xfs"))
    for folder in ("var/lib", "srv", "data/pg"):
        (v2.folder / folder).mkdir(parents=True)
    (v2.folder / "srv/pg").symlink_to("../data/./pg")
    (v2.folder / "var/lib/db").symlink_to(link)
    v2.asked("Id=batch\nIOWriteBandwidthMax=/var/lib/db 1048576\n")
    v2.limited("8:16")
    assert v2.found() == []
    (v2.folder / "var/lib/db").unlink()
    (v2.folder / "var/lib/db").symlink_to("/var/lib/db")  # it ends nowhere
    assert v2.found()[0].evidence["disk"] == "sda"


def test_a_runtime_looks_for_no_disk_below_a_folder(v2):
    v2.mounted(("8:1", "/", "ext4"))
    v2.asked(docker(BlkioDeviceWriteBps=rate("/data")))
    assert v2.kinds() == [("no-disk", ERROR)]


def test_io_is_not_delegated(v2):
    v2.controllers(".", "cpu io memory", "cpu io memory")
    v2.controllers("batch", "cpu io memory", "cpu memory")
    inner = v2.cgroup("batch/libpod-7f")
    (inner / "io.max").unlink()
    v2.controllers("batch/libpod-7f", "cpu memory")
    v2.process(group="batch/libpod-7f")
    assert v2.kinds() == [("io-not-delegated", NOTE)]
    podman = docker(BlkioDeviceWriteBps=rate("/dev/sda"), BlkioWeight=300)
    podman[0]["State"]["CgroupPath"] = "/batch/libpod-7f"
    v2.asked(podman)
    assert v2.kinds() == [("io-not-delegated", ERROR), ("io-not-delegated", NOTE)]
    assert v2.found()[0].evidence["not_passed_on_by"] == "batch"
    (inner / "io.max").write_text("")
    assert v2.kinds()[0] == ("io-not-delegated", ERROR)
    (inner / "cgroup.controllers").unlink()
    (v2.root / "batch/cgroup.subtree_control").unlink()
    v2.write("io.weight", "default 300", "batch/libpod-7f")
    (inner / "io.max").unlink()  # as with a kernel that cannot throttle
    assert [name for name, _ in v2.kinds()] == ["limit-dropped", "weight-ignored"]
    assert "CONFIG_BLK_DEV_THROTTLING" in v2.found()[0].sentence


@pytest.mark.parametrize(
    "version, files, kind",
    [
        (2, {"io.weight": "default 100", "io.bfq.weight": "default 100"}, "weight-dropped"),
        (2, {"io.bfq.weight": "default 300", "io.weight": "default 100"}, None),
        (2, {"io.weight": "default 2930"}, "weight-ignored"),  # there, but bfq reads another file
        (2, {}, "weight-dropped"),
        (1, {}, "weight-without-cfq"),
        (1, {"blkio.bfq.weight": "300"}, None),
    ],
)
def test_a_weight_that_was_asked(tmp_path, version, files, kind):
    tree = Audited(tmp_path, version, "bfq")
    for file, text in files.items():
        tree.write(file, text)
    tree.asked(docker(BlkioWeight=300))
    assert [name for name, _ in tree.kinds()] == ([kind] if kind else [])


def pod(annotations, resources=None):
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "a-b", "annotations": annotations},
        "spec": {"containers": [{"name": "c", "resources": resources or {}}]},
        "status": {"containerStatuses": [{"name": "c", "containerID": "containerd://batch"}]},
    }


def test_kubernetes_asks_by_a_class(v2):
    v2.asked(pod({"blockio.resources.beta.kubernetes.io/pod": "slow"}))
    assert v2.kinds() == [("limit-dropped", WARNING)]
    part = {"Devices": ["/dev/sd*"], "ThrottleWriteBps": "1Mi"}
    v2.asked({"Classes": {"slow": [part]}})
    assert v2.kinds() == [("limit-dropped", ERROR)]
    v2.limited()
    assert v2.found() == []


def test_kubernetes_has_no_field_of_io(v2):
    v2.asked(pod({"aiops.example.com/team": "a"}))
    assert v2.found() == []
    v2.asked(pod({"example.com/blkio.write": "1M"}, {"limits": {"cpu": "1", "disk-iops": "9"}}))
    [finding] = v2.found()
    assert finding.kind.value == "not-supported"
    assert finding.evidence["fields"] == ["example.com/blkio.write", "disk-iops"]


def test_an_oci_configuration_asks_by_numbers(v2):
    limit = {"throttleWriteBpsDevice": [{"major": 8, "minor": 0, "rate": MIB}], "weight": 0}
    v2.asked({"linux": {"cgroupsPath": "/batch", "resources": {"blockIO": limit}}})
    assert v2.kinds() == [("limit-dropped", ERROR)]
    v2.limited()
    assert v2.found() == []


def test_what_was_asked_of_nothing_here_is_a_note(v2):
    v2.asked("Id=gone.service\nControlGroup=/system.slice/gone.service\nIOWeight=500\n")
    assert v2.kinds() == [("cgroup-not-found", NOTE)]


def test_limits_of_two_volumes_that_systemd_made_one_disks(v2):
    v2.volume("dm-0", "253:0", "sda1")
    v2.volume("dm-1", "253:1", "sda1")
    unit = "Id=batch\nIOWriteBandwidthMax=/dev/dm-0 1M\nIOWriteBandwidthMax=/dev/dm-1 2M\n"
    v2.asked(unit)
    v2.limited(value=2_000_000)
    [finding] = v2.found()
    assert finding.kind.value == "partitions-merged"
    assert finding.evidence["asked"] == ["dm-0=1000000", "dm-1=2000000"]


def test_a_runtime_makes_no_limit_of_a_volume_one_of_the_disk(v2):
    v2.volume("dm-0", "253:0", "sda1")
    v2.limited()
    v2.asked(docker(BlkioDeviceWriteBps=rate("/dev/sda") + rate("/dev/dm-0")))
    assert v2.kinds() == [("limit-dropped", ERROR)]


@pytest.mark.parametrize("path", ["/dev/vg0/a-b", "/dev/mapper/vg0-a--b", "/dev/disk/by-id/x"])
def test_a_volume_has_several_names(v2, path):
    v2.volume("dm-0", "253:0", "sda1")
    (v2.folder / "sys/class/block/dm-0/dm").mkdir()
    (v2.folder / "sys/class/block/dm-0/dm/name").write_text("vg0-a--b\n")
    (v2.folder / "dev/disk/by-id").mkdir(parents=True)
    (v2.folder / "dev/disk/by-id/x").symlink_to("../../dm-0")  # whose node is not copied
    v2.asked(docker(BlkioDeviceWriteBps=rate(path)))
    [finding] = v2.found()
    assert finding.kind.value == "limit-dropped" and finding.evidence["disk"] == "dm-0"


def test_a_disk_below_a_folder_of_dev(either):
    either.disk("cciss!c0d0", "104:0")
    either.asked(docker(BlkioDeviceWriteBps=rate("/dev/cciss/c0d0")))
    assert either.kinds() == [("limit-dropped", ERROR)]


def test_a_path_on_a_file_system_without_a_disk_is_no_disk(v2):
    v2.mounted(("8:1", "/", "xfs"), ("0:50", "/tank", "zfs", "rw", "tank"))
    v2.asked("Id=batch\nIOWriteBandwidthMax=/tank/data 1M\n")
    assert v2.kinds() == [("no-disk", ERROR)]


@pytest.mark.parametrize("partitions", [True, False])
def test_systemd_takes_a_limit_away_with_that_of_another_volume_of_the_disk(v2, partitions):
    names = ("sda1", "sda2") if partitions else ("dm-0", "dm-1")
    v2.partition("sda2", "8:2", "sda")
    for index in (0, 1):
        v2.volume(f"dm-{index}", f"253:{index}", "sda1")
    unit = f"IOReadBandwidthMax=/dev/{names[0]} 1M\nIOWriteBandwidthMax=/dev/{names[1]} 1M"
    v2.asked(f"Id=batch\n{unit}\n")
    v2.limited(value=1_000_000)
    assert v2.kinds() == [("partitions-merged", ERROR)]
    assert v2.found()[0].evidence["asked_devices"] == [*names]


def test_a_template_asks_for_each_instance(v2):
    for number in (1, 2, 3):
        v2.cgroup(f"db@{number}.service")
        v2.limited(value=1_000_000, group=f"db@{number}.service")
    (v2.root / "box").mkdir()
    v2.cgroup("box/db@4.service")  # in a container, whose systemd has files of its own
    v2.texts.append(("db@.service", "[Service]\nIOWriteBandwidthMax=/dev/sda 1M\n"))
    v2.texts.append(("db@2.service.d/a.conf", "[Service]\nIOWriteBandwidthMax=/dev/sda 2M\n"))
    [finding] = v2.found()
    assert (finding.kind, finding.subject) == (Kind.DIFFERS, "db@2.service")
    assert v2.host("db@1*").groups == [v2.root / "db@1.service"]
    v2.texts[0] = ("web@.service", v2.texts[0][1])
    assert [one.kind for one in v2.found()] == [Kind.DIFFERS, Kind.NOT_FOUND]


@pytest.mark.parametrize(
    "unit, path, kinds",
    [
        ("fio@sda.service", "/dev/%i", []),
        ("fio@dev-sda.service", "/%I", []),
        ("fio@dev-sda.service", "%f", []),
        ("sda-fio@1.service", "/dev/%p", [("no-disk", ERROR)]),
        ("fio-sda@1.service", "/dev/%j", []),
        ("fio@sda.service", "/dev/%m", [("device-unresolved", NOTE)]),
    ],
)
def test_a_devices_path_may_have_parts_of_the_units_name(v2, unit, path, kinds):
    v2.cgroup(unit)
    v2.limited(value=5_000_000, group=unit)
    file = re.sub("@.*", "@.service", unit)
    v2.texts.append(
        (file, f"[Service]\nIOWriteBandwidthMax={path} 5M\nIODeviceWeight={path} 100\n")
    )
    assert v2.kinds() == kinds


def test_podman_names_the_cgroup_inside_the_one_with_the_limit(v2):
    v2.cgroup("batch/container").joinpath("io.max").unlink()
    v2.limited()
    podman = docker(BlkioDeviceWriteBps=rate("/dev/sda"))
    podman[0]["State"]["CgroupPath"] = "/batch/container"
    v2.asked(podman)
    assert v2.found() == []


@pytest.mark.parametrize(
    "version, asked, file, held",
    [
        (1, "IOWeight=500", "blkio.bfq.weight", "181"),
        (2, "BlockIOWeight=800", "io.weight", "default 160"),
        (2, "BlockIOWeight=800", "io.bfq.weight", "default 105"),
    ],
)
def test_systemd_turns_a_weight_into_another_scale(tmp_path, version, asked, file, held):
    tree = Audited(tmp_path, version, "bfq")
    tree.write(file, held)
    tree.asked(f"Id=batch\n{asked}\n")
    assert "weight-dropped" not in [name for name, _ in tree.kinds()]


@pytest.mark.parametrize(
    "version, asked", [(1, "Id=batch\nBlockIOWeight=500\n"), (2, docker(BlkioWeight=500))]
)
def test_a_default_is_no_weight_on_another_scale(tmp_path, version, asked):
    """Both would be 100 where systemd turns blkio's scale into that of version 2."""
    tree = Audited(tmp_path, version, "bfq")
    file, held = ("blkio.bfq.weight", "100") if version == 1 else ("io.bfq.weight", "default 100")
    tree.write(file, held)
    tree.asked(asked)
    assert tree.kinds() == [("weight-dropped", ERROR)]


@pytest.mark.parametrize(
    "asked, kinds", [("IOWeight=100", 0), ("BlockIOWeight=500", 0), ("IOWeight=50", 1)]
)
def test_systemds_default_is_not_missed_where_no_file_has_it(either, asked, kinds):
    either.asked(f"Id=batch\n{asked}\n")
    assert len(either.found()) == kinds


def test_systemd_weighs_the_disk_below_a_volume(tmp_path):
    tree = Audited(tmp_path, 2, "bfq")
    tree.volume("dm-0", "253:0", "sda1")
    tree.mounted(("253:0", "/", "xfs", "rw", "/dev/mapper/luks"))
    tree.asked("Id=batch\nIODeviceWeight=/ 123\n")
    tree.write("io.bfq.weight", "default 100\n8:0 123")
    assert tree.found() == []
    tree.write("io.bfq.weight", "default 100")
    assert tree.kinds() == [("weight-dropped", ERROR)]


def test_systemd_sets_no_iops_with_version_1(v1):
    v1.asked("Id=batch\nIOReadIOPSMax=/dev/sda 50\n")
    [finding] = v1.found()
    assert finding.kind.value == "limit-dropped"
    assert "blkio.throttle.read_iops_device" in finding.sentence


def test_a_drop_in_is_one_of_the_unit_that_its_folder_names(v2):
    file = "/etc/systemd/system.control/batch.d/50-IOWriteBandwidthMax.conf"
    v2.texts.append((file, "[Service]\nIOWriteBandwidthMax=/dev/sda 1M\n"))
    assert v2.kinds() == [("limit-dropped", ERROR)]


def test_a_class_may_have_a_pattern_of_links(v2):
    v2.disk("sdb", "8:16")
    links = v2.folder / "dev/disk/by-id"
    links.mkdir(parents=True)
    for name, node in ("ata-SSD_1", "sda"), ("ata-SSD_1-part1", "sda1"), ("ata-HDD_2", "sdb"):
        (links / name).symlink_to(f"../../{node}")
    v2.asked(pod({"blockio.resources.beta.kubernetes.io/pod": "slow"}))
    part = {"Devices": ["/dev/disk/by-id/*SSD*"], "ThrottleWriteBps": "1Mi"}
    v2.asked({"Classes": {"slow": [part]}})
    [finding] = v2.found()
    assert (finding.kind, finding.evidence["disk"]) == (Kind.DROPPED, "sda")
    v2.limited()
    assert v2.found() == []
    part["Devices"] = ["/dev/disk/by-id/*NVMe*"]
    v2.texts[-1] = ("FILE", json.dumps({"Classes": {"slow": [part]}}))
    assert v2.kinds() == [("device-unresolved", NOTE)]


def test_a_path_may_have_the_disks_number(either):
    either.asked("Id=batch\nIOWriteBandwidthMax=/dev/block/8:0 1M\n")
    assert either.kinds() == [("limit-dropped", ERROR)]


def test_a_class_of_disks_leaves_hidden_paths_out(v2):
    v2.device("sdc0", "0:0")
    (v2.folder / "sys/class/block/sdc0/dev").unlink()
    (v2.folder / "sys/dev/block/0:0").unlink()
    v2.asked(pod({"blockio.resources.beta.kubernetes.io/pod": "slow"}))
    v2.asked({"Classes": {"slow": [{"Devices": ["/dev/sd*"], "ThrottleWriteBps": "1Mi"}]}})
    v2.limited()
    assert v2.found() == []


# The rest


OWNER = ["owner", "agent.pyz regulate --policy ute", "2026-11-27T21:00:00+00:00"]


@pytest.fixture
def left(either, monkeypatch):
    """Return a host with a limit that a killed regulator has left, and noted."""
    either.limited(key="rbps")
    file = "io.max"
    before = "8:0 rbps=max wbps=max"
    if either.hierarchy.version == 1:
        file, before = "blkio.throttle.read_bps_device", "8:0 0"
    (either.folder / "state").mkdir()
    step = ["restore_limit", str(either.group / file), before]
    text = "".join(json.dumps(one) + "\n" for one in (OWNER, step)) + '["restore'
    (either.folder / "state/9.jsonl").write_text(text)
    monkeypatch.setattr(cli, "find_cgroups", lambda: either.hierarchy)
    monkeypatch.setattr(cli, "Topology", lambda: either.topology)
    return either


def test_a_limit_that_a_killed_regulator_has_left(left, capsys):
    (finding,) = left.found()
    assert (finding.kind, finding.severity, finding.subject) == (Kind.LEFT_BEHIND, WARNING, "batch")
    assert [finding.evidence["command"], finding.evidence["since"]] == OWNER[1:]
    assert cli.main(["--restore", "--state", str(left.folder / "state")]) == 0
    event = json.loads(capsys.readouterr().out)
    assert (event["event"], event["device"], event["before"]["rbps"]) == ("restored", "8:0", None)
    assert [event["command"], event["since"], event["cgroup"]] == [*OWNER[1:], str(left.group)]
    assert left.found() == [] and list((left.folder / "state").glob("*.jsonl")) == []


def test_a_copied_host_s_journal_has_the_paths_of_that_host(left):
    file = left.folder / "state/9.jsonl"
    file.write_text(file.read_text().replace(str(left.folder), ""))
    (finding,) = left.found()
    assert (finding.kind, finding.subject) == (Kind.LEFT_BEHIND, "batch")


def test_a_limit_that_somebody_asked_for_since_is_none_that_a_regulator_left(left):
    left.asked(docker(BlkioDeviceReadBps=rate("/dev/sda", 2 * MIB)))
    assert left.kinds() == [("limit-differs", WARNING), ("limit-left-behind", WARNING)]
    left.limited(key="rbps", value=2 * MIB)
    assert left.kinds() == [("limit-left-behind", NOTE)]


def test_what_was_asked_of_another_disk_does_not_explain_what_is_left(left):
    left.disk("sdb", "8:16")
    left.asked(docker(BlkioDeviceReadBps=rate("/dev/sdb", 2 * MIB)))
    left.limited(key="rbps", value=2 * MIB)
    assert left.kinds() == [("limit-dropped", ERROR), ("limit-left-behind", WARNING)]


def test_a_limit_that_cannot_be_restored_stays_noted(left, capsys):
    """The file of one cgroup is a folder, and another cgroup is gone."""
    state = left.folder / "state"
    names = ("blkio.throttle.read_bps_device", "io.max")
    file = left.group / names[left.hierarchy.version - 1]
    file.unlink()
    file.mkdir()
    step = ["restore_limit", str(left.root / "gone" / file.name), "8:0 0"]
    (state / "7.jsonl").write_text(json.dumps(step) + "\n")
    for _ in range(2):
        assert cli.main(["--restore", "--state", str(state)]) == 1
        told = capsys.readouterr()
        assert f"to restore the limit of {left.group} on 8:0; found that it" in told.err
    assert told.out == "" and [path.name for path in state.glob("*.jsonl")] == ["9.left.jsonl"]
    file.rmdir()
    file.write_text("")
    assert cli.main(["--restore", "--state", str(state)]) == 0
    assert json.loads(capsys.readouterr().out)["event"] == "restored"


def test_a_dry_run_shows_what_is_left_and_leaves_it(left, monkeypatch, capsys):
    stop = threading.Event()
    stop.set()
    monkeypatch.setattr(cli, "_signals", lambda _: (stop, threading.Event()))
    options = ["--policy", "ute", "--dry-run", "--cgroup", "batch=sda"]
    assert cli.main([*options, "--state", str(left.folder / "state")]) == 0
    first, *_ = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["event"], first["command"]) == ("left_behind", OWNER[1])
    assert left.kinds() == [("limit-left-behind", WARNING)]


def test_clean_takes_away_what_a_killed_regulator_has_left(left, monkeypatch, capsys):
    monkeypatch.setattr(journal, "REGULATORS", left.folder / "state")
    monkeypatch.setattr(supervisor.recovery.recover, "__defaults__", (left.folder / "journal",))
    supervisor.clean(str(left.folder / "agent/runs"))
    assert "0 killed trials were cleaned up after, and 1 killed regulators" in (
        capsys.readouterr().out
    )
    assert left.found() == []


def test_a_policy_is_needed_where_nothing_is_restored(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--once"])
    assert "required: --policy" in capsys.readouterr().err


def test_cgroups_are_chosen_by_a_pattern(tmp_path):
    tree = Audited(tmp_path, 2, wbt_us=75000)
    tree.limited()
    tree.cgroup("kubepods.slice")
    tree.cgroup("kubepods.slice/pod1")
    assert [path.name for path in tree.host("/kubepods.slice/*").groups] == ["pod1"]
    assert audit(tree.host("kubepods.slice*")) == [] and audit(tree.host("bat*")) != []
    both = [tree.root / "kubepods.slice", tree.root / "kubepods.slice/pod1"]
    assert tree.host("kube*").groups == both == tree.host("kubepods.slice/**").groups
    with pytest.raises(Refused, match=r"fits 'docker/\*'; found none of 3; give a path"):
        tree.host("docker/*")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("mountinfo", ["", "proc/1/mountinfo"])
def test_a_copy_may_lack_what_the_reader_saw(tmp_path, version, mountinfo):
    root = tmp_path / "sys/fs/cgroup" / ("blkio" if version == 1 else ".")
    root.mkdir(parents=True)
    (root / "batch").mkdir()
    if mountinfo:
        kind, point = ("cgroup", "/blkio") if version == 1 else ("cgroup2", "")
        line = mount_line(30, "0:30", f"/sys/fs/cgroup{point}", kind, "rw,blkio", "cgroup")
        (tmp_path / "proc/1").mkdir(parents=True)
        (tmp_path / mountinfo).write_text(line)
    found = copied_cgroups(tmp_path)
    assert (found.version, found.root) == (version, root)


def test_a_name_in_another_encoding_ends_no_audit(tmp_path, monkeypatch, capsys):
    tree = Audited(tmp_path, 2)
    name = os.fsdecode(b"B\xfccher")
    tree.cgroup(name)
    tree.limited("8:1", group=name)
    (tree.proc / "41").mkdir()
    (tree.proc / "41/cgroup").write_bytes(b"0::/B\xfccher\n")
    one = docker(BlkioDeviceWriteBps=rate("/dev/sda"))
    tree.asked([{**one[0], "Id": "", "State": {"Pid": 41}}])
    assert [finding.subject for finding in tree.found()] == ["B\ufffdcher"] * 2
    line = mount_line(30, "0:30", "/cgroup", "cgroup2", "rw", "cgroup2")
    text = mount_line(29, "8:1", "/B\xfccher", "ext4") + line
    (tree.proc / "self/mountinfo").write_bytes(text.encode("latin-1"))

    def undecodable():
        return find_cgroups(tree.proc / "self/mountinfo")

    monkeypatch.setattr("elevatorlab.agent.operations.audit.find_cgroups", undecodable)
    assert live_cgroups(tmp_path).root == tree.root
    assert main(["--root", str(tmp_path)]) == 1
    assert "B\ufffdcher: partition" in capsys.readouterr().out


def test_a_copy_of_a_hosts_files_is_audited(tmp_path, capsys):
    tree = Audited(tmp_path, 2)
    tree.mounted(("0:30", "/cgroup", "cgroup2", "rw", "cgroup2"))
    tree.limited("8:1")
    file = tmp_path / "asked.json"
    file.write_text(json.dumps(docker(BlkioDeviceWriteBps=rate("/dev/zero"))))
    options = ["--json", "--root", str(tmp_path)]
    assert main([*options, "--asked", str(file)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(one["kind"], one["severity"]) for one in found] == [
        ("no-disk", "error"),
        ("partition", "error"),
    ]
    assert set(found[0]) == {"kind", "severity", "subject", "evidence", "sentence"}
    tree.limited()
    assert main(options) == 0
    assert main([*options, "--asked", str(tmp_path / "none")]) == 2
    assert "expected a file with what was asked" in capsys.readouterr().err


def test_each_kind_is_in_the_table_of_the_documentation():
    text = (PROJECT / "docs/regulator.md").read_text()
    assert [kind.value for kind in Kind if f"`{kind.value}`" not in text] == []
