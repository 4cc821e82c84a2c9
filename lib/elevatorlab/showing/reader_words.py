"""Claims as a reader is told of them: labels for identifiers, and values that are possible."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from markupsafe import Markup, escape

from ..analysis.number_texts import borne, plain, within
from ..judging import families
from ..judging.claim import Claim, Kind
from ..judging.comparison import Comparison
from ..judging.value_texts import measured_text
from ..plugins.schedulers import SCHEDULERS

#: Names of the kernel's own, which a reader may look up. No label says more.
OF_THE_KERNEL = ("low_latency", "null_blk", "slice_idle", "strict_guarantees")

#: What the last part of a column's name says of its unit.
UNITS = {
    "gbps": "Gb/s",
    "kb_s": "KB/s",
    "kib_s": "KiB/s",
    "kiops": "kIOPS",
    "mb": "MB",
    "mb_s": "MB/s",
    "ms": "ms",
    "percent": "%",
    "s": "s",
    "us": "us",
}

_CODE = re.compile(r"`([^`\n]+)`")
_COLUMN = re.compile(rf"(\w+?)_({'|'.join(UNITS)})")
# Neither a part of a path or of code, nor a key with its value, which a label replaces as a whole.
_IDENTIFIER = re.compile(r"(?<![\w/.`-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w/`=]|\.\w)")
_SETTING = re.compile(r"(?<![\w/.`-])[a-z_]+=\d+\b")
_TWICE = re.compile(r"(?<!\S)([\w-]+) \(\1(?: (\([^()]*\)))?\)")


def coded(text: str) -> Markup:
    """Write a text as HTML, with what stands between backquotes as code.

    Examples
    --------
    >>> coded("`a` < b")
    Markup('<code>a</code> &lt; b')
    """
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def readable(claim: Claim) -> Claim:
    """Return a claim for the pages: its texts with labels, its intervals with possible ends.

    What decides about verdicts and counts stays as it is, also the datum and the cell.
    """
    row = place(claim.source.row, claim.study)
    return claim.model_copy(
        update={
            "quantity": labelled(claim.quantity, claim.study),
            "formula": labelled(claim.formula, claim.study),
            "reason": labelled(claim.reason, claim.study),
            "source": claim.source.model_copy(update={"row": row}),
            "compared": tuple(possible(claim, one) for one in claim.compared),
        }
    )


def labelled(text: str, study: str) -> str:
    """Write a text with labels in place of identifiers, and the kernel's names as code.

    Examples
    --------
    >>> labelled("latency_us of as_published", "vm_vs_container"), labelled("slice_idle 8 ms", "")
    ('latency in us of cache warm', '`slice_idle` 8 ms')
    """
    known = families.labels(study)
    text = _SETTING.sub(lambda found: known.get(found[0], found[0]), text)
    return _IDENTIFIER.sub(lambda found: _label(found[0], known), text)


def place(text: str, study: str) -> str:
    """Write a cell, a datum or a row, whose parts stand between commas or colons, with labels.

    Examples
    --------
    >>> place("high_read_latency, direct, vm, bfq, nan", "vm_vs_container")
    'Test 2, direct I/O, VM, bfq'
    """
    known = families.labels(study)

    def label(part: str) -> str:
        if part in known and part not in OF_THE_KERNEL:
            return known[part]
        return SCHEDULERS.get(part).label if part in SCHEDULERS else labelled(part, study)

    parts = re.split(r"(, |: )", _TWICE.sub(_once, re.sub(r", nan\b", "", text)))
    return "".join(map(label, parts))


def possible(claim: Claim, one: Comparison) -> Comparison:
    """Cut the interval of what cannot be negative at 0, and that of a share at 1, too.

    Only a difference can be negative: that is compared with 0.
    """
    if one.low is None or one.high is None or not one.neutral:
        return one
    most = _most(claim)
    if most < math.inf and isinstance(claim.measured, float) and claim.measured:
        most *= one.value / claim.measured  # on the scale of the comparison
    ends = {"low": max(one.low, min(0.0, one.value)), "high": min(one.high, max(most, one.value))}
    return one.model_copy(update=ends)


def measured_value(claim: Claim) -> str:
    """Write a measured value, with the interval of the comparison that it comes from.

    Returns: "6.7 (6.5 to 6.9) ms, 1 writer": behind it stands which of several comparisons this is.
    Empty where nothing was measured.
    """
    value = claim.measured
    if not isinstance(value, float) or not claim.compared:
        return measured_text(claim)
    first, *others = claim.compared
    if claim.relative_to and others and first.what:
        return f"{measured_text(claim)}, {first.what}"
    same = math.isclose(first.value, value, rel_tol=1e-3)
    if not others and (first.neutral or same):
        return measured_text(claim)
    if others and same:
        alone = measured_text(claim.model_copy(update={"compared": (first,)}))
        return f"{alone}, {first.what}" if first.what else alone
    if first.neutral or first.low is None or first.high is None:
        return measured_text(claim)
    # The value is a share, and the comparison its difference to another: no factor between them.
    digits = borne(value, (first.high - first.low) / 2)
    difference = within(first.value, first.low, first.high)
    return f"{plain(value, digits)} {claim.unit}".rstrip() + f"; the difference is {difference}"


def _label(name: str, known: Mapping[str, str]) -> str:
    if name in OF_THE_KERNEL:
        return f"`{name}`"
    if name in known:
        return known[name]
    if column := _COLUMN.fullmatch(name):
        return f"{_spaced(column[1])} in {UNITS[column[2]]}"
    return _spaced(name)


def _spaced(name: str) -> str:
    return re.sub(r"\bio\b", "I/O", name.replace("_", " "))


def _once(found: re.Match[str]) -> str:
    return f"{found[1]} {found[2]}" if found[2] else found[1]


def _most(claim: Claim) -> float:
    """Return the largest value that a claim's quantity can have: 1 if it is a share, else no end.

    Relative to another value, even a share has no largest one.
    """
    if claim.kind != Kind.SHARE or claim.relative_to:
        return math.inf
    return 100.0 if claim.unit == "%" else 1.0
