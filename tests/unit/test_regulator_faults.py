"""What may go wrong in mid-control, through the whole loop, on hosts in a folder."""

import io
import json
import shutil
import threading
import time

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.operations.service import Renewal, Service
from elevatorlab.agent.regulator.actuator import Actuator
from elevatorlab.agent.regulator.control import DEFAULTS
from elevatorlab.agent.regulator.event_log import JsonLines
from elevatorlab.agent.regulator.guard import Guard
from elevatorlab.agent.regulator.policies import Slae
from regulator_trees import Tree, counts_line

NORMAL, OVER = "normal", "over"
DISK = "8:0"


class Host:
    """Two containers, each on a partition of its own; one second at a time.

    The normal one waits 20 ms a write, whatever the limit of the other one, which wants 5 MB/s.
    """

    def __init__(self, folder, version):
        self.tree = Tree(folder, version)
        self.tree.device("sda", DISK)
        self.targets = []
        for number, name in enumerate((NORMAL, OVER), 1):
            self.tree.partition(f"sda{number}", f"8:{number}", "sda")
            self.tree.cgroup(name)
            self.targets.append(self.tree.target(name, f"sda{number}"))
        self.counts = {"sda1": [0, 0, 0], "sda2": [0, 0, 0]}
        self.output, self.own_limit = io.StringIO(), None

    def loop(self, journal):
        monitor = self.tree.monitor("sda")
        actuator = Actuator(self.tree.hierarchy, monitor.number, journal)
        self.show()
        law, log = Slae({"": 5.0}), JsonLines(self.output)
        renewal = Renewal(threading.Event(), lambda: (law, Source(self)))
        return Service(Source(self), monitor, law, DEFAULTS, actuator, log, renewal)

    def show(self):
        """Write the counters as the kernel shows them."""
        both = [sum(pair) for pair in zip(*self.counts.values(), strict=True)]
        lines = {"8:0 sda": both, "8:1 sda1": self.counts["sda1"], "8:2 sda2": self.counts["sda2"]}
        self.tree.diskstats(
            *(
                counts_line(*name.split(), writes=values[0], write_sectors=values[1],
                            write_ms=values[2], busy_ms=values[2])
                for name, values in lines.items()
            )
        )  # fmt: skip

    def second(self, loop, elapsed_s=1.0):
        """Let a second of overload pass, and the loop see it; its clock may say otherwise."""
        bytes_s = min(160 << 15, self.limit() or 160 << 15)
        for device, growth in (("sda1", (47, 470, 940)), ("sda2", overload(bytes_s))):
            grown = zip(self.counts[device], growth, strict=True)
            self.counts[device] = [old + new for old, new in grown]
        self.show()
        self.tree.time_s += elapsed_s
        loop.step()

    def limit(self):
        """Return the limit of the overload's writes; None without one, and without a cgroup."""
        folder = self.tree.root / OVER
        limits = self.tree.hierarchy.limits
        return limits(folder, DISK, ["write_bytes_s"])["write_bytes_s"] if folder.exists() else None

    def events(self, kind):
        lines = [json.loads(line) for line in self.output.getvalue().splitlines()]
        return [line for line in lines if line["event"] == kind]


def overload(bytes_s):
    """Return the growth in a second of (writes, sectors, ms): three writers of 32 KiB each."""
    return max(1, bytes_s >> 15), bytes_s // 512, 2980


class Source:
    """The containers of a `Host`, as an engine would list them."""

    def __init__(self, host):
        self.host = host

    def targets(self):
        return list(self.host.targets), []

    def close(self):
        """Nothing is open."""


@pytest.fixture(params=[1, 2], ids="cgroup v{}".format)
def host(request, tmp_path):
    return Host(tmp_path, request.param)


@pytest.fixture
def loop(host, tmp_path):
    """Return a loop that has seen the host once; afterwards no limit of the loop's is left."""
    with Journal(tmp_path / "journal") as journal:
        loop = host.loop(journal)
        loop.step()
        yield loop
    assert host.limit() == host.own_limit


@pytest.fixture
def throttled(host, loop):
    """Return a loop that has just throttled the overload."""
    host.second(loop)
    assert host.limit() is not None
    return loop


@pytest.mark.parametrize("jump", ["of the clock", "of the counters"])
def test_what_jumps_back_changes_no_limit_and_the_loop_goes_on(host, throttled, jump):
    before = host.limit()
    if jump == "of the counters":
        host.counts = {device: [0, 0, 0] for device in host.counts}
    host.second(throttled, elapsed_s=-3600 if jump == "of the clock" else 1.0)
    assert host.limit() == before
    host.second(throttled)
    assert host.limit() != before


def test_a_container_that_is_removed_in_mid_control_is_forgotten(host, throttled):
    normal, over = host.targets
    shutil.rmtree(over.folder)
    host.targets = [normal]
    for _ in range(DEFAULTS.release_after + 1):
        host.second(throttled)
    assert throttled.limited() == []
    gone = [one["container"] for one in host.events("container") if not one["came"]]
    assert gone == [OVER]
    assert host.events("decision")[-1]["action"] == "release"


def test_a_cgroup_that_vanishes_before_its_container_is_told_to_have_failed(host, throttled):
    shutil.rmtree(host.targets[1].folder)  # the engine still lists the container
    host.second(throttled)
    for _ in range(DEFAULTS.release_after):
        host.second(throttled)
    last = host.events("decision")[-1]
    assert (last["container"], last["action"]) == (OVER, "release")
    assert "ended, or lost its device" in last["failed"]


def test_a_device_without_counters_stops_no_loop(host, throttled):
    host.tree.diskstats(counts_line("8:0", "sda"), counts_line("8:1", "sda1"))
    host.tree.time_s += 1
    before = host.limit()
    throttled.step()
    assert host.limit() == before
    [note] = host.events("note")
    assert note["text"].startswith("device sda2 has no counters now")


def test_a_host_that_was_too_busy_is_told_how_many_periods_it_missed(host, throttled):
    stop = threading.Event()

    class Slow:
        calls = 0

        def targets(self):
            self.calls += 1
            if self.calls == 3:
                stop.set()
            time.sleep(0.12 if self.calls == 1 else 0)
            return [], []

    throttled.source = Slow()
    throttled.run(0.05, stop)
    assert throttled.missed == sum(one["control_periods"] for one in host.events("missed")) >= 2


@pytest.mark.parametrize("change", ["dropped", "other device"])
def test_a_container_that_goes_on_unwatched_keeps_no_limit(host, throttled, change):
    """Its pattern or its device is another one since the classes were read again."""
    normal, over = host.targets
    moved = over._replace(devices=("sda1",), own=False)
    host.targets = [normal] if change == "dropped" else [normal, moved]
    host.second(throttled)
    assert host.limit() is None
    assert throttled.limited() == []
    released = [one for one in host.events("decision") if one["action"] == "release"]
    assert [one["cause"] for one in released] == ["it is watched no longer"]
    assert all(OVER not in pool.throttled for pool in throttled.state.values())


def come_back(host, own_limit=None):
    """Replace the overload's cgroup by one of the same name, which may have a limit of its own."""
    normal, over = host.targets
    shutil.rmtree(over.folder)
    host.tree.cgroup(OVER)
    limits = {"read_bytes_s": None, "write_bytes_s": own_limit}
    for file, value, _ in host.tree.hierarchy.knobs(over.folder, DISK, limits):
        file.write_text(value)
    host.own_limit = own_limit
    host.targets = [normal, over._replace(key=over.key + "+")]


def test_a_cgroup_that_comes_back_has_its_own_limits_only(host, throttled):
    come_back(host, own_limit=9_000_000)
    host.tree.time_s -= 3600  # so that the policy itself decides nothing
    throttled.step()
    assert host.limit() == 9_000_000


def test_nothing_is_kept_of_containers_that_ended(host, loop):
    journal, kept = loop.actuator.journal, set()
    for _ in range(8):
        host.second(loop)
        assert host.events("decision")[-1]["action"] == "throttle"
        kept.add((len(journal.steps), len(journal.path.read_text().splitlines())))
        come_back(host)
        loop.step()
    ((steps, lines),) = kept  # it does not grow
    assert steps == lines


def test_guard_forgets_containers_that_ended(host, loop):
    loop.policy = Guard({"": 5.0})
    for _ in range(8):
        host.second(loop)
        come_back(host)
    loop.step()
    assert loop.state["sda"].active <= {target.key for target in host.targets}


def dirty(host, mib, kind="ext4"):
    """Mount the overload's partition, and give the overload pages that wait to be written."""
    mount = f"30 1 8:2 / /srv rw - {kind} /dev/sda2 rw\n"
    (host.tree.proc / "self/mountinfo").write_text(mount)
    memory = f"anon 4096\nfile_dirty {mib << 19}\nfile_writeback {mib << 19}\n"
    (host.tree.root / OVER / "memory.stat").write_text(memory)


@pytest.mark.parametrize("host", [2], indirect=True)
def test_a_limit_that_will_hold_up_a_journal_is_told_of_before_it_is_set(host, loop):
    dirty(host, mib=64)
    for _ in range(3):
        host.second(loop)
    (warning,) = host.events("warning")
    decision = host.events("decision")[0]
    lines = host.output.getvalue()
    assert lines.index('"warning"') < lines.index('"decision"')
    delay_s = (64 << 20) / decision["limit_bytes_s"]
    assert warning["container"] == OVER
    limit = f"a limit of {decision['limit_bytes_s'] >> 10} KiB/s"
    assert f"65536 KiB to be written, which {limit} " in warning["text"]
    assert f"turns into {delay_s:.1f} s; all who fsync on /srv" in warning["text"]


@pytest.mark.parametrize(
    "host, mib, kind", [(1, 64, "ext4"), (2, 0, "ext4"), (2, 64, "xfs")], indirect=["host"]
)
def test_no_journal_is_spoken_of_where_none_can_be_held_up(host, loop, mib, kind):
    dirty(host, mib, kind)
    host.second(loop)
    assert host.events("decision") and host.events("warning") == []


def test_what_is_read_again_keeps_the_state_and_a_refusal_keeps_the_old(host, throttled):
    before, limit = throttled.state, host.limit()
    answers = [Refused("classes.db.sla: expected a number"), (Slae({"": 10.0}), Source(host))]

    def read():
        answer = answers.pop(0)
        if isinstance(answer, Refused):
            raise answer
        return answer

    throttled.renewal = Renewal(threading.Event(), read)
    for policy, said in [(Slae({"": 5.0}), "refused"), (Slae({"": 10.0}), "law")]:
        throttled.renewal.wanted.set()
        host.tree.time_s -= 3600  # so that the policy itself decides nothing
        throttled.step()
        assert (throttled.policy, throttled.state, host.limit()) == (policy, before, limit)
        assert said in host.events("reload")[-1]
    assert host.events("reload")[0]["refused"].endswith("what was read before stays in force")
    assert answers == [] and not throttled.renewal.wanted.is_set()


def test_each_period_is_shown_with_its_decisions(host, throttled):
    shown = []
    throttled.show = lambda observation, limits, decisions: shown.append((limits, decisions))
    host.second(throttled)
    [(limits, [decision])] = shown
    assert (decision.name, decision.action, decision.numbers["victim"]) == (OVER, "tighten", NORMAL)
    assert limits == {OVER: decision.limit_bytes_s}
