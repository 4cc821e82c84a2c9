"""Read what a kernel printed when it crashed: the fault, and the source lines that it names."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

#: What the kernel says when it is interrupted since a processor no longer rests (`Fault`).
INTERRUPTED = r"NMI received|NMI: Not continuing"


class Fault(NamedTuple):
    """A kind of fault that the kernel reports."""

    #: Regular expression of what the kernel prints.
    pattern: str
    #: What the fault means.
    sentence: str


#: The first fault whose pattern is found is reported, so the more specific faults come first.
FAULTS = (
    Fault(
        r"scheduling while atomic",
        "It sleeps where nobody may: while it holds a spinlock, or in an interrupt.",
    ),
    Fault(
        r"(?s)NMI: Not continuing.*(queued_spin_lock_slowpath|_raw_spin_lock)",
        "It waits for a spinlock that nobody gives back: its own caller holds it, or an "
        "interrupt took it.",
    ),
    Fault(INTERRUPTED, "It keeps the processor for ever: an endless loop."),
    Fault(
        r"(?s)list_add double add.*dispatch_sched|WARNING: \S+ .* blk_mq_start_request",
        "It issues a request twice: dispatch_request returned one that it had returned before.",
    ),
    Fault(
        r"list_(add|del) ?(double add|corruption)",
        "A list is damaged: something was put on it twice, taken off twice, or freed while on it.",
    ),
    Fault(r"Object already free", "It frees memory twice."),
    Fault(r"Poison overwritten|6b6b6b6b6b6b", "It uses memory after it was freed."),
    Fault(r"Redzone overwritten", "It writes beyond the memory that it was given."),
    Fault(r"NULL pointer dereference", "It follows a NULL pointer."),
    Fault(r"unable to handle page fault|general protection", "It follows a bad pointer."),
    Fault(r"WARNING:", "The kernel warns of something that must never happen."),
    Fault(r"kernel BUG at|Oops|Kernel panic|BUG", "The kernel cannot go on."),
)

#: The sentence if no pattern is found.
OTHER = "The kernel was in trouble; its trace says more."

_STAMP = re.compile(r"^\[ *\d+\.\d+\] ?", re.M)
_BEGINS = re.compile(r"BUG|WARNING:|general protection|list_(?:add|del)|NMI received|Kernel panic")
_NOISE = re.compile(
    r"^(?:Code:|R(?!IP)[A-Z0-9]{2}:|[CDEFG]S:|CR2:|Modules linked|Hardware name|Kernel Offset|"
    r"-+\[|CPU:|PKRU|DR\d|invalid opcode|RIP: 0033| *\? )|^ *</?(?:TASK|NMI|IRQ)>$"
)
_CODE = re.compile(r"(?P<function>[\w.]+)\+(?P<offset>0x[0-9a-f]+)(?:/0x[0-9a-f]+)?")

#: Most lines of a trace that are shown.
LONGEST = 40


def trouble(console: str, module: Path) -> tuple[str, list[str]]:
    """Return a sentence that names the fault, and the kernel's own trace.

    `module`: The module, with the lines of its source (DWARF). Returns: The sentence, and the lines
    of the trace. Places in the module's code have the file and line of the source.
    """
    lines = _STAMP.sub("", console).splitlines()
    begin = next((at for at, line in enumerate(lines) if _BEGINS.search(line)), len(lines))
    said = [line.rstrip() for line in lines[begin:] if not _NOISE.search(line)]
    if not said:
        return "The machine ended without a word.", []
    named = (one.sentence for one in FAULTS if re.search(one.pattern, "\n".join(said)))
    sentence = next(named, OTHER)
    trace = [_with_line(line, module) for line in said[:LONGEST]]
    where = next((at for line in trace if (at := _own_place(line))), "")
    return f"{sentence}{f' See {where}.' if where else ''}", trace


def hangs(console: str) -> bool:
    """Tell whether a kernel in trouble had to be interrupted, since its code never ended."""
    return bool(re.search(INTERRUPTED, console))


def _own_place(line: str) -> str:
    found = re.search(r" \((\S+:\d+)\)$", line)
    return found[1] if found else ""


def _with_line(line: str, module: Path) -> str:
    """Return a line of a trace, with the source's file and line if it is in the module's code."""
    name = module.name.split(".")[0].replace("-", "_")
    found = _CODE.search(line)
    if not found or f"[{name}]" not in line:
        return line
    back = 0 if "RIP:" in line else 1  # a caller's address is the one behind its call
    at = place(module, found["function"], int(found["offset"], 16) - back)
    return f"{line} ({at})" if at else line


def place(module: Path, symbol: str, offset: int) -> str:
    """Return the file and line of a place in a module's code, ``x.c:12``; "" if unknown.

    `module`: The module, with the lines of its source (DWARF). `offset`: Distance from the
    beginning of `symbol`, in bytes.
    """
    if shutil.which("addr2line") is None:
        return ""
    section, start = (symbol, 0) if symbol.startswith(".") else _symbol(module, symbol)
    command = ["addr2line", "-i", "-e", str(module), "-j", section, hex(start + offset)]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    # addr2line lists inlined functions from the innermost out: take the first not in a header.
    found = re.search(r"^/build/\S*/([^/\s]+:\d+)", said, re.M)
    return found[1] if found else ""


def _symbol(module: Path, name: str) -> tuple[str, int]:
    """Return the section that a function is in, and the function's offset in it."""
    command = ["objdump", "--syms", str(module)]
    for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) > 3 and words[-1] == name:
            return next(word for word in words if word.startswith(".")), int(words[0], 16)
    return ".text", 0
