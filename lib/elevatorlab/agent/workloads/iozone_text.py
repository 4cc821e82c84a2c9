"""What iozone prints in its throughput mode: blocks and a report.

iozone's kB and kBytes are 1024 bytes. It goes on after an error and ends with status 0, so its
text, not its status, tells whether a run was whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

#: Words with which iozone begins or ends a line that tells of an error.
COMPLAINTS = (
    *("Error ", "error returned", "Can not ", "Can't ", "Failed to ", " failed"),
    *("No space left", "No such file", "Input/output error", "Invalid argument"),
)

#: What each test is called in the throughput mode's blocks, in the order of iozone's help.
BLOCKS = {
    "initial writers": "initial_write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "reverse readers": "reverse_read",
    "stride readers": "stride_read",
    "random readers": "random_read",
    "mixed workload": "mixed_workload",
    "random writers": "random_write",
    "fwriters": "fwrite",
    "freaders": "fread",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
}

_BLOCK = re.compile(
    r"Children see throughput for +(?P<threads>\d+) (?P<name>[a-z -]+?)\s*="
    r" *(?P<children>[\d.]+) (?P<unit>\S+)/sec\s*\n"
    r"\s*Parent sees throughput for .*= *(?P<parent>[\d.]+) \S+\s*\n"
    r"\s*Min throughput per \w+\s*= *(?P<slowest>[\d.]+) \S+\s*\n"
    r"\s*Max throughput per \w+\s*= *(?P<fastest>[\d.]+) \S+\s*\n"
    r"\s*Avg throughput per .*\n"
    r"\s*Min xfer\s*= *(?P<least>[\d.]+) "
)
_REPORT = re.compile(
    r'^" *(?P<name>[A-Z][A-Za-z -]*?) *"(?P<values>(?: +[\d.]+)+) *$', re.MULTILINE
)


def throughput(text: str) -> list[dict[str, Any]]:
    """Return the figures of the throughput mode (``-t``, or ``-l`` and ``-u``).

    One a test and number of threads, in iozone's order: ``test``, ``threads``;
    ``throughput_kib_s``, the sum of what each thread saw (iozone's "children"), which its report
    and the article take; ``parent_kib_s``, over the time of them all; ``slowest_kib_s`` and
    ``fastest_kib_s`` of one thread; ``least_kib``, what the slowest had transferred when the first
    one ended, which stops the others.
    """
    _whole(text)
    found = [_figures(match) for match in _BLOCK.finditer(text)]
    if not found:
        raise AgentError(
            "iozone's text has no figures of its throughput mode; expected it to run with -t, "
            "or with -l and -u"
        )
    blocks = text.count("Children see throughput")
    if len(found) < blocks:
        raise AgentError(
            f"iozone's text has {blocks} blocks of figures, of which {len(found)} can be read; "
            "expected five lines of numbers in each. Its text is damaged"
        )
    idle = [one for one in found if not one["throughput_kib_s"]]
    if idle:
        raise AgentError(
            f"iozone transferred nothing in {idle[0]['test']} with {idle[0]['threads']} threads; "
            "expected more than 0 kB/sec. A record must not be larger than the file"
        )
    _same_as_report(found, report(text))
    return found


def _figures(match: re.Match[str]) -> dict[str, Any]:
    if match["unit"].lower() not in ("kb", "kbytes"):
        raise AgentError(
            f"iozone's text is in {match['unit']}/sec; expected kB/sec. Run it without -O and -N"
        )
    name = match["name"].strip()
    return {
        "test": BLOCKS.get(name, name.replace(" ", "_")),
        "threads": int(match["threads"]),
        "throughput_kib_s": float(match["children"]),
        "parent_kib_s": float(match["parent"]),
        "slowest_kib_s": float(match["slowest"]),
        "fastest_kib_s": float(match["fastest"]),
        "least_kib": float(match["least"]),
    }


def report(text: str) -> dict[str, list[float]]:
    """Return the report that ``-R`` adds: test -> one figure for each number of processes, KiB/s.

    With ``-l 1 -u 3`` there are three in a line, and the first is that of one process.
    """
    lines = _REPORT.finditer(text)
    return {
        match["name"].lower().replace(" ", "_"): [float(one) for one in match["values"].split()]
        for match in lines
    }


def _same_as_report(
    found: Sequence[Mapping[str, Any]], reported: Mapping[str, list[float]]
) -> None:
    for test, values in reported.items():
        blocks = [one["throughput_kib_s"] for one in found if one["test"] == test]
        if blocks and blocks != values:
            raise AgentError(
                f"iozone's report and its blocks differ in {test}: {values} and {blocks}; "
                "expected the same figures. Its text is damaged"
            )


def _whole(text: str) -> None:
    if "Iozone: Performance Test of File I/O" not in text:
        raise AgentError(
            f"expected the text that iozone prints; found {len(text)} characters that begin with "
            f"{text.strip()[:40]!r}"
        )
    wrong = complaint(text)
    if wrong:
        # Of a write that ended early, as the last one before a disk is full does, it has no reason.
        unsaid = "Error writing" in wrong and "No space left" not in wrong
        raise AgentError(f"iozone failed: {wrong}{'. Is the device full?' if unsaid else ''}")
    if "iozone test complete." not in text:
        raise AgentError(
            f"iozone's text is cut off: expected it to end in 'iozone test complete.', found "
            f"{text.rstrip()[-40:]!r}. What ended it is in log.txt"
        )


def complaint(text: str) -> str | None:
    """Return the lines in which iozone tells of an error, in one; None where there are none."""
    lines = [line.strip() for line in text.splitlines() if any(one in line for one in COMPLAINTS)]
    return "; ".join(lines) or None
