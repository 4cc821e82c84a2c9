"""`regulate audit`: each finding on a small copy of a host, and on the real one."""

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.operations.audit import Host, audit, chosen, main, page
from regulator_trees import Tree


class Audited(Tree):
    """A host with the disk sda, its partition sda1, and one cgroup."""

    def __init__(self, folder, version, scheduler="none", wbt_us=0):
        super().__init__(folder, version)
        self.device("sda", "8:0")
        self.partition("sda1", "8:1", "sda")
        queue = folder / "sys/class/block/sda/queue"
        queue.mkdir()
        names = ("none", "mq-deadline", "bfq")
        line = " ".join(f"[{name}]" if name == scheduler else name for name in names)
        (queue / "scheduler").write_text(line + "\n")
        (queue / "wbt_lat_usec").write_text(f"{wbt_us}\n")
        self.group = self.cgroup("batch")

    def write(self, file, text):
        (self.group / file).write_text(text + "\n")

    def limited(self, number="8:0"):
        if self.hierarchy.version == 1:
            self.write("blkio.throttle.write_bps_device", f"{number} 1048576")
        else:
            self.write("io.max", f"{number} rbps=max wbps=1048576 riops=max wiops=max")

    def mounted(self, kind, options="rw", number="8:1"):
        line = f"36 1 {number} / /var rw,relatime - {kind} /dev/sda1 {options}\n"
        (self.proc / "self/mountinfo").write_text(line)

    def host(self, *patterns):
        return Host(self.hierarchy, self.topology, chosen(self.hierarchy, patterns))

    def found(self):
        return audit(self.host())


def test_a_host_without_limits_has_no_findings(tmp_path):
    for version in (1, 2):
        tree = Audited(tmp_path / str(version), version)
        assert tree.found() == []
        assert page(tree.host(), []) == f"cgroup v{version}, 1 cgroups looked at; findings: 0\n"


@pytest.mark.parametrize("charged_kib, words", [(64, "pass its"), (9000, "would pass its")])
def test_buffered_writes_pass_a_limit_of_version_1_by(tmp_path, charged_kib, words):
    tree = Audited(tmp_path, 1, wbt_us=75000)
    tree.limited()
    tree.v1("batch", {"8:0": (0, 9, 0, charged_kib << 10)})
    tree.write("cgroup.procs", "41\n42")
    for process in ("41", "42"):
        (tree.proc / process).mkdir()
    (tree.proc / "41/io").write_text(f"write_bytes: {10_000 << 10}\ncancelled_write_bytes: 0\n")
    [finding] = tree.found()
    assert finding.cgroup == "batch" and finding.problem.startswith(f"buffered writes {words}")
    assert f"wrote 10000 KiB, and {charged_kib} KiB were charged" in finding.proof
    assert "blkio.throttle.write_bps_device 1048576" in finding.proof


def test_version_2_limits_buffered_writes_but_writeback_throttling_does_not_know_of_it(tmp_path):
    tree = Audited(tmp_path, 2, wbt_us=75000)
    tree.limited()
    [finding] = tree.found()
    assert finding.problem.startswith("writeback throttling")
    assert finding.proof == "io.max wbps=1048576 for sda, whose queue/wbt_lat_usec is 75000"
    assert finding.remedy == "echo 0 > /sys/block/sda/queue/wbt_lat_usec"
    (tree.folder / "sys/class/block/sda/queue/wbt_lat_usec").write_text("0\n")
    assert tree.found() == []


def test_a_limit_of_reads_holds_up_no_writes(tmp_path):
    tree = Audited(tmp_path, 2, wbt_us=75000)
    tree.mounted("ext4")
    tree.write("io.max", "8:0 rbps=1048576 wbps=max riops=max wiops=max")
    assert tree.found() == []


@pytest.mark.parametrize(
    "number, problem, proof",
    [
        ("8:1", "on a partition", "sda1 is a partition of sda"),
        ("8:99", "not there", "for 8:99, which /sys/dev/block lacks"),
    ],
)
def test_a_limit_on_what_is_no_whole_disk(tmp_path, number, problem, proof):
    tree = Audited(tmp_path, 2)
    tree.limited(number)
    [finding] = tree.found()
    assert problem in finding.problem and proof in finding.proof


@pytest.mark.parametrize(
    "kind, options, findings",
    [("ext4", "rw", 1), ("ext4", "rw,data=writeback", 0), ("xfs", "rw", 0), ("tmpfs", "rw", 0)],
)
def test_a_limit_that_can_pin_the_journal_of_a_shared_file_system(
    tmp_path, kind, options, findings
):
    tree = Audited(tmp_path, 2)
    tree.mounted(kind, options)
    tree.limited()
    tree.write("memory.stat", "anon 4096\nfile_dirty 1048576\nfile_writeback 65536")
    found = tree.found()
    assert len(found) == findings
    for finding in found:
        assert "the journal of /var" in finding.problem
        assert "1088 KiB of its pages are dirty" in finding.proof


@pytest.mark.parametrize(
    "version, file, scheduler, remedy",
    [
        (1, "blkio.bfq.weight", "bfq", None),
        (1, "blkio.bfq.weight", "mq-deadline", "echo bfq > /sys/block/sda/queue/scheduler"),
        (2, "io.bfq.weight", "none", "echo bfq > /sys/block/sda/queue/scheduler"),
        (2, "io.weight", "bfq", "enable=1' > "),
    ],
)
def test_a_weight_to_which_nothing_keeps(tmp_path, version, file, scheduler, remedy):
    tree = Audited(tmp_path, version, scheduler)
    tree.write(file, "500" if version == 1 else "default 500")
    if version == 1:
        tree.v1("batch", {"8:0": (1, 1, 4096, 4096)})
    found = tree.found()
    assert len(found) == (remedy is not None)
    for finding in found:
        assert f"{file} is 500" in finding.proof and remedy in finding.remedy
    tree.write(file, "100" if version == 1 else "default 100")
    assert tree.found() == []


def test_a_weight_bites_where_the_cost_controller_is_at_work(tmp_path):
    tree = Audited(tmp_path, 2)
    tree.write("io.weight", "default 500")
    assert "io.cost.qos has no enable=1 for sda" in tree.found()[0].proof
    (tree.root / "io.cost.qos").write_text("8:0 enable=1 ctrl=user rpct=0.00\n")
    assert tree.found() == []


def test_cgroups_are_chosen_by_a_pattern(tmp_path):
    tree = Audited(tmp_path, 2, wbt_us=75000)
    tree.limited()
    tree.cgroup("kubepods.slice")
    tree.cgroup("kubepods.slice/pod1")
    assert [path.name for path in tree.host("/kubepods.slice/*").groups] == ["pod1"]
    assert audit(tree.host("kubepods.slice*")) == [] and audit(tree.host("bat*")) != []
    assert tree.host("kube*").groups == [tree.root / "kubepods.slice"]  # one level, as everywhere
    assert len(tree.host("kubepods.slice/**").groups) == 2
    with pytest.raises(Refused, match=r"fits 'docker/\*'; found none of 3; give a path"):
        tree.host("docker/*")


def test_bad_options_are_refused_before_anything_is_read(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--fix"])
    assert ended.value.code == 2 and "unrecognized arguments: --fix" in capsys.readouterr().err
