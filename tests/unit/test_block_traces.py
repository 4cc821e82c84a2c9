"""Traces of other tools: what is read of each format, what is counted, and what is refused."""

import gzip
import json
import math
import re
import shutil
import struct

import pandas as pd
import pytest

from elevatorlab.cli import drive as command
from elevatorlab.drives import block_traces, drawing, replaying, traces
from elevatorlab.drives.block_traces import load
from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import PROJECT
from elevatorlab.trial.drives import drive
from helpers import FIXTURES

BARRACUDA = drive("barracuda")
#: In sectors.
CAPACITY = BARRACUDA.drive.capacity_sectors

#: The shared cases: blkparse's text, and two lines of MSR Cambridge.
BLKPARSE, MSR = (FIXTURES / "traces" / f"trace-{name}.csv" for name in ("blkparse", "msr"))

READ, WRITE, FLUSH, SYNC, QUEUE, REQUEUE, ISSUE, COMPLETE = (1 << 16 + bit for bit in range(8))
PASSED, NOTE, DISCARD, FUA = (1 << 16 + bit for bit in (9, 10, 13, 15))
SDA, SDB = 8 << 20, 8 << 20 | 16


def record(time_ns, sector, size, action, device=SDA, error=0, more=b"", order="<", version=7):
    """Return a `struct blk_io_trace`, as linux/blktrace_api.h has it."""
    numbers = (0x65617400 | version, 1, time_ns, sector, size, action, 1234, device, 0, error)
    return struct.pack(f"{order}IIQQIIIIIHH", *numbers, len(more)) + more


def records(**options):
    """Return what fixtures/traces/blkparse.txt is of: blkparse 1.2.0 wrote it from these."""
    return [
        record(0, 0, 0, NOTE, device=0, more=b"fio\0", **options),
        record(5_000_000, 2048, 4096, READ | QUEUE | 1, **options),
        record(5_001_000, 2048, 4096, READ | ISSUE | 7, **options),
        record(5_413_000, 2048, 4096, READ | COMPLETE | 8, **options),
        record(6_000_000, 4096, 8192, WRITE | SYNC | ISSUE | 7, **options),
        record(6_500_000, 4096, 8192, WRITE | SYNC | COMPLETE | 8, **options),
        record(7_000_000, 9000, 8192, DISCARD | WRITE | ISSUE | 7, **options),
        record(7_000_100, 9000, 8192, DISCARD | WRITE | COMPLETE | 8, **options),
        record(7_100_000, 0, 0, FLUSH | ISSUE | 7, **options),
        record(7_200_000, 0, 0, FLUSH | COMPLETE | 8, **options),
        record(7_300_000, 0, 36, READ | PASSED | ISSUE | 7, more=b"\x12\0\0\0\x24\0", **options),
        record(7_400_000, 0, 0, NOTE | 2, more=b"cfq hello", **options),
        record(7_500_000, 100, 4096, READ | ISSUE | 7, **options),
        record(7_510_000, 100, 4096, READ | REQUEUE | 6, **options),
        record(7_600_000, 100, 4096, READ | ISSUE | 7, **options),
        record(7_650_000, 100, 4096, READ | COMPLETE | 8, error=0xFFFB, **options),
        record(7_700_000, 512, 4096, READ | ISSUE | 7, device=SDB, **options),
        record(7_800_000, 0, 4096, WRITE | FLUSH | FUA | ISSUE | 7, **options),
    ]


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a trace of text."""

    def write(text, name="trace"):
        (tmp_path / name).write_text(text, newline="")
        return tmp_path / name

    return write


def rows(trace):
    """Return the requests of a trace as tuples, with None for an unknown response time."""
    return [
        tuple(None if one != one else one for one in row)  # noqa: PLR0124 (NaN)
        for row in trace.requests[list(traces.COLUMNS)].itertuples(index=False)
    ]


def test_the_response_of_a_request_in_blkparse_s_text_is_from_issue_to_completion():
    trace = load(BLKPARSE, CAPACITY)
    assert (trace.format, trace.device) == ("blkparse", "8,0")
    assert rows(trace) == [("R", 2048, 8, 412.0, 0.0)]
    assert trace.passed_over == trace.changed == {}


def test_an_msr_trace_counts_100_ns_and_bytes_and_is_scaled_to_the_drive():
    """13,320,526 ticks pass between the two, and 41,286 of them until the first is answered."""
    trace = load(MSR, CAPACITY)
    assert (trace.format, trace.device) == ("msr", "usr_0")
    furthest = (7014609920 + 24576) // 512
    assert trace.scale == CAPACITY / furthest
    place = (1317441536 // 512) * CAPACITY // furthest
    last = CAPACITY - 48
    assert rows(trace) == [("R", last, 48, 4128.6, 1327924.0), ("W", place, 16, 196.3, 0.0)]


#: What stays of `records`, in sectors and us, and what does not.
KEPT = [
    ("R", 2048, 8, 412.0, 587.0),
    ("W", 4096, 16, 500.0, 1100.0),
    ("R", 100, 8, 50.0, 150.0),
    ("W", 0, 8, None, 0.0),
]
LEFT = {"discards": 1, "flushes": 1, "issued and requeued": 1, "events of other devices": 1}


def test_blkparse_s_text_is_counted_by_kind():
    trace = load(FIXTURES / "traces" / "blkparse.txt", CAPACITY, device="8,0")
    assert rows(trace) == KEPT
    assert trace.passed_over == {**LEFT, "other events": 5}
    assert trace.changed == {
        "ended with an error on the real device": 1,
        "without a response time, and not compared": 1,
    }


@pytest.mark.parametrize("order", ["<", ">"])
def test_blktrace_s_records_are_read_as_blkparse_reads_them(tmp_path, order):
    """The text does not have the note on the process's name."""
    file = tmp_path / "trace.bin"
    file.write_bytes(b"".join(records(order=order)))
    trace = load(file, CAPACITY, device="8,0")
    assert trace.format == "blktrace" and rows(trace) == KEPT
    assert trace.passed_over == {**LEFT, "other events": 6}


def test_the_files_of_all_processors_are_one_trace(tmp_path):
    for processor in range(3):
        own = b"".join(records()[processor::3])
        (tmp_path / f"sda.blktrace.{processor}").write_bytes(own)
    shutil.copy(BLKPARSE, tmp_path / "sda.blktrace.txt")
    assert rows(load(tmp_path / "sda.blktrace.1", CAPACITY, device="8,0")) == KEPT


def test_a_record_with_a_cgroup_is_read(tmp_path):
    file = tmp_path / "trace.bin"
    in_cgroup = {"more": bytes(8)}
    file.write_bytes(
        record(1000, 64, 512, READ | ISSUE | 0x107, **in_cgroup)
        + record(3000, 64, 512, READ | COMPLETE | 0x108, **in_cgroup)
    )
    assert rows(load(file, CAPACITY)) == [("R", 64, 1, 2.0, 0.0)]


FIO_3 = """\
fio version 3 iolog
21 /dev/sda add
114 /dev/sda open
117 /dev/sda read 0 4096
5927 /dev/sda write 45056 4096
6000 /dev/sda datasync 0 0
6001 /dev/sda sync 0 0
8108 /dev/sda trim 53248 4096
10259 /dev/sda read 4608 512
10300 /dev/sda close
"""

FIO_2 = """\
fio version 2 iolog
/dev/sda add
/dev/sda open
/dev/sda read 0 4096
/dev/sda wait 5810 0
/dev/sda write 45056 4096
/dev/sda sync 0 0
/dev/sda datasync 0 0
/dev/sda wait 99 0
/dev/sda wait 4332 0
/dev/sda trim 53248 4096
/dev/sda read 4608 512
/dev/sda close
"""


@pytest.mark.parametrize("text", [FIO_2, FIO_3], ids=["version 2", "version 3"])
def test_an_iolog_counts_us_and_bytes(written, text):
    """In version 2, times are waits, and those below 100 us do not count."""
    trace = load(written(text), CAPACITY)
    assert (trace.format, trace.device) == ("fio", "/dev/sda")
    assert rows(trace) == [
        ("R", 0, 8, None, 5810.0),
        ("W", 88, 8, None, 4332.0),
        ("R", 9, 1, None, 0.0),
    ]
    assert trace.passed_over == {"other events": 3, "flushes": 2, "discards": 1}


#: The example of SPC's specification, without the line whose time lacks its point.
SPC = """\
0,20941264,8192,W,0.551706,Alpha/NT
0,20939840,8192,W,0.554041
0,20939808,8192,w,0.556202
1,3436288,15872,W,1.250720,0x123,5.99,test
1,3435888,512,W,1.609859
1,3435889, 512, W, 1.634761
0,7695360,4096,R,2.346628
1,10274472,4096,R,2.436645
2,30845544,4096,W,2.449733
1,10356592,4096,W,2.449733
2,30845544,0,R,2.5
"""


def test_an_spc_trace_counts_seconds_and_blocks_of_512_bytes(written):
    large = drive("desktop-7200").drive.capacity_sectors
    trace = load(written(SPC.replace("15872", "15800")), large, device="1")
    assert trace.format == "spc" and trace.scale == 1
    assert rows(trace) == [
        ("W", 3436288, 31, None, 359139.0),
        ("W", 3435888, 1, None, 24902.0),
        ("W", 3435889, 1, None, 801884.0),
        ("R", 10274472, 8, None, 13088.0),
        ("W", 10356592, 8, None, 0.0),
    ]
    assert trace.passed_over == {"events of other devices": 6}
    assert trace.changed["rounded to whole sectors"] == 1


ALIBABA = """\
0,R,126703644672,4096,1577808000000626
0,W,126703648768,8192,1577808000000726
0,R,0,4096,1577808000000826
"""


@pytest.mark.parametrize("header", ["", "device_id,opcode,offset,length,timestamp\r\n"])
def test_an_alibaba_trace_counts_us_and_bytes_and_keeps_runs(written, header):
    """The second request begins where the first ended, on the scaled drive, too."""
    trace = load(written(header + ALIBABA), CAPACITY)
    assert (trace.format, trace.device) == ("alibaba", "0")
    assert trace.scale == CAPACITY / ((126703648768 + 8192) // 512)
    last = CAPACITY
    assert rows(trace) == [
        ("R", last - 24, 8, None, 100.0),
        ("W", last - 16, 16, None, 100.0),
        ("R", 0, 8, None, 0.0),
    ]


def spaced(sectors, size=4096):
    """Return an Alibaba trace with a request at each of these sectors, 1 ms apart."""
    return "".join(f"7,R,{at * 512},{size},{1000 * n}\n" for n, at in enumerate(sectors))


def test_a_scaled_trace_keeps_runs_and_the_place_of_what_is_read_again(written):
    capacity = CAPACITY
    far = 4 * capacity
    trace = load(written(spaced([400_000, 400_008, 400_016, far - 8, 400_008])), CAPACITY)
    assert trace.scale == 0.25
    places = trace.requests["sector"].tolist()
    assert places == [100_000, 100_008, 100_016, capacity - 8, 100_008]


def test_a_run_longer_than_the_drive_stays_on_it(written):
    """Each request has 1 MiB; together they have more than the drive."""
    text = spaced(range(0, 2048 * 4000, 2048), 2**20)
    trace = load(written(text), CAPACITY)
    ends = trace.requests["sector"] + trace.requests["sectors"]
    assert ends.max() <= CAPACITY and trace.requests["sector"].min() >= 0
    assert len(trace.requests) == 4000


def test_requests_above_1_mib_are_sent_in_parts_that_are_not_compared(written):
    text = "1000,usr,0,Write,0,3146240,50\n20000,usr,0,Read,4096,512,50\n"
    trace = load(written(text), CAPACITY)
    assert rows(trace) == [
        ("W", 0, 2048, None, 0.0),
        ("W", 2048, 2048, None, 0.0),
        ("W", 4096, 2048, None, 0.0),
        ("W", 6144, 1, None, 1895.0),
        ("R", 8, 1, 5.0, 0.0),
    ]
    assert trace.changed == {"sent in parts of 1 MiB, and not compared": 1}


def test_requests_that_overlap_on_the_real_device_leave_no_idle_time(written):
    """The first is answered at 100 us, after the second; the third comes at 130 us."""
    text = "0,usr,0,Read,0,512,1000\n100,usr,0,Read,0,512,20\n1300,usr,0,Read,0,512,20\n"
    assert [row[4] for row in rows(load(written(text), CAPACITY))] == [0.0, 30.0, 0.0]
    fast = load(written(text), CAPACITY, fast=True)
    assert [row[4] for row in rows(fast)] == [0.0] * 3 and not fast.timed


def test_lines_that_stand_too_late_are_sorted_and_counted(written):
    lines = ALIBABA.splitlines(keepends=True)
    trace = load(written("".join([lines[1], lines[0], lines[2]])), CAPACITY)
    assert rows(trace) == rows(load(written(ALIBABA), CAPACITY))
    assert trace.changed["sorted by time"] == 2


@pytest.mark.parametrize("source", [BLKPARSE, MSR], ids=["blkparse", "msr"])
def test_a_compressed_trace_is_known_by_its_content(tmp_path, source):
    file = tmp_path / "trace"
    file.write_bytes(gzip.compress(source.read_bytes()))
    assert rows(load(file, CAPACITY)) == rows(load(source, CAPACITY))
    file.write_bytes(gzip.compress(b"".join(records())))
    assert rows(load(file, CAPACITY, device="8,0")) == KEPT


def test_a_compressed_trace_that_is_cut_off_is_refused(tmp_path):
    file = tmp_path / "trace.gz"
    file.write_bytes(gzip.compress(SPC.encode() * 1000)[:-20])
    with pytest.raises(ElevatorLabError, match=r"trace\.gz: expected a trace; Compressed file"):
        load(file, CAPACITY, device="0")


def test_a_last_line_without_an_end_is_left_out_and_counted(written):
    """Nobody knows whether its last number is whole."""
    trace = load(written(ALIBABA[:-3]), CAPACITY)
    assert len(trace.requests) == 2 and trace.passed_over == {"last line without an end": 1}


def test_only_as_many_requests_are_taken_as_asked(written):
    trace = load(written(spaced(range(50))), CAPACITY, requests=20)
    assert len(trace.requests) == 20 and trace.stopped.endswith("trace:21")
    assert load(written(spaced(range(20))), CAPACITY, requests=20).stopped is None


def test_an_answer_behind_the_last_request_taken_is_read(tmp_path):
    file = tmp_path / "trace"
    issued = [record(n * 1000, 8 * n, 4096, READ | ISSUE | 7) for n in range(4)]
    ended = [record(9000 + n, 8 * n, 4096, READ | COMPLETE | 8) for n in range(4)]
    file.write_bytes(b"".join(issued + ended))
    trace = load(file, CAPACITY, requests=2)
    assert [row[3] for row in rows(trace)] == [9.0, 8.001] and "byte 96" in trace.stopped


def test_this_package_s_own_trace_is_read_as_before(written):
    text = "op,sector,sectors,response_us,next_after_us\nR,5,4,10.5,10\nW,9,4,10.5,20\n"
    trace = load(written(text), CAPACITY)
    assert rows(trace) == [("R", 5, 4, 10.5, 10.0), ("W", 9, 4, 10.5, 20.0)]
    assert (trace.format, trace.device, trace.scale) == ("elevatorlab", None, 1.0)
    first = load(written(text), CAPACITY, requests=1, fast=True)
    assert rows(first) == [("R", 5, 4, 10.5, 0.0)] and first.stopped.endswith(":3")


QUEUED = "8,0 1 1 0.1 7 Q R 8 + 8 [dd]\n"


@pytest.mark.parametrize(
    "text, options, sentence",
    [
        ("", {}, ":1: expected a trace: a header with op, .* found ''"),
        ("hello\n", {}, ":1: expected a trace: .* blkparse, fio, msr, spc, alibaba; found 'hello'"),
        (ALIBABA, {"format": "vmware"}, "format: expected one of elevatorlab, .*; found 'vmware'"),
        (ALIBABA, {"format": "msr"}, ":1: expected a line of an MSR .*; found '0,R,1267036446"),
        (ALIBABA, {"device": "3"}, "expected requests of 3; found none. Devices .*: 0"),
        (ALIBABA, {"requests": 0}, "requests: expected 1 to 100000; found '0'"),
        (ALIBABA + "0,R,5,4096\n", {}, r":4: expected a line of an Alibaba .*; found '0,R,5,4096'"),
        (ALIBABA + "0,R,²,4096,5\n", {}, r":4: expected a line of an Alibaba"),
        (ALIBABA + f"0,R,{'1' * 5000},4096,5\n", {}, r":4: expected a line of an Alibaba"),
        (
            ALIBABA + "1,R,0,4096,5\n",
            {},
            r"one device; found 2: 0 \(3\), 1 \(1\). Choose .*--device",
        ),
        (
            "0,R,0,512,0\n0,R,0,512,172800000000\n",
            {},
            ":2: expected at most a day .* found '172800 s'",
        ),
        ("fio version 1 iolog\n", {}, ":1: expected fio version 2 iolog or fio version 3 iolog"),
        (FIO_3 + "5 /dev/sda wait 5 0\n", {}, ":11: expected time file action.*wait 5 0'"),
        (FIO_2 + "/dev/sda read\n", {}, ":14: expected file action, .* the action one of read"),
        (FIO_2 + "7 /dev/sda read 0 512\n", {}, ":14: expected file action"),
        (
            "1,usr,0,Read,0,512,1\n1,usr,0,Flush,0,512,1\n",
            {},
            ":2: .*Read.Write.* found '1,usr,0,Fl",
        ),
        ("0,5,512,R,0.1\n2,30862016,4096,W,2 448003\n", {}, ":2: expected a line of an SPC trace"),
        (QUEUED + "8,0 1 1 now 7 D R 8 + 8 [dd]\n", {}, ":2: expected an event in blkparse's"),
        (
            QUEUED,
            {},
            r"issued to the device \(action D\); found none.* Passed over: 1 other events",
        ),
        (
            f"1,R,0,{2**40},5\n",
            {},
            ":1: expected at most the drive's .* sectors; found '2147483648",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_line_and_reason(written, text, options, sentence):
    with pytest.raises(ElevatorLabError, match=sentence) as refused:
        load(written(text), CAPACITY, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "content, sentence",
    [
        (
            record(0, 8, 512, READ | ISSUE | 7, version=8),
            "byte 0: .*0x65617407.*found '0x65617408'",
        ),
        (record(0, 8, 512, READ | ISSUE | 7) + b"x" * 48, "byte 48: expected the magic number"),
        (record(0, 8, 512, READ | ISSUE | 7) + b"\x07tae", "byte 48: .* of 48 bytes; cut off here"),
        (record(0, 0, 0, NOTE, more=b"fio\0")[:-2], "byte 0: expected 4 bytes behind the record"),
    ],
    ids=["version", "magic", "cut off", "cut off behind"],
)
def test_what_is_no_record_is_refused_with_its_place(tmp_path, content, sentence):
    file = tmp_path / "trace"
    file.write_bytes(content)
    with pytest.raises(ElevatorLabError, match=sentence):
        load(file, CAPACITY)


@pytest.mark.parametrize("known", [2, 1, 0])
def test_only_requests_whose_response_is_known_are_compared(tmp_path, known):
    times_us = [1000.0] * known + [math.nan] * (2 - known)
    table = pd.DataFrame([("R", 0, 8, time_us, 0.0) for time_us in times_us])
    table.columns = ["op", "sector", "sectors", "response_us", "next_after_us"]
    replayed = replaying.Replayed(BARRACUDA, table, tmp_path)
    replayed.__dict__["response_ms"] = pd.Series([3.0, 5.0])
    told = replayed.as_json()
    assert (told["mean_ms"], told["requests"], told["compared"]) == (4.0, 2, known)
    expected = {0: (None, None), 1: (3.0, 2.0), 2: (4.0, 10**0.5)}[known]
    assert (told["compared_mean_ms"], told["demerit_ms"]) == pytest.approx(expected, abs=1e-6)
    replayed.__dict__["hit"] = pd.Series([False, False])
    assert replayed.kinds["requests"].head(1).tolist() == [known] * (known > 0)
    (axes,) = drawing.response_times([replayed]).axes
    assert len(axes.lines) == (2 if known else 1)


def test_the_page_s_example_is_what_the_command_prints(tmp_path, monkeypatch, capsys):
    """But for the times, which the machine gives."""
    page = (PROJECT / "docs" / "drives.md").read_text()
    lines, said = re.search(r"\$ cat usr_0.csv\n(.*?)    \$ .*?\n(.*?)\n\n", page, re.S).groups()
    file = tmp_path / "usr_0.csv"
    file.write_text(re.sub("^    ", "", lines, flags=re.M))

    def replay(device, requests, say):
        one = replaying.Replayed(device, requests, tmp_path)
        one.__dict__["response_ms"] = one.real_response_ms
        one.__dict__["hit"] = pd.Series(False, index=requests.index)
        return one

    monkeypatch.setattr(replaying, "replay", replay)
    command.replay("barracuda", file, out=tmp_path)
    printed = capsys.readouterr().out
    shown = re.sub("^    ", "", said, flags=re.M).splitlines()
    assert printed.splitlines()[: len(shown)] == shown
    command.replay("barracuda", file, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["trace"] == load(file, CAPACITY).as_json() and told["compared"] == 2
    kinds = [(one["operation"], one["after"], one["requests"]) for one in told["kinds"]]
    assert kinds == [("all", "all", 2), ("write", "read", 1)]


def test_the_page_has_every_format():
    page = (PROJECT / "docs" / "drives.md").read_text()
    assert all(f"| `{name}` |" in page for name in block_traces.FORMATS)
