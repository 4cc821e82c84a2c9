"""The regulator as the operator runs it: one program, real cgroups, real devices."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.lifecycle.recovery import recover
from elevatorlab.agent.operations import left_behind
from elevatorlab.agent.regulator.actuator import Actuator, LimitFailed
from elevatorlab.agent.regulator.targets import Target
from elevatorlab.agent.regulator.topology import find_cgroups
from elevatorlab.testbeds import agent_archive
from helpers import cli, start_cli, wait_until
from regulator_host import (
    BLKIO_MARKS,
    BUFFERED,
    NORMAL,
    OVERLOAD,
    blkio_cgroup,
    events,
    limits_of,
    loop_device,
    loop_devices,
    on_host,
    single_server_disk,
)
from regulator_program import SLAE, program, refused  # noqa: F401  (fixtures)
from sshd import free_port

pytestmark = BLKIO_MARKS


@pytest.mark.parametrize(
    "options, sentence",
    [
        (("--device", "nope"), "expected a block device named 'nope'; found .*loop"),
        (("--disk", "nope"), "expected a block device named 'nope'"),
        (("--cgroup", "no/such=loop0"), "expected the cgroup .*/no/such; found none"),
        (("--cgroup", "docker"), "expected a block device for cgroup docker; found none"),
    ],
)
def test_hosts_that_lack_what_is_named(program, options, sentence):
    assert re.search(sentence, refused(program, *SLAE, *options))


def test_a_device_whose_requests_are_not_counted(program):
    with loop_devices(1) as [loop]:
        Path(f"/sys/block/{loop}/queue/iostats").write_text("0\n")
        message = refused(program, *SLAE, "--device", loop)
    assert re.search(f"expected the kernel to count the requests of {loop}; found 0 in", message)


@pytest.mark.parametrize(
    "host, sentence",
    [
        ("unix:///no/such.sock", "expected a running Docker engine; no answer .*start it"),
        ("tcp://10.0.0.1:2375", "expected DOCKER_HOST to be a Unix socket"),
    ],
)
def test_no_engine(program, host, sentence):
    message = refused(program, *SLAE, env={**os.environ, "DOCKER_HOST": host})
    assert re.search(sentence, message)


def test_no_permission(program, tmp_path):
    with blkio_cgroup("denied") as folder:
        options = (*SLAE, "--cgroup", f"{folder}=loop0")
        nobody = ["/usr/bin/python3", *program[1:]]  # which anybody may run
        message = refused(nobody, *options, user="nobody", group="nogroup")
    assert "found that it is not; run as root" in message


@contextlib.contextmanager
def host(tmp_path, names):
    """Give each name a cgroup and a device on one single-server disk: name -> (cgroup, loop)."""
    with contextlib.ExitStack() as undo:
        loops = undo.enter_context(loop_devices(len(names)))
        undo.enter_context(single_server_disk(tmp_path, loops, 0.05, 6000))
        yield {
            name: (undo.enter_context(blkio_cgroup(name)), loop)
            for name, loop in zip(names, loops, strict=True)
        }


@contextlib.contextmanager
def writing(place, command):
    """Run a load in a cgroup."""
    folder, loop = place
    load = on_host(command, loop, folder)
    try:
        yield load
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(load.pid, signal.SIGKILL)
        load.wait()
        wait_until(lambda: (folder / "cgroup.procs").read_text() == "", 20)


@contextlib.contextmanager
def regulating(program, tmp_path, places, *options):
    """Run the regulator over `places`; return the process and its log."""
    log = tmp_path / "log.jsonl"
    chosen = [f"--cgroup={folder}={loop}" for folder, loop in places.values()]
    command = [*program, *options, *chosen, "--log", log, "--state", tmp_path / "state"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process, log
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def limit(place):
    return (place[0] / "blkio.throttle.write_bps_device").read_text().strip()


@pytest.fixture
def overloaded(tmp_path):
    """Two normal writers and an overload, each in a cgroup and on a device of its own."""
    with (
        host(tmp_path, ("normal-1", "normal-2", "over")) as places,
        contextlib.ExitStack() as loads,
    ):
        for name, place in places.items():
            loads.enter_context(writing(place, OVERLOAD if name == "over" else NORMAL))
        yield places


def test_an_overload_is_contained_and_everything_is_restored(program, tmp_path, overloaded):
    port = free_port()
    options = (*SLAE, "--metrics-port", str(port))
    with regulating(program, tmp_path, overloaded, *options) as (process, log):
        [first] = wait_until(lambda: events(log))[:1]
        assert first["container"].endswith("over") and first["action"] == "throttle"
        assert first["numbers"]["wait_ms"] > 5 and first["cause"].startswith("wait_ms of ")
        assert first["proofs"][0]["read"].endswith(f" {first['limit_bytes_s']}")
        assert limit(overloaded["over"]) != "" and limit(overloaded["normal-1"]) == ""

        def contained():
            page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
            waits = re.findall(r'container_wait_seconds\{container="\S*normal-\d"\} (\S+)', page)
            # Where other work takes the CPUs, the disk in user space slows down by itself.
            limit_s = first["numbers"]["wait_ms"] / 1000 / 2
            return page if len(waits) == 2 and max(map(float, waits)) < limit_s else None

        page = wait_until(contained)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/other")
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
        assert process.stderr.read() == ""
    # A busy machine may miss a period, or need a second decision: the page counts what the log has.
    throttled = int(re.search(r'decisions_total\{action="throttle"\} (\d+)', page)[1])
    assert 1 <= throttled <= [one["action"] for one in events(log)].count("throttle")
    missed = int(re.search(r"^elevatorlab_missed_periods_total (\d+)$", page, re.MULTILINE)[1])
    assert missed <= sum(one["control_periods"] for one in events(log, "missed"))
    assert limit(overloaded["over"]) == ""
    [end] = events(log, "stop")
    assert [name.rsplit("-", 1)[1] for name in end["restored"]] == ["over"]
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["lock"]


def test_a_killed_regulator_is_cleaned_up_by_the_next_start(program, tmp_path, overloaded):
    with regulating(program, tmp_path, overloaded, *SLAE) as (process, log):
        wait_until(lambda: limit(overloaded["over"]))
        process.kill()
        process.wait()
    assert limit(overloaded["over"]) != ""
    (left,) = left_behind.everywhere(tmp_path / "state")
    assert left.cgroup == overloaded["over"][0] and "regulate --policy slae" in left.command
    idle = {"normal-1": overloaded["normal-1"]}
    with regulating(program, tmp_path, idle, *SLAE, "--dry-run") as (process, log):
        [shown] = wait_until(lambda: events(log, "left_behind"))
        wait_until(lambda: len(events(log, "start")) == 2)
    assert shown["cgroup"] == str(left.cgroup) and limit(overloaded["over"]) != ""
    with regulating(program, tmp_path, idle, *SLAE) as (process, log):
        wait_until(lambda: len(events(log, "start")) == 3)
        assert limit(overloaded["over"]) == ""
        second = refused(
            program, *SLAE, f"--cgroup={idle['normal-1'][0]}=loop0", "--state", tmp_path / "state"
        )
        assert "expected to be the only regulator on this host; found another one" in second


def test_clean_takes_away_what_a_killed_regulator_has_left(program, tmp_path, overloaded):
    chosen = [f"--cgroup={folder}={loop}" for folder, loop in overloaded.values()]
    log = tmp_path / "log.jsonl"
    with subprocess.Popen([*program, *SLAE, *chosen, "--log", log]) as process:
        try:
            wait_until(lambda: limit(overloaded["over"]))
        finally:
            process.kill()
    said = cli("clean", "--testbed", "host").stdout
    assert limit(overloaded["over"]) == "" and "1 killed regulators" in said


def test_a_command_that_is_killed_leaves_no_limit(tmp_path, overloaded):
    log, options = tmp_path / "log.jsonl", (*SLAE, "--state", tmp_path / "state")
    chosen = [f"--cgroup={folder}={loop}" for folder, loop in overloaded.values()]
    process = start_cli("regulate", *options, "--log", log, *chosen)
    try:
        wait_until(lambda: limit(overloaded["over"]))
    finally:
        process.kill()
        process.communicate()  # which ends with the program that the command has started
    assert limit(overloaded["over"]) == "" and len(events(log, "stop")) == 1


def test_a_trials_regulator_ends_with_its_agent_and_restores_everything(tmp_path, overloaded):
    agent, log = tmp_path / "agent.pyz", tmp_path / "log.jsonl"
    agent.write_bytes(agent_archive.agent_archive())
    (folder, loop) = overloaded["over"]
    wanted = {
        **{"policy": "ute", "threshold": 0.1, "sla_wait_ms": None, "classes": {}},
        **{"period_s": 0.5, "floor_kib_s": 128, "disk": loop, "cgroups": {str(folder): loop}},
        **{"log": str(log), "plugins": None},
    }
    command = [sys.executable, agent, "trial-regulator", json.dumps(wanted)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        wait_until(lambda: limit(overloaded["over"]))
        process.stdin.close()  # as the kernel does where the agent is killed
        assert process.wait(300) == 0
    assert events(log)[0]["action"] == "throttle" and limit(overloaded["over"]) == ""


def test_a_dry_run_decides_and_sets_nothing(program, tmp_path, overloaded):
    options = ("--policy", "ute", "--threshold", "0.5", "--dry-run")
    with regulating(program, tmp_path, overloaded, *options) as (process, log):
        first = wait_until(lambda: events(log))[0]
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0
    assert first["dry_run"] and "proofs" not in first
    assert first["cause"].startswith("utilisation of the disk is ")
    assert {limit(place) for place in overloaded.values()} == {""}
    assert not (tmp_path / "state").exists()


def test_once_prints_what_it_sees_and_would_do(program, tmp_path, overloaded):
    chosen = [f"--cgroup={folder}={loop}" for folder, loop in overloaded.values()]
    run = subprocess.run([*program, *SLAE, "--once", *chosen], capture_output=True, text=True)
    seen = json.loads(run.stdout)
    assert run.returncode == 0 and len(seen["containers"]) == 3
    assert [d["action"] for d in seen["decisions"]] == ["throttle"]
    assert {limit(place) for place in overloaded.values()} == {""}


def test_an_overload_that_ends_in_mid_control(program, tmp_path):
    names = ("normal-1", "normal-2", "over")
    with host(tmp_path, names) as places, contextlib.ExitStack() as loads:
        for name in names[:2]:
            loads.enter_context(writing(places[name], NORMAL))
        with regulating(program, tmp_path, places, *SLAE, "--period-s", "0.5") as (process, log):
            with writing(places["over"], OVERLOAD):
                wait_until(lambda: limit(places["over"]))
            places["over"][0].rmdir()
            gone = wait_until(lambda: [e for e in events(log, "container") if not e["came"]])
            assert gone[0]["container"].endswith("over")
            wait_until(lambda: "release" in {e["action"] for e in events(log)})
            process.send_signal(signal.SIGTERM)
            assert process.wait(300) == 0
            assert process.stderr.read() == ""
            places["over"][0].mkdir()


def test_buffered_writes_under_v1_are_detected(program, tmp_path):
    with host(tmp_path, ("buffers",)) as places, writing(places["buffers"], BUFFERED):
        with regulating(program, tmp_path, places, *SLAE) as (_, log):
            [warning] = wait_until(lambda: events(log, "warning"), 60)[:1]
    assert "through the page cache; cgroup v1 cannot limit such writes" in warning["text"]


def test_cgroups_come_and_classes_are_read_again(program, tmp_path):
    file = tmp_path / "classes.json"

    def write(classes):
        file.write_text(json.dumps({"classes": classes}))

    with loop_devices(1) as [loop], blkio_cgroup("slice") as above:
        pattern = f"{above.name}/*.service"
        write({"all": {"cgroups": [pattern], "devices": [loop]}})
        options = (*SLAE, "--config", file, "--period-s", "0.2")
        with regulating(program, tmp_path, {}, *options) as (process, log):
            wait_until(lambda: f"no cgroup fits {pattern} now" in str(events(log, "note")))
            (above / "a.service").mkdir()
            (above / "b.service").mkdir()
            wait_until(lambda: len(events(log, "container")) == 2)
            file.write_text("{")
            process.send_signal(signal.SIGHUP)
            [bad] = wait_until(lambda: events(log, "reload"))
            assert bad["refused"].startswith(f"expected JSON in {file}; found in line 1: ")
            write({"one": {"sla": 2, "cgroups": [f"{above.name}/a*"], "devices": [loop]}})
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: len(events(log, "container")) == 3)
            (above / "a.service").rmdir()
            (above / "b.service").rmdir()
            wait_until(lambda: len(events(log, "container")) == 4)
            process.send_signal(signal.SIGTERM)
            assert process.wait(300) == 0 and process.stderr.read() == ""
        assert events(log, "reload")[1]["law"]["slas"] == {"": 5.0, "one": 2.0}
        moves = [(one["container"], one["came"]) for one in events(log, "container")]
        assert sorted(moves[:2]) == [("a.service", True), ("b.service", True)]
        assert moves[2:] == [("b.service", False), ("a.service", False)]


def test_no_limit_outlives_its_pattern_or_its_cgroup(program, tmp_path):
    """A service that starts again under its name is judged anew; one that is dropped is free."""
    file, names = tmp_path / "classes.json", ("normal-1", "normal-2", "over")
    with host(tmp_path, names) as places, contextlib.ExitStack() as loads:

        def write(*watched):
            classes = {
                name: {"cgroups": [f"*{folder.name[1:]}"], "devices": [loop]}
                for name, (folder, loop) in places.items()
                if name in watched
            }
            file.write_text(json.dumps({"classes": classes}))

        def limited():
            return [one for one in events(log) if one["action"] == "throttle"]

        write(*names)
        for name in names[:2]:
            loads.enter_context(writing(places[name], NORMAL))
        options = (*SLAE, "--period-s", "0.5", "--config", file)
        with regulating(program, tmp_path, {}, *options) as (process, log):
            with writing(places["over"], OVERLOAD):
                wait_until(lambda: limit(places["over"]))
            places["over"][0].rmdir()
            places["over"][0].mkdir()
            before = len(limited())
            with writing(places["over"], OVERLOAD):
                wait_until(lambda: len(limited()) > before)
                wait_until(lambda: limit(places["over"]))
                write(*names[:2])
                process.send_signal(signal.SIGHUP)
                wait_until(lambda: limit(places["over"]) == "")
                assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(300) == 0 and process.stderr.read() == ""
        released = [one for one in events(log) if one["cause"] == "it is watched no longer"]
        assert places["over"][0].name in {one["container"] for one in released}
        assert {limit(place) for place in places.values()} == {""}


def test_a_terminal_that_closes_ends_a_regulator_without_a_file(program, tmp_path):
    with loop_devices(1) as [loop], blkio_cgroup("left") as folder:
        with regulating(program, tmp_path, {"left": (folder, loop)}, *SLAE) as (process, log):
            wait_until(lambda: events(log, "container"))
            process.send_signal(signal.SIGHUP)
            assert process.wait(300) == 0
    assert len(events(log, "stop")) == 1


def test_a_real_buffered_writer_under_a_real_limit(tmp_path):
    program = tmp_path / "agent.pyz"
    program.write_bytes(agent_archive.operators_archive())
    with blkio_cgroup("audit") as folder, loop_device(tmp_path, 512) as loop:
        number = open(f"/sys/block/{loop}/dev").read().strip()
        (folder / "blkio.throttle.write_bps_device").write_text(f"{number} 1048576\n")
        writes = (
            "import os, time\n"
            f"open({str(folder / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
            f"disk = open('/dev/{loop}', 'wb', 0)\n"
            "disk.write(bytes(32 << 20))\n"
            "print('written', flush=True)\n"
            "while disk.write(bytes(1 << 19)): time.sleep(0.125)"  # 2 minutes' room
        )
        writer = subprocess.Popen([sys.executable, "-c", writes], stdout=subprocess.PIPE, text=True)
        try:
            assert writer.stdout.readline() == "written\n"
            command = [sys.executable, program, "regulate", "audit", "--json"]
            run = subprocess.run(
                [*command, "--cgroup", folder.name], capture_output=True, text=True, timeout=300
            )
        finally:
            writer.kill()
            writer.communicate(timeout=300)
    assert run.returncode == 1 and run.stderr == ""
    # A host may have an engine or systemd that gives no answer, which is a note.
    [finding] = [one for one in json.loads(run.stdout) if one["kind"] != "not-asked"]
    assert (finding["kind"], finding["severity"]) == ("v1-buffered-writes", "error")
    assert finding["evidence"]["written_bytes"] > 32 << 20
    assert finding["evidence"]["newly_written_bytes"] > 1 << 20


@pytest.fixture
def real(tmp_path):
    """Return a cgroup of the real v1 hierarchy with a loop device, and who limits it."""
    with loop_device(tmp_path) as loop, blkio_cgroup("actuator") as folder:
        number = Path(f"/sys/block/{loop}/dev").read_text().strip()
        target = Target("c", "c", "", folder, (loop,), True)
        with Journal(tmp_path / "journal") as journal:
            yield Actuator(find_cgroups(), lambda _: number, journal), target, number


def test_a_limit_is_set_read_back_and_taken_back(real):
    actuator, target, number = real
    records = actuator.set(target, 1 << 20)
    assert limits_of(target.folder) == [f"{number} 1048576"] * 2
    assert [record["read"] for record in records] == [f"{number} 1048576"] * 2
    actuator.set(target, None)
    assert limits_of(target.folder) == ["", ""]


def test_a_limit_bites_and_its_end_too(real):
    actuator, target, _ = real
    command = f"echo $$ >{target.folder}/cgroup.procs; dd if=/dev/zero of=/dev/{target.devices[0]} "
    command += "bs=64k count=16 oflag=direct status=none"

    def seconds():
        start_s = time.monotonic()
        subprocess.run(["sh", "-c", command], check=True)
        return time.monotonic() - start_s

    actuator.set(target, 1 << 20)
    # The quickest of some, since other work can only make them slower.
    assert 0.7 < min(seconds() for _ in range(3)) < 3  # 1 MiB at 1 MiB/s
    actuator.set(target, None)
    assert min(seconds() for _ in range(5)) < 0.5


def test_the_stricter_limit_of_somebody_else_stays_and_returns(real):
    actuator, target, number = real
    (target.folder / "blkio.throttle.read_bps_device").write_text(f"{number} 500000\n")
    actuator.set(target, 1 << 20)
    assert limits_of(target.folder) == [f"{number} 500000", f"{number} 1048576"]
    actuator.set(target, None)
    assert limits_of(target.folder) == [f"{number} 500000", ""]


def test_leaving_restores_what_was(tmp_path):
    with loop_device(tmp_path) as loop, blkio_cgroup("leaving") as folder:
        number = Path(f"/sys/block/{loop}/dev").read_text().strip()
        (folder / "blkio.throttle.write_bps_device").write_text(f"{number} 700000\n")
        target = Target("c", "c", "", folder, (loop,), True)
        with pytest.raises(RuntimeError), Journal(tmp_path / "journal") as journal:
            Actuator(find_cgroups(), lambda _: number, journal).set(target, 1 << 18)
            assert limits_of(folder) == [f"{number} 262144"] * 2
            raise RuntimeError
        assert limits_of(folder) == ["", f"{number} 700000"]


def test_counters_of_cgroup_v1_start_without_limiting_anything(real):
    actuator, target, number = real
    actuator.start_counters(target)
    assert limits_of(target.folder) == ["", ""]
    write = f"echo $$ >{target.folder}/cgroup.procs; dd if=/dev/zero of=/dev/{target.devices[0]} "
    write += "bs=4k count=5 oflag=direct status=none"
    subprocess.run(["sh", "-c", write], check=True)
    assert actuator.hierarchy.counters(target.folder)[number][1::2] == [5, 5 * 4096]


def test_a_container_that_ends_before_its_limit_is_told(real):
    actuator, target, _ = real
    target.folder.rmdir()
    with pytest.raises(LimitFailed, match="container c ended, or lost its device"):
        actuator.set(target, 1 << 20)
    target.folder.mkdir()


def test_what_is_gone_with_its_container_needs_no_restoring(tmp_path, capsys):
    folder = tmp_path / "journal"
    folder.mkdir()
    step = ["restore_limit", "/sys/fs/cgroup/blkio/no-such/blkio.throttle.read_bps_device", "7:4 0"]
    (folder / "1.jsonl").write_text(json.dumps(step) + "\n")
    recover(folder)
    assert capsys.readouterr().err == "" and list(folder.iterdir()) == []
