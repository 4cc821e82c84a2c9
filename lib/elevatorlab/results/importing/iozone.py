"""iozone's text: the blocks of its throughput mode, and the table of its other modes.

iozone's kB, KB and kBytes are 1024 bytes, and its MB are 1024 of those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .rows import Row, Unreadable, line_of

BEGINNING = re.compile(r"^.*Iozone: Performance Test of File I/O", re.MULTILINE)

#: How a line begins or ends that tells of an error; iozone goes on after one, with status 0.
_COMPLAINT = re.compile(
    r"^.*(?:Error |error returned|Can not |Can't |Failed to | failed|No space left|No such file"
    r"|Input/output error|Invalid argument).*$",
    re.MULTILINE,
)

COMPLETE = "iozone test complete."

#: What the blocks call each test, and the columns of the table.
_BLOCKS = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "random readers": "random_read",
    "random writers": "random_write",
    "reverse readers": "reverse_read",
    "stride readers": "stride_read",
    "fwriters": "fwrite",
    "freaders": "fread",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
}
_TABLE = (
    *("write", "rewrite", "read", "reread", "random_read", "random_write", "reverse_read"),
    *("rewrite_record", "stride_read", "fwrite", "refwrite", "fread", "refread"),
)

_BLOCK = re.compile(
    r"Children see throughput for +(?P<threads>\d+) (?P<name>[a-z -]+?)\s*="
    r" *(?P<children>[\d.]+) (?P<unit>\S+)/sec\s*\n"
    r"\s*Parent sees throughput for .*= *(?P<parent>[\d.]+) \S+\s*\n"
    r"\s*Min throughput per \w+\s*= *(?P<slowest>[\d.]+) \S+\s*\n"
    r"\s*Max throughput per \w+\s*= *(?P<fastest>[\d.]+) \S+\s*\n"
)
_FILES = re.compile(r"writes an? (\d+) (\w+) file in (\d+) (\w+) records")
_HEAD = re.compile(r"^ *(?P<unit>[kKMG]B(?:ytes)?) +reclen(?P<tests> .*?) *$", re.MULTILINE)
_UNIT = re.compile(r"Output is in (\w+)")

_KIB = {"k": 1, "m": 1 << 10, "g": 1 << 20}


def rows(text: str) -> Iterator[Row]:
    """Yield a row for each test with a number of threads, or with a size of file and record."""
    begins = [found.start() for found in BEGINNING.finditer(text)]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        before = line_of(text, begin) - 1
        run, complete, _ = text[begin:end].partition(COMPLETE)  # what follows is not iozone's
        try:
            yield from _of_run(run + complete)
        except Unreadable as problem:
            raise Unreadable(before + problem.line, str(problem)) from None


def _of_run(text: str) -> Iterator[Row]:
    if wrong := _COMPLAINT.search(text):
        line = line_of(text, wrong.start())
        raise Unreadable(line, f"expected a run without errors; found {wrong[0].strip()!r}")
    if not text.endswith(COMPLETE):
        last = text.rstrip()
        raise Unreadable(
            line_of(text, len(last)),
            f"expected {COMPLETE!r} at the end; it is cut off at {last[-40:]!r}",
        )
    revision = re.search(r"\$Revision: ([\d.]+)", text)
    version = revision[1] if revision else ""
    if head := _HEAD.search(text):
        yield from _of_table(text, head, version)
    else:
        yield from _of_blocks(text, version)


def _of_blocks(text: str, version: str) -> Iterator[Row]:
    begins = list(re.finditer("Children see throughput", text))
    if not begins:
        raise Unreadable(1, "expected blocks of figures, or a table; found neither")
    files = _FILES.search(text)
    sizes = (
        {
            "file_kib": int(files[1]) * _kib(files[2], line_of(text, files.start())),
            "record_kib": int(files[3]) * _kib(files[4], line_of(text, files.start())),
        }
        if files
        else {}
    )
    for begin in begins:
        line = line_of(text, begin.start())
        found = _BLOCK.match(text, begin.start())
        if not found:
            raise Unreadable(line, "expected a block of four figures; found something else")
        name = found["name"].strip()
        factors = {
            "test": _BLOCKS.get(name, name.replace(" ", "_")),
            **{"threads": int(found["threads"]), **sizes},
        }
        if not float(found["children"]):
            raise Unreadable(
                line,
                f"expected more than 0 {found['unit']}/sec; {name} transferred nothing. Is a "
                "record larger than the file?",
            )
        ops = found["unit"].lower() == "ops"
        column, scale = ("iops", 1) if ops else ("kib_s", _kib(found["unit"], line))
        measured = {
            f"throughput_{column}": float(found["children"]) * scale,
            f"parent_throughput_{column}": float(found["parent"]) * scale,
            f"slowest_throughput_{column}": float(found["slowest"]) * scale,
            f"fastest_throughput_{column}": float(found["fastest"]) * scale,
        }
        yield Row("iozone", version, factors, measured)


def _of_table(text: str, head: re.Match[str], version: str) -> Iterator[Row]:
    first = line_of(text, head.start())
    unit = _UNIT.search(text)
    if not unit:
        raise Unreadable(1, "expected a line 'Output is in kBytes/sec'; found none")
    line = line_of(text, unit.start())
    column, scale = {
        "operations": ("throughput_iops", 1),
        "ops": ("throughput_iops", 1),
        "microseconds": ("latency_mean_us", 1),
    }.get(unit[1].lower()) or ("throughput_kib_s", _kib(unit[1], line))
    size_kib = _kib(head["unit"], first)
    if len(head["tests"].split()) != len(_TABLE):
        raise Unreadable(first, f"expected {len(_TABLE)} tests; found {head['tests'].strip()!r}")
    # Nine characters, and ten since version 3.506; the last one's name ends behind its column.
    width = len(head["tests"]) // len(_TABLE)
    for number, row in enumerate(text.splitlines()[first:], start=first + 1):
        if not row.strip() or row.strip() == COMPLETE:
            break
        found = list(re.finditer(r"\d+", row))
        if not re.fullmatch(r"[\d ]+", row) or len(found) < 3:
            raise Unreadable(number, f"expected a row of whole numbers; found {row.strip()!r}")
        file, record, *cells = found
        # A test that did not run leaves its column blank, so the place tells which one it is.
        places = [round((cell.end() - record.end()) / width) - 1 for cell in cells]
        if len(set(places)) < len(places) or not 0 <= places[0] <= places[-1] < len(_TABLE):
            raise Unreadable(number, f"expected columns of {width} characters; found {row!r}")
        for place, cell in zip(places, cells, strict=True):
            factors = {
                "test": _TABLE[place],
                "threads": 1,
                "file_kib": int(file[0]) * size_kib,
                "record_kib": int(record[0]) * size_kib,
            }
            yield Row("iozone", version, factors, {column: int(cell[0]) * scale})


def _kib(unit: str, line: int) -> int:
    if not re.fullmatch(r"[kmg]b(ytes?)?", unit.lower()):
        raise Unreadable(line, f"expected kB, KB, kBytes, MB or GB; found {unit}")
    return _KIB[unit[0].lower()]
