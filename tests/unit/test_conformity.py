"""The check of a scheduler: its words for the kernel's, and the machine that runs it."""

import hmac
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import broken_schedulers
from elevatorlab import scratch
from elevatorlab.elevators.check import (
    cases,
    check,
    forbidden_code,
    host_disk,
    kernel_log,
    machine,
    page,
)
from elevatorlab.elevators.check.conformity import CaseVerdict, Conformity
from elevatorlab.elevators.check.in_guest import atomic, late, load, memory, trace
from elevatorlab.elevators.check.in_guest.failure import Broken
from elevatorlab.errors import ElevatorLabError
from elevatorlab.testbeds.deterministic import modules
from helpers import wait_until
from leftovers import left_in, place  # noqa: F401  (fixtures)

NO_MODULE = Path("x-iosched.debug.ko")

IN_GUEST = Path(load.__file__).parent


def test_every_case_has_a_function_and_words():
    registry = (IN_GUEST / "cases" / "__init__.py").read_text()
    functions = re.findall(r"^        (?:at_rest|disks|orders|under_load)\.(\w+),", registry, re.M)
    assert functions == [case.name for case in cases.IN_THE_MACHINE]
    assert all(case.title.endswith(".") and case.means.endswith(".") for case in cases.CASES)


def test_every_case_is_failed_by_a_broken_scheduler():
    assert {one.case for one in broken_schedulers.BROKEN.values()} == {
        case.name for case in cases.CASES
    }


NMI = "[    5.232961] Uhhuh. NMI received for unknown reason 21 on CPU 0.\n"
PANIC = "[    5.232965] Kernel panic - not syncing: NMI: Not continuing\n"
SAID = {
    "sleeps": (
        "[    4.895863] BUG: scheduling while atomic: python3/117/0x00000002\n"
        "[    4.895948] Kernel panic - not syncing: scheduling while atomic: panic_on_warn\n",
        "It sleeps where nobody may",
    ),
    "waits for its own lock": (
        f"{NMI}{PANIC}[    5.233062] RIP: 0010:native_queued_spin_lock_slowpath+0x2e/0x2a0\n",
        "It waits for a spinlock that nobody gives back",
    ),
    "loops": (NMI + PANIC, "It keeps the processor for ever"),
    "loops, and the console stops": (NMI, "It keeps the processor for ever"),
    "something else": ("[    5.0] list_add: a new sentence\n", "The kernel was in trouble; its"),
    "issues twice": (
        "[    5.009073] list_add double add: new=ffff8880094101c8, prev=ffff8880094101c8\n"
        "[    5.009125] kernel BUG at lib/list_debug.c:33!\n"
        "[    5.009300]  blk_mq_do_dispatch_sched+0x116/0x3c0\n",
        "It issues a request twice",
    ),
    "issues twice, one by one": (
        "[    5.0] WARNING: CPU: 0 PID: 37 at block/blk-mq.c:1 blk_mq_start_request+0x1/0x2\n",
        "It issues a request twice",
    ),
    "damages a list": (
        "[    5.0] list_del corruption. prev->next should be 1, but was 2\n",
        "A list is damaged",
    ),
    "uses freed memory": (
        "[    4.7] general protection fault, probably for non-canonical address "
        "0x6b6b6b6b6b6b6b6b: 0000 [#1] PREEMPT SMP NOPTI\n",
        "It uses memory after it was freed",
    ),
    "writes too far": (
        "[    4.7] BUG kmalloc-64 (Tainted: G           OE     ): Right Redzone overwritten\n",
        "It writes beyond the memory",
    ),
    "follows a NULL pointer": (
        "[    4.7] BUG: kernel NULL pointer dereference, address: 0000000000000008\n",
        "It follows a NULL pointer",
    ),
    "says nothing": ("[    4.5] x_iosched: loading out-of-tree module taints kernel.\n", "a word"),
}


@pytest.mark.parametrize("what", SAID)
def test_what_the_kernel_says_is_named(what):
    console, named = SAID[what]
    sentence, _ = kernel_log.trouble(console, NO_MODULE)
    assert named in sentence


def test_only_what_had_to_be_interrupted_hangs():
    hung = {what for what, (console, _) in SAID.items() if kernel_log.hangs(console)}
    assert hung == {"waits for its own lock", "loops", "loops, and the console stops"}


def test_a_trace_is_shown_without_registers():
    console = (
        "[    4.5] x_iosched: loading out-of-tree module taints kernel.\n"
        "[    4.7] BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
        "[    4.7] RAX: 0000000000000058 RBX: 0000000000000001 RCX: 0000000000000000\n"
        "[    4.7]  ? handle_mm_fault+0xdb/0x2d0\n"
        "[    4.7]  blk_mq_init_sched+0x171/0x280\n"
    )
    _, lines = kernel_log.trouble(console, NO_MODULE)
    assert lines == [
        "BUG: kernel NULL pointer dereference, address: 0000000000000008",
        " blk_mq_init_sched+0x171/0x280",
    ]


class StandsForDisk:
    number = "254,0"
    selected_s = 5.0


LINES = """\
     python3-117 [000] .....     5.100000: block_getrq: 254,0 W 8 + 8 [python3]
     python3-117 [000] .....     5.200000: block_getrq: 254,0 RS 16 + 8 [python3]
     python3-117 [000] .....     5.200001: block_getrq: 7,0 R 16 + 8 [python3]
     python3-117 [000] .....     5.200002: block_getrq: 254,0 R 800 + 8 [python3]
    kworker/0:1H-37 [000] .....     5.232880: block_rq_issue: 254,0 W 8192 () 8 + 16 [kworker/0]
         <idle>-0   [000] d.h1.     5.233008: block_rq_complete: 254,0 W () 8 + 16 [0]
"""


def test_a_trace_tells_who_waits(tmp_path, monkeypatch):
    (tmp_path / "trace").write_text(LINES)
    monkeypatch.setattr(trace, "TRACING", tmp_path)
    waiting, done = trace.requests(StandsForDisk())
    assert [(one.sector, one.issued) for one in done] == [(8, True), (16, True)]
    assert [str(one) for one in waiting] == ["read of 8 sectors at sector 800"]
    assert not waiting[0].issued and waiting[0].overtaken_by == 0


def test_a_trace_tells_who_was_overtaken(tmp_path, monkeypatch):
    completes = "<idle>-0 [000] d.h1. 5.3: block_rq_complete: 254,0 R () 800 + 8 [0]\n"
    (tmp_path / "trace").write_text(LINES.split("    kworker")[0] + completes)
    monkeypatch.setattr(trace, "TRACING", tmp_path)
    waiting, _ = trace.requests(StandsForDisk())
    assert [(one.sector, one.overtaken_by) for one in waiting] == [(8, 1), (16, 1)]


GIVEN_BACK = """\
    kworker/0:1H-37 [000] .....     5.300000: block_rq_issue: 254,0 WFS 4096 () 8 + 8 [kworker/0]
    kworker/0:1H-37 [000] .....     5.300001: block_rq_requeue: 254,0 WFS () 8 + 8 [0]
"""


def test_a_trace_tells_what_the_driver_gave_back(tmp_path, monkeypatch):
    made = LINES.splitlines(keepends=True)[0]
    (tmp_path / "trace").write_text(made + GIVEN_BACK)
    monkeypatch.setattr(trace, "TRACING", tmp_path)
    (waiting,), done = trace.requests(StandsForDisk())
    assert not waiting.issued and not done
    assert trace.given_back(StandsForDisk()) == ["WFS"]
    (tmp_path / "trace").write_text(made + GIVEN_BACK.splitlines(keepends=True)[0])
    assert trace.requests(StandsForDisk())[0][0].issued
    assert trace.given_back(StandsForDisk()) == []


COMES_IN = """\
     python3-117 [000] d..1.     5.210000: block_rq_insert: 254,0 W 4096 () 8 + 8 [python3]
"""
COMPLETES_BY_ITSELF = """\
         <idle>-0   [000] d.h1.     5.3: block_rq_complete: 254,0 RS () 800 + 8 [0]
         <idle>-0   [000] d.h1.     5.4: block_rq_complete: 254,0 FWS () 0 + 0 [0]
"""


def test_what_is_served_must_have_come_in(tmp_path, monkeypatch):
    monkeypatch.setattr(trace, "TRACING", tmp_path)
    made, issued = LINES.split("    kworker")
    merged = f"{made}{COMES_IN}    kworker{issued}"
    (tmp_path / "trace").write_text(merged)
    trace.require_insertions(StandsForDisk())
    (tmp_path / "trace").write_text(merged + COMPLETES_BY_ITSELF)
    with pytest.raises(Broken, match="served 1 of 2 requests .* a read of 8 sectors at sector 800"):
        trace.require_insertions(StandsForDisk())


ALLOCATED = "%7d kmalloc_reserve+0x1/0x2 age=%d/2/3 pid=1 cpus=0\n        0xffffffffc0468123\n"

CACHES = {"before": ALLOCATED % (2, 1), "after": ALLOCATED % (5, 7)}


def test_memory_of_code_that_is_gone_is_a_leak(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CACHES", tmp_path)
    monkeypatch.setattr(memory, "ALL_CACHES", tmp_path)
    found = {}
    (tmp_path / "kmalloc-64").mkdir()
    for when, text in CACHES.items():
        (tmp_path / "kmalloc-64" / "alloc_traces").write_text(text)
        found[when] = memory.snapshot()
    text, init = 0xFFFFFFFFC0468000, 0xFFFFFFFFC0470000
    places = {".text": range(text, text + 4096), ".init.text": range(init, init + 4096)}
    leaks = list(memory.leaks(found["before"], found["after"], places))
    assert leaks == [("kmalloc-64", 3, ".text+0x123")]
    assert list(memory.leaks(found["after"], found["after"], places)) == []
    of_another = {".text": range(text - 4096, text)}
    assert list(memory.leaks(found["before"], found["after"], of_another)) == []


ALLOCATES = (
    "python3-117 [000] ...1. 5.1: kmalloc: call_site=mine_insert+0x1c/0x60 [mine_iosched] ptr=1\n"
)


def test_what_may_sleep_under_a_lock_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "BUFFER", tmp_path)
    (tmp_path / "trace").write_text(ALLOCATES)
    atomic.look("other_iosched")
    (tmp_path / "trace").write_text(ALLOCATES)
    with pytest.raises(Broken, match=r"kmalloc under a spinlock .* at mine_insert\+0x1c\. Memory"):
        atomic.look("mine_iosched")


CLOCK = """\
  python3-9 [000] d..1. 5.1: hrtimer_start: hrtimer=00ab function=tick_sched_timer expires=5000000000 mode=0x2
  python3-9 [000] d.h.. 5.2: hrtimer_expire_entry: hrtimer=00ab function=tick_sched_timer now=50{}00000
  python3-9 [000] d.h.. 5.2: <stack trace>
 => hrtimer_interrupt+0x10a/0x240
 => mine_dispatch+0x1c/0x60 [mine_iosched]
"""  # noqa: E501


def test_interrupts_that_were_off_for_long_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(late, "BUFFER", tmp_path)
    for delay, module in ("001", "mine_iosched"), ("070", "other_iosched"):
        (tmp_path / "trace").write_text(CLOCK.format(delay))
        late.look(module)
    (tmp_path / "trace").write_text(CLOCK.format("070"))
    with pytest.raises(Broken, match=r"interrupts off for 7 ms, up to mine_dispatch\+0x1c/0x60\."):
        late.look("mine_iosched")


def test_pages_that_only_a_module_was_given_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CALLS", tmp_path)
    call = "x-1 [000] ...1. 5.1: {}: (f+0x4/0x90) caller=0x{:x}\n"
    first, second, of_another = 0xFFFFFFFFC0468000, 0xFFFFFFFFC0568000, 0xFFFFFFFFC0668000
    calls = [("__get_free_pages", first + 16), ("free_pages", first + 64)]
    calls += [("__get_free_pages", second + 16), ("alloc_pages", of_another)]
    (tmp_path / "trace").write_text("".join(call.format(*one) for one in calls))
    places = [{".text": range(begin, begin + 4096)} for begin in (first, second)]
    assert memory.pages_left(places) == (1, ".text+0x10")
    assert memory.pages_left(places[:1]) == (0, ".text+0x10")
    assert memory.pages_left([]) == (0, "")


class RamDisk:
    """A file that stands for a disk."""

    def __init__(self, file):
        file.write_bytes(bytes(1 << 20))
        self.name, self.device, self.size_bytes = file.name, str(file), 1 << 20


def test_a_write_that_is_not_on_the_disk_is_found(tmp_path):
    disk = RamDisk(tmp_path / "disk")
    done = load.Load(disk, depth=4, requests=30)
    assert done.finish() == 120
    program = done.programs[2]
    sector = max(program.numbers)
    with open(disk.device, "r+b") as file:
        file.seek(512 * sector)
        file.write(load.content(sector, program.numbers[sector] + 1))
    with pytest.raises(Broken, match=f"sector {sector} does not read back"):
        done.compare()


def test_the_page_says_what_a_failure_means():
    verdicts = (
        CaseVerdict("builds", "passed"),
        CaseVerdict("loads", "failed", "The module does not load.", ("BUG: <oops>",)),
        CaseVerdict("is_selected", "not run", "nothing works without the case loads"),
    )
    conformity = Conformity("mine", "0" * 64, verdicts)
    assert page.summary(conformity) == "1 of 3 cases passed; failed: loads."
    html = page.html(conformity)
    assert "What a pass does not prove" in html
    assert "it does not pass the check" in html and "BUG: &lt;oops&gt;" in html
    assert "elv_register" in "\n".join(page.lines(verdicts[1])) and "elv_register" in html
    assert page.lines(verdicts[0]) == ["passed  builds"]


def test_an_unknown_case_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(ElevatorLabError, match="case: expected one of loads, .*; found 'speed'"):
        check(tmp_path, only=["speed"])


def test_what_a_check_would_leave_is_seen(place):
    assert left_in(place) == []
    with scratch.folder() as folder:
        assert left_in(place) == [Path(folder).name]
    # Its parent has ended, so it is nobody's child here.
    orphan = subprocess.check_output("sleep 600 >/dev/null & echo $!", shell=True, text=True)
    try:
        wait_until(lambda: left_in(place) == ["sleep 600 "])  # it may not be "sleep" yet
    finally:
        os.kill(int(orphan), signal.SIGKILL)
    wait_until(lambda: left_in(place) == [])


LISTING = """\
Disassembly of section .init.text:

0000000000000000 <init_module>:
   0:\tmov    $0xffffffff80000000,%rax
   5:\tout    %al,(%dx)
   6:\tmovabs $0xffff888012345678,%rdx
  10:\tmov    $0xffffffff81234567,%rax
  17:\tmov    %rax,%cr0
  1a:\tcli
  1b:\tcall   20 <init_module+0x20>
"""


def test_instructions_that_reach_beyond_the_block_layer_are_named():
    found = [
        one.removesuffix(" in .init.text")
        for one in forbidden_code.instructions(LISTING.splitlines(), NO_MODULE)
    ]
    assert found == [
        "it has the instruction out",
        "it has the kernel's address 0xffff888012345678 as a number",
        "it has the kernel's address 0xffffffff81234567 as a number",
        "it has the instruction mov %rax,%cr0",
    ]


@pytest.mark.parametrize(
    "name", ["filp_open", "kernel_write", "pci_get_device", "ioremap", "emergency_restart"]
)
def test_what_no_scheduler_needs_is_not_allowed(name):
    assert not forbidden_code.ALLOWED.fullmatch(name)


def test_only_the_next_signed_message_is_heard():
    key, said = b"k" * 32, '1 {"event": "ended"}'
    line = f"{hmac.digest(key, said.encode(), 'sha256').hex()} {said}\n"
    assert machine.opened(line, key, 1) == {"event": "ended"}
    for forged, number in (
        (line, 2),
        (line.replace("ended", "began"), 1),
        ('{"event": "ended"}\n', 1),
    ):
        with pytest.raises(host_disk.Forged):
            machine.opened(forged, key, number)


COMPILER = """\
x-iosched.c:9:20: error: 'struct x_data' has no member named 'lokc'
    9 |         spin_lock(&data->lokc);
note.h:6:2: note: in definition of macro '__x'
    6 |  (void)(a)
x-iosched.c:9:9: note: in expansion of macro 'spin_lock'
    9 |         spin_lock(&data->lokc);
x-iosched.c:10:1: warning: unused
"""


def test_how_a_macro_expands_is_left_out():
    kept = list(modules.folded(COMPILER.splitlines()))
    lines = COMPILER.splitlines()
    assert kept == [*lines[:2], lines[6]]
