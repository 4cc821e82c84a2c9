"""What engines, Kubernetes and systemd say was asked, from what their commands print."""

import json

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.operations.asked import ANNOTATION, fetched, parsed
from elevatorlab.agent.operations.asked_records import AskedLimit, AskedWeight, number


def read(*what):
    texts = [one if isinstance(one, str) else json.dumps(one) for one in what]
    return parsed([(f"file{index}", text) for index, text in enumerate(texts)])


def engine(state, **config):
    return [{"Id": "0f" * 32, "Name": "/web", "State": state, "HostConfig": config}]


def test_docker_and_podman():
    config = {
        "BlkioDeviceReadBps": None,
        "BlkioDeviceWriteBps": [{"Path": "/dev/sda", "Rate": 1048576}],
        "BlkioDeviceWriteIOps": [{"Path": "/dev/sdb", "Rate": 90}],
        "BlkioWeight": 300,
        "BlkioWeightDevice": [{"Path": "/dev/sda", "Weight": 400}],
    }
    [one] = read(engine({"Running": True, "Pid": 7}, **config))
    assert (one.source, one.name, one.hints, one.process) == ("docker", "web", ("0f" * 32,), 7)
    assert one.limits == (
        AskedLimit("/dev/sda", "wbps", 1048576),
        AskedLimit("/dev/sdb", "wiops", 90),
    )
    assert one.weights == (AskedWeight("/dev/sda", 400, True), AskedWeight("", 300, True))
    [one] = read(engine({"Running": True, "CgroupPath": "/machine.slice/libpod-0f.scope"}))
    assert (one.source, one.path) == ("podman", "/machine.slice/libpod-0f.scope")
    assert read(engine({"Running": False}, **config)) == []


def test_systemd():
    show = (
        "Id=a.service\nControlGroup=/system.slice/a.service\nIOWeight=500\n"
        "IOReadBandwidthMax=/dev/sda 1048576\nIOWriteIOPSMax=/srv/x y 12\n"
        "IODeviceWeight=/dev/sdb 200\n\n"
        "Id=b.service\nControlGroup=/system.slice/b.service\nIOWeight=[not set]\n\n"
        "Id=c.service\nControlGroup=\nIOWeight=200\n"
    )
    [one] = read(show)
    assert (one.name, one.path) == ("a.service", "/system.slice/a.service")
    assert one.limits == (
        AskedLimit("/dev/sda", "rbps", 1048576),
        AskedLimit("/srv/x y", "wiops", 12),
    )
    assert one.weights == (AskedWeight("", 500, False), AskedWeight("/dev/sdb", 200, False))
    unit = "[Service]\nExecStart=/bin/a\nIOWriteBandwidthMax=/dev/sda 5M\n"
    [one] = read(f"{unit}IODeviceLatencyTargetSec=/dev/sda 2.5ms\n")
    assert one.hints == ("file0",) and one.limits[0].value == 5_000_000
    assert one.limits[1] == AskedLimit("/dev/sda", "target", 2500)
    [spaced] = read("[Service]\nIODeviceLatencyTargetSec=/dev/sda 25 ms\n")
    assert spaced.limits == (AskedLimit("/dev/sda", "target", 25_000),)


@pytest.mark.parametrize(
    "lines, limits, weights",
    [
        ("IOWriteBandwidthMax=/dev/sda 5M\nIOWriteBandwidthMax=", [], []),
        ("IOWriteBandwidthMax=/dev/sda 5M\nIOWriteBandwidthMax=/dev/sda infinity", [], []),
        ("IOWriteBandwidthMax=/dev/sda 5M\nIOWriteBandwidthMax=/dev/sda 2K", [("wbps", 2000)], []),
        ('  IOReadIOPSMax = "/dev/sda"  \\\n 7', [("riops", 7)], []),
        ("IODeviceLatencyTargetSec=/dev/sda 1min 5ms", [("target", 60_005_000)], []),
        ("IODeviceLatencyTargetSec=/dev/sda 0", [], []),
        ("# IOReadIOPSMax=/dev/sda 7\nIOReadIOPSMax=7", [], []),
        ("IOWeight=500\nIOWeight=200", [], [200]),
        ("BlockIOReadBandwidth=/dev/sda 5M\nBlockIOWriteBandwidth=", [], []),
        ("BlockIOWriteBandwidth=/dev/sda 5M\nIOReadIOPSMax=/dev/sda 7", [("riops", 7)], []),
        ("IOWeight=50\nBlockIOWeight=300\nBlockIODeviceWeight=/dev/sda 90", [], [50]),
        ("IOWeight=50\nBlockIOWeight=300\nIOWeight=", [], [300]),
        ("IODeviceWeight=/dev/sda 5\nIODeviceWeight=\nIOWeight=9\nIOWeight=", [], []),
    ],
)
def test_the_last_assignment_of_a_unit_counts(lines, limits, weights):
    [one] = read(f"[Service]\n{lines}\n")
    assert one.limits == tuple(AskedLimit("/dev/sda", *limit) for limit in limits)
    assert [weight.value for weight in one.weights] == weights


@pytest.mark.parametrize(
    "line, value",
    [
        ("IOWriteBandwidthMax=/dev/sda 10 M", 10_000_000),
        ("IOWriteBandwidthMax=/dev/sda 1P", 10**15),
        ("IOWriteBandwidthMax=/dev/sda 1E", 10**18),
        ("IOWriteBandwidthMax=/dev/sda 1.5M", 1_500_000),
        ("IOWriteBandwidthMax=/dev/sda 5B", 5),
        ("IOWriteBandwidthMax=/dev/sda 10MB", None),
        ("IOWriteBandwidthMax=/dev/sda 10Mi", None),
        ("IOWriteBandwidthMax=/dev/sda 5m", None),
        ("IOWriteBandwidthMax=/dev/sda 50%", None),
        ("IOWriteBandwidthMax=/dev/sda 0", None),
        ("IOWriteBandwidthMax=/dev/sda", None),
        ("IOWriteBandwidthMax=10M", None),
        ("IODeviceLatencyTargetSec=/dev/sda soon", None),
        ("IODeviceLatencyTargetSec=/dev/sda 5 parsecs", None),
        ("IODeviceLatencyTargetSec=/dev/sda 5ms?", None),
        ("IODeviceLatencyTargetSec=/dev/sda 5 ms", 5000),
        ("IOWeight=20000", None),
        ("IOWeight=0", None),
        ("IOWeight=1K", None),
        ("BlockIOWeight=5", None),
        ("IODeviceWeight=/dev/sda 20000", None),
        ("IODeviceWeight=/dev/sda 10000", 10_000),
    ],
)
def test_a_line_is_read_or_ignored_as_systemd_does(line, value):
    """Those of systemd 252: `systemd-analyze verify` names each line that it ignores."""
    before = line.partition("=")[0] + ("=50" if "Weight=" in line else "=/dev/sda 50")
    before = before.replace("DeviceWeight=50", "DeviceWeight=/dev/sda 50")
    [one] = read(f"[Service]\n{before}\n{line}\n")
    figures = [what.value for what in (*one.limits, *one.weights)]
    left = 50_000_000 if "Latency" in line else 50
    assert figures == [left if value is None else value]
    assert one.unsupported == ((line,) if value is None else ())


def test_drop_ins_come_after_the_file_and_a_template_before_its_instance():
    asks = "[Service]\nIOReadIOPSMax=/dev/sda {}\nIOWriteIOPSMax=/dev/sda {}\n"
    files = [
        ("/etc/systemd/system/db@1.service.d/x.conf", "[Service]\nIOReadIOPSMax=\n"),
        ("/etc/systemd/system/service.d/io.conf", "[Service]\nIOWeight=9\n"),
        ("/etc/systemd/system/db@2.service", asks.format(3, 4)),
        ("/etc/systemd/system/db@.service", asks.format(1, 2)),
    ]
    cat = "\n".join(f"# {file}\n{text}" for file, text in files)
    for found in (parsed(files), read(cat)):
        by_name = {one.name: [limit.value for limit in one.limits] for one in found}
        assert by_name == {
            "db@1.service": [2],
            "service": [],
            "db@2.service": [3, 4],
            "db@.service": [1, 2],
        }
        assert [one.hints[0] for one in found][1::2] == ["*.service", "db@*.service"]
        assert all([weight.value for weight in one.weights] == [9] for one in found)


@pytest.mark.parametrize(
    "first, second, last",
    [
        ("/etc/systemd/db.service.d/10-a.conf", "service.d/90-z.conf", 2),
        ("/etc/systemd/db.service.d/90-a.conf", "service.d/10-z.conf", 1),
        ("/etc/systemd/db.service.d/a.conf", "/usr/lib/systemd/db.service.d/b.conf", 2),
        ("/etc/systemd/db.service.d/a.conf", "/usr/lib/systemd/db.service.d/a.conf", 1),
        ("/run/systemd/db.service.d/a.conf", "/etc/systemd/db.service.d/a.conf", 2),
        ("/lib/systemd/db.service.d/a.conf", "/run/systemd/db.service.d/a.conf", 2),
        ("/usr/lib/systemd/d@1.service.d/a.conf", "/etc/systemd/d@.service.d/a.conf", 2),
        ("/etc/systemd/d@1.service.d/a.conf", "/etc/systemd/d@.service.d/a.conf", 1),
        ("/usr/lib/systemd/db.service.d/a.conf", "/etc/systemd/service.d/a.conf", 1),
        ("/etc/systemd/a-b-c.slice.d/a.conf", "/etc/systemd/a-.slice.d/b.conf", 2),
        ("/etc/systemd/db.service", "/usr/lib/systemd/db.service", 1),
        ("/usr/lib/systemd/d@1.service", "/etc/systemd/d@.service", 1),
    ],
)
def test_files_of_a_unit_are_read_in_systemds_order(first, second, last):
    texts = [(first, "[Service]\nIOWeight=1\n"), (second, "[Service]\nIOWeight=2\n")]
    cat = "\n".join(f"# /systemd/{file}\n{text}" for file, text in texts)
    for found in (parsed(texts), read(cat)):
        assert found[0].weights[0].value == last  # the first is always the unit's own


def test_a_drop_in_takes_the_place_of_one_with_its_name():
    file = "/systemd/system/db.service.d/io.conf"
    asked = parsed([
        (f"/tmp/copy/etc{file}", "[Service]\nIOReadBandwidthMax=/dev/sda 5M\n"),
        (f"/tmp/copy/usr/lib{file}", "[Service]\nIOWriteBandwidthMax=/dev/sda 1M\n"),
    ])  # fmt: skip
    assert [one.limits for one in asked] == [(AskedLimit("/dev/sda", "rbps", 5_000_000),)]


def test_kubernetes_names_a_class_that_the_runtime_knows():
    about = {
        "blockio.resources.beta.kubernetes.io/pod": "slow",
        "blockio.resources.beta.kubernetes.io/container.db": "fast",
    }
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": about},
        "spec": {"containers": [{"name": "web"}, {"name": "db"}]},
        "status": {"containerStatuses": [{"name": "web", "containerID": "cri-o://77"}]},
    }
    web, db = read({"kind": "List", "items": [pod]})
    assert (web.name, web.hints, web.unknown_class) == ("p/web", ("77",), "slow")
    assert db.unknown_class == "fast"
    slow = [{"Weight": 80}, {"Devices": ["/dev/sd*"], "ThrottleWriteIOPS": "5k", "Weight": 50}]
    web, db = read(pod, {"Classes": {"slow": slow}})
    assert web.unknown_class == "" and db.unknown_class == "fast"
    assert web.limits == (AskedLimit("/dev/sd*", "wiops", 5000),)
    assert web.weights == (AskedWeight("", 80, True), AskedWeight("/dev/sd*", 50, True))
    pod["metadata"]["annotations"] = {"io.kubernetes.container.blkio": "{}", "team": "a"}
    assert [one.unsupported for one in read(pod)] == [("io.kubernetes.container.blkio",)]


def test_of_a_pods_other_containers_those_that_run_count():
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {ANNOTATION + "pod": "slow"}},
        "spec": {"initContainers": [{"name": "setup"}, {"name": "proxy"}], "containers": []},
        "status": {
            "initContainerStatuses": [
                {"name": "setup", "containerID": "cri-o://6", "state": {"terminated": {}}},
                {"name": "proxy", "containerID": "cri-o://7", "state": {"running": {}}},
            ],
            "ephemeralContainerStatuses": [{"name": "debug", "containerID": None}],
        },
    }
    [one] = read({"kind": "List", "items": [pod, {"kind": "Service"}]})
    assert (one.name, one.hints) == ("p/proxy", ("7",))


def test_a_pod_of_podman():
    rows = {"device_read_bps": [{"Path": "/dev/sda", "Rate": 9}], "blkio_weight": 300}
    pod = {"Id": "0f" * 32, "Name": "p", "State": "Running", "CreateCgroup": True, **rows}
    pod["CgroupPath"] = "machine.slice/a.slice"
    for what in (pod, [pod]):
        [one] = read(what)
        assert (one.source, one.name, one.hints) == ("podman", "p", ("0f" * 32,))
        assert one.path == "machine.slice/a.slice"
        assert one.limits == (AskedLimit("/dev/sda", "rbps", 9),)
        assert one.weights == (AskedWeight("", 300, True),)


def test_engines_print_their_objects_in_several_ways():
    rows = {"BlkioDeviceReadBps": [{"Path": "/dev/sda", "Rate": 0}]}  # 0 is no limit
    [web] = engine({}, **rows, CgroupConf={"io.max": "8:0 wbps=5 rbps=max"})
    image = {"Id": "sha256:0f", "RepoTags": []}
    found = read(f"{json.dumps([image, web])}\n{json.dumps(web)}\n")
    assert [one.limits for one in found] == [(AskedLimit("8:0", "wbps", 5),)] * 2
    [oci] = read({"linux": {"resources": {"unified": {"io.max": "8:0 riops=5"}}}})
    assert oci.limits == (AskedLimit("8:0", "riops", 5),)


def test_an_oci_configuration_wherever_it_is():
    block = {"weight": 300, "throttleReadIOPSDevice": [{"major": 8, "minor": 16, "rate": 5}]}
    spec = {"linux": {"cgroupsPath": "a.slice:cri-containerd:77", "resources": {"blockIO": block}}}
    for one in (spec, {"Spec": spec}, {"info": {"runtimeSpec": spec}, "status": {"id": "77"}}):
        [asked] = read(one)
        assert asked.hints == ("cri-containerd-77",)
        assert asked.limits == (AskedLimit("8:16", "riops", 5),)
        assert asked.weights == (AskedWeight("", 300, True),)


@pytest.mark.parametrize(
    "weight, source, version, accepted",
    [
        (AskedWeight("", 10, True), "docker", 2, {10, 1}),
        (AskedWeight("", 1000, True), "docker", 2, {1000, 10000}),
        (AskedWeight("", 500, False), "systemd", 2, {500, 136}),
        (AskedWeight("", 500, False), "systemd", 1, {1000, 181}),
        (AskedWeight("", 1, False), "systemd", 1, {10}),
        (AskedWeight("", 800, True), "systemd", 2, {160, 105}),
        (AskedWeight("", 500, True), "systemd", 1, {500, 136}),
    ],
)
def test_runtimes_write_a_weight_in_their_files_scale(weight, source, version, accepted):
    assert weight.accepted(source, version) == accepted


@pytest.mark.parametrize("text", ["nothing", "{}", "[1]", '{"a": '])
def test_a_file_of_no_known_form_is_refused(text):
    with pytest.raises(Refused, match="expected JSON .*; found .*; write"):
        read(text)


def test_json_that_lacks_what_its_program_writes_is_refused():
    for one in ({"kind": "Pod"}, engine({}, BlkioDeviceReadBps=[{"path": "/dev/sda"}])):
        with pytest.raises(Refused, match="found one without what these have: KeyError"):
            read(one)


def test_a_number_of_no_known_form_is_refused():
    with pytest.raises(Refused, match="expected a number as 1048576, 10M or 10Mi; found 'fast'"):
        number("fast")


def test_the_programs_of_a_host_are_asked(tmp_path, monkeypatch):
    """One answers all but what has ended since, one fails, and one is not there."""
    program = tmp_path / "docker"
    answer = json.dumps(engine({}, BlkioWeight=300))
    said = f"case $1 in ps) echo 0f 1f;; *) echo '{answer}'; echo no 1f >&2; exit 1;; esac"
    program.write_text(f"#!/bin/sh\n{said}\n")
    (tmp_path / "systemctl").write_text("#!/bin/sh\necho cannot connect >&2; exit 1\n")
    for name in ("docker", "systemctl"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted, answers = fetched()
    assert [one.name for one in wanted] == ["web"]
    assert answers == {"docker": "", "systemctl": "cannot connect"}
    (tmp_path / "systemctl").write_text(
        "#!/bin/sh\necho Id=a.service\necho IOReadIOPSMax=/dev/sda fast\n"
    )
    wanted, answers = fetched()
    assert [one.name for one in wanted] == ["web"]  # whatever another says
    assert "fast" in answers["systemctl"]
    (tmp_path / "systemctl").write_text(
        "#!/bin/sh\necho Id=a.service\n"
        "for one; do case $one in --property=*USec) echo ${one#*=}=/dev/sda 25ms;; esac; done\n"
    )
    wanted, _ = fetched()
    assert wanted[1].limits == (AskedLimit("/dev/sda", "target", 25_000),)
    program.unlink()
    assert [one.name for one in fetched()[0]] == ["a.service"]
